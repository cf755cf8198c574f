"""Several kinds of load share one run: one header, one journal, one end; without root, the proxy left out."""

import json
import time
from pathlib import Path

import pytest
from tests.unit.checker.runs import machine

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.records import RequestsResult
from bmwg.methodology.records import FRAMES, OutcomeType
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources import rooms
from bmwg.resources.kinds.repeated.measure import Stand
from bmwg.resources.kinds.requests.bench import RequestsBench
from bmwg.resources.kinds.requests.room import RequestsShare
from bmwg.resources.run import open_run
from bmwg.resources.run.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"
TESTS = {"CN-TPUT-1.1", "HP-START-1", "HP-ONE-2"}


@pytest.fixture
def no_proxy(monkeypatch):
    """Every group of requests lacks its server, and nothing is reserved."""

    def lacking(self, group):
        for planned in group:
            why = "origin server: no such program"
            self.keep_without(planned, OutcomeType.NOT_ASSESSED, why, "apt")

    monkeypatch.setattr(RequestsBench, "measure", lacking)
    monkeypatch.setattr(open_run, "machine_record", lambda *_: machine())
    monkeypatch.setattr(RequestsShare, "claims", ())


def settings(folder, **changes):
    return Settings(**{"testbed": TESTBED, "results": folder, "run_id": "r", **changes})


def test_the_tests_of_each_kind_go_to_its_own_bench(tmp_path, no_proxy):
    run = open_run.open_run(settings(tmp_path), TESTS)
    try:
        assert list(run.benches) == [FRAMES, "requests"]
        (wire,) = {one.cell.path for one in run.outcomes("CN-TPUT-1.1")}
        assert wire == "wire"
        (start,) = run.outcomes("HP-START-1")
        assert start.type is OutcomeType.NOT_ASSESSED
        assert run.bench("HP-START-1").mends == {start.outcome_id: "apt"}
        left = [one for one in profile.load("quick").plan() if one.test_id == "HP-ONE-2"]
        assert run.store.unanswered()[0] == len(left)
    finally:
        run.close()
    found = read_run(tmp_path / "r")
    assert found.status == "interrupted"  # HP-ONE-2 was never asked for
    assert found.kinds == (FRAMES, "requests")
    assert found.of_load("requests").profile["schema"] == "http_profile/1.0"
    assert found.of_load(FRAMES) == found


def test_a_run_of_several_kinds_goes_on_with_what_its_header_says(tmp_path, no_proxy):
    first = open_run.open_run(settings(tmp_path), TESTS)
    (start,) = first.outcomes("HP-START-1")
    first.close()
    run = open_run.open_run(settings(tmp_path, testbed=None, continue_run="r", run_id=None), TESTS)
    try:
        assert run.outcomes("HP-START-1") == [start]  # it stands
        run.outcomes("CN-TPUT-1.1")
        run.outcomes("HP-ONE-2")
    finally:
        run.close()
    found = read_run(tmp_path / "r")
    assert found.status == "complete"
    assert len(found.interruptions) == 1
    assert [str(one) for one in verify_folder(found.folder).findings] == []


def test_a_test_that_no_kind_knows_is_refused_by_name(tmp_path, no_proxy):
    run = open_run.open_run(settings(tmp_path), {"CN-TPUT-1.1", "XX-NONE-1"})
    try:
        with pytest.raises(ToolkitBug) as caught:
            run.outcomes("XX-NONE-1")
    finally:
        run.close()
    assert caught.value.error_id == "BENCH-03"


def test_a_profile_that_one_kind_lacks_is_refused_before_anything_is_made(tmp_path, no_proxy):
    with pytest.raises(ConfigError, match=r"^HPROF-01 "):
        open_run.open_run(settings(tmp_path / "results", profile="rfc2544"), TESTS)
    assert not (tmp_path / "results").exists()


def test_kinds_that_are_measured_on_different_machines_have_no_run_together():
    class Away:
        elsewhere = "a row of 3 hosts"

    class Here:
        elsewhere = ""

    with pytest.raises(ConfigError, match=r"^RUN-05 "):
        rooms.refuse_apart({FRAMES: Here(), "requests": Away()})
    rooms.refuse_apart({"requests": Away()})


@pytest.fixture
def started(no_proxy, monkeypatch):
    """Every start of an instance took about a millisecond."""

    def measured(self, group):
        self.run.store.add_deployment("native-start-1", {"hosting": {"form": "native"}})

        def once(spec):
            time.sleep(0.002)
            return RequestsResult(
                asked_requests=1,
                requests=1,
                elapsed_ns=1_000_000 + spec.number,
                mean_request_ns=1_000_000 + spec.number,
            )

        for planned in group:
            executions = self.executions(planned)
            executions.run(Stand(deployment_id="native-start-1", run=once, leaks=self.leaks))
            self.keep_judged(executions, self.guard.judged)

    monkeypatch.setattr(RequestsBench, "measure", measured)


def test_one_verification_and_one_bundle_hold_both_kinds(tmp_path, started, capsys):
    run = open_run.open_run(settings(tmp_path), {"CN-TPUT-1.1", "HP-START-1"})
    noted: list[str] = []
    run.display.note = noted.append
    try:
        time.sleep(0.01)
        (start,) = run.outcomes("HP-START-1")
        run.outcomes("CN-TPUT-1.1")
    finally:
        run.close()
    assert start.type is OutcomeType.MEASURED
    folder = tmp_path / "r"
    found = read_run(folder)
    assert found.status == "complete"
    assert (len(found.executions), bool(found.trials)) == (3, True)
    assert [str(one) for one in verify_folder(folder).findings] == []
    lines = summary_lines(facts(found))
    assert any("profile quick of frames is a quick look" in line for line in lines)
    assert any("profile quick of requests is a quick look" in line for line in lines)
    assert lines[-2].startswith("frames: ")
    assert lines[-1] == "requests: 1 measured"
    assert set(lines) <= set(noted)
    text = (folder / "report.rst").read_text()
    assert "* - start\\_time\n" in text.partition("Answers by metric and type")[2].partition("Grades")[0]
    assert "HTTP proxy by hosting form" in text
    assert "and 3 repetitions" in text or "from 3 repetitions" in text
    assert text.count("banner-indicative") == 2
    words = " ".join(text.replace("\\", "").split())
    turns = f"network options take turns in randomized blocks, seed {found.order_seed}."
    assert f"Of frames, within each test, hosting forms, functions and {turns}" in words
    assert f"Of requests, within each experiment, hosting forms and {turns}" in words
    bundle = tmp_path / "b.tar"
    assert main(["bundle", str(folder), "--output", str(bundle)]) == 0
    assert main(["verify", str(bundle)]) == 6  # consistent, and nobody signed
    capsys.readouterr()
    document = json.loads((folder / "run.json").read_text())
    for place, one in enumerate(document["outcomes"]):
        if not one["values"]:
            continue
        changed = json.loads(json.dumps(document))
        changed["outcomes"][place]["values"][0]["number"] += 1000
        (folder / "run.json").write_text(json.dumps(changed))
        assert verify_folder(folder).findings, one["id"]
    del document["loads"]
    (folder / "run.json").write_text(json.dumps(document))
    assert verify_folder(folder).findings  # the header's hash holds it

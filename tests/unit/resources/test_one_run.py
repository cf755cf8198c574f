"""Several kinds of load share one run: one header, one journal, one end; without root, the proxy left out."""

from pathlib import Path

import pytest
from tests.unit.checker.runs import machine

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.http import judge, profile
from bmwg.methodology.records import FRAMES, OutcomeType
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder
from bmwg.resources import open_run, rooms
from bmwg.resources.http_proxy.bench import HttpBench
from bmwg.resources.http_proxy.room import RequestsShare
from bmwg.resources.settings import Settings

TESTBED = Path(__file__).resolve().parents[3] / "testbeds" / "simulated.yaml"
TESTS = {"CN-TPUT-1.1", "HP-START-1", "HP-ONE-2"}


@pytest.fixture
def no_proxy(monkeypatch):
    """Every group of requests lacks its server, and nothing is reserved."""

    def lacking(self, group):
        for planned in group:
            self._keep(planned, judge.not_assessed(planned.cell, "origin server: no such program", "apt"))

    monkeypatch.setattr(HttpBench, "_measure_group", lacking)
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
    with pytest.raises(ConfigError) as caught:
        open_run.open_run(settings(tmp_path / "results", profile="rfc2544"), TESTS)
    assert caught.value.error_id == "HPROF-01"
    assert not (tmp_path / "results").exists()


def test_kinds_that_are_measured_on_different_machines_have_no_run_together():
    class Away:
        elsewhere = "a row of 3 hosts"

    class Here:
        elsewhere = ""

    with pytest.raises(ConfigError) as caught:
        rooms.refuse_apart({FRAMES: Here(), "requests": Away()})
    assert caught.value.error_id == "RUN-05"
    rooms.refuse_apart({"requests": Away()})

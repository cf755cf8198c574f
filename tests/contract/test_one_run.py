"""Suites of several kinds of load are one run: one folder, one report, one bundle, one verification.

Frames on the simulated testbed, requests through a real proxy of this machine. Where one of its programs is
missing, they are not assessed, and the rest holds all the same.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.contract.http_support import ABSENT

from bmwg.cli.main import main
from bmwg.methodology.records import FRAMES, OutcomeType
from bmwg.reports.bundle.archive import Archive
from bmwg.reports.store import read_run
from bmwg.reports.verify.verify import verify_folder

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces")
ROOT = Path(__file__).resolve().parents[2]
TESTS = ("CN-TPUT-1.1", "CN-TPUT-1.2", "HP-START-1", "R2544-LOSS-1.1")  # frames, requests, frames again


def robot(folder, *arguments, **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    settings = {"BMWG_TESTBED": str(ROOT / "testbeds" / "simulated.yaml"), **settings}
    return subprocess.run(
        [sys.executable, "-m", "robot", *arguments, str(ROOT / "testcases")],
        check=False,
        cwd=folder,
        env=kept | settings,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("one-run")
    done = robot(folder, *(word for test in TESTS for word in ("--include", f"id:{test}")))
    return done, folder


def run_in(folder):
    (found,) = (folder / "results").iterdir()  # one run folder
    return found


def test_all_folders_are_one_run_that_answers_every_test(finished):
    done, folder = finished
    assert done.returncode == 0, done.stdout + done.stderr
    run = read_run(run_in(folder))
    assert run.status == "complete"
    assert run.kinds == (FRAMES, "requests")
    assert {one.test_id for one in run.plan} >= set(TESTS)
    assert {one.cell.kind for one in run.outcomes} == {FRAMES, "requests"}
    (start,) = run.of_kind("requests")
    assert start.type is (OutcomeType.NOT_ASSESSED if ABSENT else OutcomeType.MEASURED), start.reason
    assert run.trials
    assert bool(run.executions) is not bool(ABSENT)
    numbers = sorted([one.seq for one in run.trials] + [one.seq for one in run.executions])
    assert numbers == list(range(1, run.lines + 1))  # one journal
    suites = [look["suite"] for look in run.platform["doctor"]]
    assert len(suites) == len(set(suites))


def test_the_header_says_of_each_kind_by_which_profile_and_on_what(finished):
    document = json.loads((run_in(finished[1]) / "run.json").read_text())
    assert document["schema"] == "run/1.0"
    assert document["profile"]["schema"] == "profile/1.0"
    said = document["loads"]["requests"]
    assert said["profile"]["schema"] == "http_profile/1.0"
    assert said["testbed"]["nodes"] == ["client", "proxy", "server"]
    assert {"start_time", "throughput.rfc2544_26_1"} <= set(document["procedures"])


def test_one_report_tells_of_both(finished):
    text = (run_in(finished[1]) / "report.rst").read_text()
    assert "HTTP proxy by hosting form" in text
    assert "Summary" in text or "State of the run" in text
    assert text.count("banner-indicative") == 2
    assert "no HTTP" not in text


def test_one_verification_replays_both(finished):
    verified = verify_folder(run_in(finished[1]))
    assert [str(one) for one in verified.findings] == []


def test_one_bundle_holds_both_and_a_changed_answer_of_either_is_found(finished, tmp_path, capsys):
    run = run_in(finished[1])
    bundle = tmp_path / "b.tar"
    options = ["bundle", str(run), "--output", str(bundle), "--robot-output"]
    assert main([*options, str(finished[1] / "output.xml")]) == 0
    assert main(["verify", str(bundle)]) == 6  # consistent, and nobody signed
    with Archive(bundle) as archive:
        assert not archive.has("http.json")
    capsys.readouterr()
    for kind in (FRAMES,) if ABSENT else (FRAMES, "requests"):
        copy = tmp_path / kind
        copy.mkdir()
        for name in ("run.json", "trials.jsonl", "platform.json"):
            (copy / name).write_bytes((run / name).read_bytes())
        document = json.loads((copy / "run.json").read_text())
        mine = [
            one
            for one in document["outcomes"]
            if one["cell"].get("kind", FRAMES) == kind and one["type"] == "measured" and one["values"]
        ]
        mine[0]["values"][0]["number"] += 1000
        (copy / "run.json").write_text(json.dumps(document))
        assert verify_folder(copy).findings, kind


def test_a_run_that_lost_a_profile_or_its_kind_is_refused(finished, tmp_path):
    run = run_in(finished[1])
    for name in ("run.json", "trials.jsonl", "platform.json"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    document = json.loads((run / "run.json").read_text())
    document["loads"]["tides"] = document["loads"].pop("requests")
    (tmp_path / "run.json").write_text(json.dumps(document))
    assert {one.rule_id for one in verify_folder(tmp_path).findings} >= {"STORE-03"}

"""A kind of load that does not come with the toolkit is measured, reported, bundled and verified like ours.

`tests/data/vendor` is on PYTHONPATH, which is as good as an installation. No root, no traffic: the other kind
of the run is the simulated tester's.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
VENDOR = ROOT / "tests" / "data" / "vendor"
TESTS = ["--test", "TOY-HASH-1", "--test", "CN-TPUT-1.1"]
BED = ["--testbed", ROOT / "testbeds" / "simulated.yaml"]
SUITES = [VENDOR / "suite" / "blocks.robot", ROOT / "testcases" / "containerized"]
# Runs the command, and dies without a word when it has appended so many trials of a kind of load.
KILLED = """
import os, sys
from bmwg.reports.store.journal import JournalWriter
append, left = JournalWriter.append, int(sys.argv.pop(1))
kind = sys.argv.pop(1)
def counted(self, **said):
    global left
    trial = append(self, **said)
    left -= said["body"].kind == kind
    if left == 0:
        os._exit(9)
    return trial
JournalWriter.append = counted
from bmwg.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def python(*arguments, installed=True):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    beside = [str(VENDOR)] if installed else []
    path = os.pathsep.join([*beside, *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        check=False,
        env={**kept, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )


def bmwg(*arguments, installed=True):
    return python("-m", "bmwg", *arguments, installed=installed)


def only(results):
    (found,) = (one.parent for one in results.glob("*/run.json"))
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    results = tmp_path_factory.mktemp("workload")
    done = bmwg("run", *SUITES, *TESTS, *BED, "--results", results)
    assert done.returncode == 0, done.stdout + done.stderr
    return only(results)


def lines(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def test_it_is_measured_beside_a_kind_of_ours_in_one_run(run):
    document = json.loads((run / "run.json").read_text())
    assert document["status"] == "complete"
    mine = [one for one in document["outcomes"] if one["cell"].get("kind") == "blocks"]
    assert [one["type"] for one in mine] == ["measured", "measured"]
    assert [one["values"][0]["unit"] for one in mine] == ["blocks/s", "blocks/s"]
    assert [one["kind"] for one in lines(run)].count("blocks") == 6
    assert document["procedures"]["hash_rate"] == 1


def test_its_section_stands_in_the_report(run):
    page = (run / "report.html").read_text()
    assert "Blocks hashed" in page
    assert "host/hash/4096o" in page
    assert "Of frames, within each test" in page
    assert "Of blocks" not in page  # no order of it is drawn


def test_its_bundle_verifies_and_a_changed_answer_does_not(run, tmp_path):
    bundle = tmp_path / "bundle.tar"
    made = bmwg("bundle", run, "--output", bundle)
    assert made.returncode == 0, made.stdout + made.stderr
    verified = bmwg("verify", bundle)
    assert verified.returncode == 6, verified.stdout + verified.stderr  # consistent, and nobody signed
    text = (run / "run.json").read_text()
    document = json.loads(text)
    (mine,) = (one for one in document["outcomes"] if one["cell"]["cell_id"] == "host/hash/64o")
    mine["values"][0]["number"] *= 2
    try:
        (run / "run.json").write_text(json.dumps(document))
        refused = bmwg("verify", run)
    finally:
        (run / "run.json").write_text(text)
    assert "VER-16" in refused.stdout + refused.stderr


def test_where_it_is_not_installed_its_run_is_refused_by_name(run):
    refused = bmwg("verify", run, installed=False)
    assert refused.returncode not in (0, 6)
    assert "STORE-03" in refused.stdout + refused.stderr


@pytest.mark.parametrize(("kind", "trials"), [("blocks", 4), ("frames", 5)])
def test_a_run_that_is_killed_in_the_midst_of_a_kind_goes_on(kind, trials, tmp_path):
    killed = python("-c", KILLED, trials, kind, "run", *SUITES, *TESTS, *BED, "--results", tmp_path)
    folder = only(tmp_path)
    before = lines(folder)
    assert [one["kind"] for one in before].count(kind) == trials, killed.stdout + killed.stderr
    if kind == "blocks":  # ours are known, suites of its own must be named while they are open
        refused = bmwg("resume", folder)
        assert (refused.returncode, "RES-08" in refused.stderr) == (2, True), refused.stdout + refused.stderr
    resumed = bmwg("resume", folder, *SUITES)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    after = lines(folder)
    assert after[: len(before)] == before
    assert [one["kind"] for one in after].count("blocks") == 6  # none is repeated, none is lost
    document = json.loads((folder / "run.json").read_text())
    assert document["status"] == "complete"
    assert len(document["interruptions"]) == 1
    verified = bmwg("verify", folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr

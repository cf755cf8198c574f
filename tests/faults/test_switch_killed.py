"""SIGKILL amid the suite of RFC 2889, on a simulated switch: the answers of an undisturbed run."""

import subprocess
import sys

import pytest
import yaml
from tests.faults.support import (
    END_DEADLINE_S,
    ROOT,
    bmwg,
    check_complete,
    environment,
    journal_lines,
    kill_at,
    machine,
    remains,
    wait_for,
    write_testbed,
)

from bmwg.reports.store import read_run

SUITE = ROOT / "testcases" / "rfc2889"
LINE = {
    "path": "switch",
    "hosting": "baremetal",
    "function": "linux-bridge",
    "networks": "none",
    "frame_octets": [64],
}
PATTERNS = ["many-to-one-4", "undersize-4", "address-table-4"]
PROFILE = {
    "extends": "rfc2889-quick",
    "name": "killed",
    "title": "A plan of seconds, to be broken",
    "suites": {"rfc2889": {"paths": [{**LINE, "axes": {"pattern": PATTERNS}}]}},
}
MODEL = {"knee_fps": 200_000, "tester_limit_fps": 1_500_000, "seed": 7, "table_entries": 100}
PHASES = ("bursts", "learning", "illegal frames")  # one run is killed in each
pytestmark = pytest.mark.slow


def _start(folder, name):
    """Start a run with results of its own; return the process and, once it has begun, the run's folder."""
    options = ["--testbed", str(folder / "simulated.yaml"), "--profile", str(folder / "profile.yaml")]
    with (folder / "runner.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bmwg", "run", str(SUITE), *options],
            cwd=folder,
            env=environment(BMWG_RESULTS=str(folder / name), BMWG_ORDER_SEED="1"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    return process, wait_for(lambda: _begun(folder / name), f"a run in {name}", process=process)


def _begun(results):
    return next((one.parent for one in results.glob("*/trials.jsonl")), None)


def answers(run):
    """Return what each test says of each cell: its kind, numbers and bounds."""
    return {
        one.outcome_id: (one.metric, str(one.type), one.values, one.lower and one.lower.load_fps)
        for one in run.outcomes
    }


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("switch")
    links = [{"a": f"tester/p{n}", "b": f"dut1/nic{n}"} for n in range(4)]
    tester = {
        "driver": "simulated",
        "ports": [f"tester/p{n}" for n in range(4)],
        "io": "af_packet",
        "cpus": [0],
        "options": MODEL,
    }
    write_testbed(folder, "simulated", links=links, tester=tester)
    (folder / "profile.yaml").write_text(yaml.safe_dump(PROFILE))
    process, run = _start(folder, "undisturbed")
    try:
        assert process.wait(END_DEADLINE_S) == 0, (folder / "runner.log").read_text()
    finally:
        process.kill()
    return folder, check_complete(run)


def test_the_suite_has_a_number_of_each_kind(bed):
    found = {one.metric.partition(".")[0] for one in bed[1].outcomes if one.values}
    assert found >= {
        "forwarding_rate",
        "address_caching_capacity",
        "illegal_frames",
        "frame_loss_ratio",
        "burst_interval",
    }


@pytest.mark.parametrize("phase", PHASES)
def test_killed_in_a_phase_it_ends_with_the_answers_of_an_undisturbed_run(bed, phase):
    folder, undisturbed = bed
    before = machine()
    mine = [trial.seq for trial in undisturbed.trials if trial.phase == phase]
    assert mine, {trial.phase for trial in undisturbed.trials}
    process, run = _start(folder, f"killed-{phase.replace(' ', '-')}")
    kill_at(process, run, mine[len(mine) // 2], 0)
    kept = journal_lines(run)
    assert process.returncode != 0, "the run had ended before it was killed"
    done = bmwg(folder, "resume", str(run), deadline_s=2 * END_DEADLINE_S)
    if "RES-04" in done.stdout + done.stderr:
        pytest.skip("something else changed the machine meanwhile, so that the run is rightly not continued")
    assert done.returncode == 0, done.stdout + done.stderr
    found = check_complete(run, kept)
    assert answers(found) == answers(undisturbed)
    assert len(found.interruptions) == 1
    verified = bmwg(folder, "verify", str(run))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert remains(run) == []
    assert machine() == before
    assert read_run(run).status == "complete"

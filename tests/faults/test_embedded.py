"""Faults on the embedded bed: real namespaces, pods, plugins and packets, and nothing of them left."""

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest
from tests.faults.support import (
    END_DEADLINE_S,
    bmwg,
    check_complete,
    children,
    command_line,
    eventually_clean,
    hostname_of,
    journal_lines,
    kill_all,
    kill_at,
    machine,
    paused_in_trial_of,
    remains,
    start,
    state_of,
    wait_for,
    write_small_bed,
)
from tests.needs import needs_cni, needs_crun

from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.store import read_run

POINTS = int(os.environ.get("FAULTS_POINTS", "1"))
SEED = int(os.environ.get("FAULTS_SEED", "8"))
pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    needs_crun,
    needs_cni,
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two CPUs"),
]


@pytest.fixture
def bed(tmp_path):
    return write_small_bed(tmp_path)


def test_killed_while_it_builds_and_measures(bed):
    folder, profile, testbed = bed
    chance = random.Random(SEED)
    before = machine()
    for point in range(POINTS):
        process, run = start(folder, profile, testbed, run_id=f"killed-{point}")
        wait_for(lambda run=run: run.exists(), "the run's folder", process=process)
        kill_at(process, run, chance.randrange(0, 14), chance.random())
        kept = journal_lines(run)
        if process.returncode != 0:
            done = bmwg(folder, "resume", str(run))
            assert done.returncode == 0, done.stdout + done.stderr
        found = check_complete(run, kept)
        assert len(found.deployments) >= 2
        assert eventually_clean(run) == []
    assert machine() == before


def test_killed_with_a_pod_standing_cleanup_alone_leaves_nothing(bed):
    folder, profile, testbed = bed
    before = machine()
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "pvp"):
        process.kill()
    process.wait(30)
    assert any("cgroup" in text for text in remains(run))
    done = bmwg(folder, "cleanup", str(run))
    assert done.returncode == 0, done.stderr
    assert eventually_clean(run) == []
    assert bmwg(folder, "cleanup", str(run)).returncode == 0
    assert machine() == before


def _faulty(run, outcome_id):
    """The outcome of a cell whose trial failed: invalid, without a bound; and the trial's own words."""
    outcome = next(found for found in run.outcomes if found.outcome_id == outcome_id)
    trial = run.trial(outcome.trials[-1])
    assert trial.validity is Validity.FAULT
    assert outcome.type is OutcomeType.INVALID, outcome
    for bound in (outcome.lower, outcome.upper):
        assert bound is None or trial.seq not in bound.trials
    return trial.fault


PVP = "CN-TPUT-1.3:pvp/pod/kernel-l3/bridge/64/forward"


def test_a_tester_killed_in_a_trial_makes_it_a_fault_and_the_next_cell_gets_a_new_one(bed):
    folder, profile, testbed = bed
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "wire"):
        (tester,) = [pid for pid in children(process.pid) if "bmwg-tester" in command_line(pid)]
        os.kill(tester, signal.SIGKILL)
    process.wait(END_DEADLINE_S)
    found = read_run(run)
    assert "tester died" in _faulty(found, "CN-TPUT-1.1:wire/none/none/none/64/forward")
    assert found.status == "complete"
    assert eventually_clean(run) == []


def test_a_pod_killed_in_a_trial_makes_it_a_fault_never_a_bound(bed):
    folder, profile, testbed = bed
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "pvp"):
        (pod_id,) = (run / "pods").iterdir()
        members = (Path("/sys/fs/cgroup/pids") / f"bmwg-{pod_id.name}" / "cgroup.procs").read_text().split()
        assert members
        kill_all(members)
        wait_for(lambda: all(state_of(pid) in ("", "Z") for pid in members), "the pod's end")
    process.wait(END_DEADLINE_S)
    found = read_run(run)
    assert "has ended" in _faulty(found, PVP), (folder / "runner.log").read_text()
    assert eventually_clean(run) == []


def test_an_interface_removed_in_a_trial_makes_it_a_fault(bed):
    folder, profile, testbed = bed
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "pvp"):
        agents = [pid for pid in children(process.pid) if hostname_of(pid) == "dut1"]
        inside = ["nsenter", "-t", str(agents[0]), "-n"]
        subprocess.run([*inside, "ip", "link", "del", "nic1"], check=True, timeout=60)
    process.wait(END_DEADLINE_S)
    found = read_run(run)
    assert _faulty(found, PVP).endswith("is gone"), (folder / "runner.log").read_text()  # both ends go
    assert eventually_clean(run) == []


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_run_ends_in_order_and_goes_on(bed, number):
    folder, profile, testbed = bed
    before = machine()
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "pvp"):
        os.kill(process.pid, number)
    assert process.wait(END_DEADLINE_S) != 0
    stopped = read_run(run)
    assert stopped.status == "interrupted"
    assert "signal" in stopped.interruption
    assert [outcome.outcome_id for outcome in stopped.outcomes] == [
        "CN-TPUT-1.1:wire/none/none/none/64/forward"
    ]
    assert (run / "report.html").exists()
    assert eventually_clean(run) == []
    kept = journal_lines(run)
    done = bmwg(folder, "resume", str(run))
    assert done.returncode == 0, done.stdout + done.stderr
    found = check_complete(run, kept)
    (entry,) = found.interruptions
    assert entry["trial_cut_off"]["cell"] == "pvp/pod/kernel-l3/bridge/64/forward"
    assert entry["ended_at"] == stopped.ended_at
    assert machine() == before

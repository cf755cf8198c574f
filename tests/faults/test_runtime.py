"""What a pod stands on fails under it: its memory ends, its runtime or its node's agent is killed."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.faults.support import (
    ROOT,
    bmwg,
    children,
    eventually_clean,
    hostname_of,
    machine,
    paused_in_trial_of,
    start,
    state_of,
    wait_for,
    write_profile,
    write_testbed,
)
from tests.needs import needs_cni, needs_crun

from bmwg.drivers.containers import oci
from bmwg.drivers.nodes import cgroups
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.reports.store import read_run

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    pytest.mark.slow,
    needs_crun,
    needs_cni,
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two CPUs"),
]
END_S = 300.0
# Takes memory of the cgroup that it enters. The kernel ends the pod, not one of many small ones.
HOG = """
import sys, time
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text("0")
held = []
for _ in range(50):
    held.append(bytearray(b"x") * (1 << 20))
time.sleep(600)
"""
HOGS = 8
CRUN = """#!/bin/sh
case "$*" in
*" create "*) {before} kill -9 $$ ;;
esac
exec {crun} "$@"
"""


@pytest.fixture
def bed(tmp_path):
    networks = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())["networks"]
    testbed = write_testbed(tmp_path, "embedded", networks={"bridge": networks["bridge"]})
    lenient = {"max_stall_ns": 10**9, "max_host_stall_ns": 10**9, "max_steal_ns": 10**9}
    return tmp_path, write_profile(tmp_path, trial=lenient), testbed


def _pvp(run):
    return [outcome for outcome in run.outcomes if outcome.cell.path == "pvp"]


def test_a_pod_whose_memory_ends_makes_its_trial_a_fault(bed):
    folder, profile, testbed = bed
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "pvp"):
        (pod,) = (run / "pods").iterdir()
        (memory,) = [path for path in cgroups.folders(oci.cgroup_of(pod.name)) if "memory" in str(path)] or [
            None
        ]
        if memory is None:
            pytest.skip("needs a memory cgroup of version 1")
        members = (memory / "cgroup.procs").read_text().split()
        for pid in members:
            Path(f"/proc/{pid}/oom_score_adj").write_text("1000")
        hogs = [subprocess.Popen([sys.executable, "-c", HOG, str(memory)]) for _ in range(HOGS)]
        try:
            wait_for(lambda: all(state_of(pid) in ("", "Z") for pid in members), "the pod's end")
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait(60)
    process.wait(END_S)
    found = read_run(run)
    assert found.status == "complete"
    (throughput,) = [outcome for outcome in _pvp(found) if not outcome.metric.startswith("latency")]
    assert throughput.type is OutcomeType.INVALID, throughput
    trial = found.trial(throughput.trials[-1])
    assert trial.validity is Validity.FAULT
    assert "has ended" in trial.fault
    assert eventually_clean(run) == []


@pytest.mark.parametrize("before", ["", '{crun} "$@";'], ids=["at once", "after its work"])
def test_a_container_runtime_that_is_killed_costs_the_cell_and_leaves_nothing(bed, monkeypatch, before):
    folder, profile, testbed = bed
    programs = folder / "programs"
    programs.mkdir()
    crun = shutil.which("crun")
    (programs / "crun").write_text(CRUN.format(before=before.format(crun=crun), crun=crun))
    (programs / "crun").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    machine_before = machine()
    process, run = start(folder, profile, testbed)
    process.wait(END_S)
    found = read_run(run)
    assert found.status == "complete"
    assert {outcome.type for outcome in _pvp(found)} <= {OutcomeType.INVALID, OutcomeType.NOT_ASSESSED}
    assert any("POD-03" in outcome.reason for outcome in _pvp(found)), _pvp(found)
    monkeypatch.undo()
    assert bmwg(folder, "cleanup", str(run)).returncode == 0
    assert eventually_clean(run) == []
    assert machine() == machine_before


def test_an_agent_that_is_killed_costs_its_cell_and_leaves_nothing(bed):
    folder, profile, testbed = bed
    machine_before = machine()
    process, run = start(folder, profile, testbed)
    with paused_in_trial_of(process, run, "pvp"):
        agents = [pid for pid in children(process.pid) if hostname_of(pid) == "dut1"]
        os.kill(agents[0], signal.SIGKILL)
    process.wait(END_S)
    found = read_run(run)
    assert {outcome.type for outcome in _pvp(found)} <= {OutcomeType.INVALID, OutcomeType.NOT_ASSESSED}
    assert all(outcome.lower is None or outcome.type is OutcomeType.INVALID for outcome in _pvp(found))
    wait_for(lambda: bmwg(folder, "cleanup", str(run)).returncode == 0, "a clean machine", 60.0)
    assert eventually_clean(run) == []
    assert machine() == machine_before

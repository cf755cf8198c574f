"""Faults on the embedded bed: real namespaces, pods, plugins and packets, and nothing of them left."""

import os
import random
import shutil
from pathlib import Path

import pytest
import yaml
from tests.faults.support import (
    ROOT,
    bmwg,
    check_complete,
    eventually_clean,
    journal_lines,
    kill_at,
    machine,
    remains,
    start,
    wait_for,
    write_profile,
    write_testbed,
)

POINTS = int(os.environ.get("FAULTS_POINTS", "3"))
pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: network namespaces"),
    pytest.mark.skipif(shutil.which("crun") is None, reason="needs crun: apt-get install crun"),
    pytest.mark.skipif(
        not Path("/usr/lib/cni/bridge").exists(), reason="needs apt-get install containernetworking-plugins"
    ),
    pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two CPUs"),
]


@pytest.fixture
def bed(tmp_path):
    networks = yaml.safe_load((ROOT / "testbeds" / "embedded.yaml").read_text())["networks"]
    testbed = write_testbed(tmp_path, "embedded", networks={"bridge": networks["bridge"]})
    lenient = {"max_stall_ns": 10**9, "max_host_stall_ns": 10**9, "max_steal_ns": 10**9}
    yield tmp_path, write_profile(tmp_path, trial=lenient), testbed  # a busy machine must not decide a test
    for ledger in tmp_path.glob("results/*/ledger.jsonl"):  # what a failed test left
        bmwg(tmp_path, "cleanup", str(ledger.parent))


def test_killed_while_it_builds_and_measures(bed):
    folder, profile, testbed = bed
    chance = random.Random(8)
    before = machine()
    for point in range(POINTS):
        process, run = start(folder, profile, testbed, run_id=f"killed-{point}")
        wait_for(lambda run=run: run.exists(), "the run's folder", process=process)
        kill_at(process, run, chance.randrange(0, 24), chance.random())
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
    wait_for(lambda: any("cgroup" in text for text in remains(run)), "a pod", process=process)
    process.kill()
    process.wait(30)
    assert any("cgroup" in text for text in remains(run))
    done = bmwg(folder, "cleanup", str(run))
    assert done.returncode == 0, done.stderr
    assert eventually_clean(run) == []
    assert bmwg(folder, "cleanup", str(run)).returncode == 0
    assert machine() == before

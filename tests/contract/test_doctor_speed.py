"""The doctor's look at the speed of CPUs: whether a program beside it shows, and that nothing stays."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from bmwg.drivers.platform_record.doctor import speed
from bmwg.drivers.testbed.file import load_testbed

# Half of each second: it takes about half of the CPU while it works, and nothing while it does not.
LOADING = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.setpriority(os.PRIO_PROCESS, 0, -20) if os.geteuid() == 0 else None
while True:
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        pass
    time.sleep(0.5)
"""


def test_a_program_that_takes_a_cpu_now_and_then_shows_on_that_cpu():
    testbed = load_testbed()
    (cpu, *_) = speed.cpus_here(testbed)
    loading = subprocess.Popen([sys.executable, "-c", LOADING, str(cpu)])
    try:
        found = speed.look(testbed)
    finally:
        loading.kill()
        loading.wait()
    assert found.not_measured == ""
    counts = dict(found.rounds)
    assert set(counts) == set(speed.cpus_here(testbed))
    assert all(len(told) == speed.WINDOWS for told in counts.values())
    assert speed.steadiness(counts[cpu]) < speed.STEADY_RATIO
    assert "DOC-12" in {one.finding_id for one in speed.findings(found)}


def test_a_cpu_that_is_not_there_is_not_measured(monkeypatch):
    monkeypatch.setattr(speed, "cpus_here", lambda testbed: (4000,))
    assert speed.look(load_testbed()).not_measured.startswith("ValueError: a process could not be put")


@pytest.mark.parametrize("program", ["exec sleep 100", "echo ready; exec sleep 100"])
def test_a_process_that_never_counts_is_not_waited_for(monkeypatch, program):
    def silent(cpu):
        return subprocess.Popen(
            ["sh", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    monkeypatch.setattr(speed, "_started", silent)
    monkeypatch.setattr(speed, "_DEADLINE_S", 0.3)
    assert speed.look(load_testbed()).not_measured.startswith("ValueError: ")


def test_no_simulated_testbed_is_measured():
    testbed = load_testbed()
    simulated = replace(testbed, tester=replace(testbed.tester, driver="simulated"))
    assert speed.look(simulated) is None

"""The tester's own CPU is watched, and a program that keeps it busy is no absence of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.needs import needs_real_time

from bmwg.drivers.traffic.embedded.result import SAMPLE_RATE
from bmwg.methodology.records import TrialSpec
from bmwg.methodology.trial.judging import StallEvidence, TrialPolicy, assess

pytestmark = pytest.mark.quiet
# What is watched is the loop of the kernel's program, or the tester's own, whatever device of DPDK it polls.
by_each_loop = pytest.mark.parametrize("io", ["xdp", "af_xdp"], indirect=True)

POLICY = TrialPolicy(stall_evidence=StallEvidence.CPU)
TRIES = 12
# Burns a fifth of a CPU at real-time priority, 20 ms at a time.
BURNER = """
import os, time
os.sched_setaffinity(0, {0})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
print("burning", flush=True)
while True:
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
    time.sleep(0.08)
"""


@by_each_loop
def test_each_trial_says_what_was_seen_of_every_watched_cpu(tester, wire):
    spec = TrialSpec(frame_octets=64, load_fps=50_000, duration_s=0.3)
    result = tester.run(spec)
    assert result.disturbance is not None
    last = (os.cpu_count() or 1) - 1
    watches = result.disturbance.watches
    assert [(watch.cpu, watch.tester) for watch in watches] == [(last, False), (0, True)]
    for watch in watches:
        assert len(watch.intervals) <= watch.absences
        assert watch.longest_ns <= watch.absent_ns or watch.absences == 0
        assert all(0 <= begin <= end for begin, end in watch.intervals)
    assert {cpu for cpu, _ in result.disturbance.steal_ns} <= {0, last}
    assert dict(result.auxiliary)[SAMPLE_RATE] > 0


def test_nothing_of_ours_but_the_loop_runs_on_the_testers_cpu(tester):
    if (os.cpu_count() or 1) < 2:
        pytest.skip("needs a second CPU")
    threads = [int(name) for name in os.listdir(f"/proc/{tester.pid}/task")]
    assert [thread for thread in threads if 0 in os.sched_getaffinity(thread)] == [tester.pid]


@needs_real_time
@by_each_loop
def test_a_burner_of_real_time_priority_is_not_excused(tester, wire):
    """It takes the CPU from the tester, and no hypervisor does: the tester is late, and its CPU is there."""
    spec = TrialSpec(frame_octets=64, load_fps=50_000, duration_s=1.0)
    burner = subprocess.Popen([sys.executable, "-c", BURNER], stdout=subprocess.PIPE)
    try:
        assert burner.stdout is not None
        assert burner.stdout.readline()
        absent_ns = []
        for _ in range(TRIES):  # a shared machine may really take the CPU away meanwhile
            result = tester.run(spec)
            assert result.disturbance is not None
            seen = next(watch for watch in result.disturbance.watches if watch.tester)
            late_ns = max(result.streams[0].largest_gap_ns, result.streams[0].largest_lateness_ns)
            said = assess(result, POLICY).validity
            absent_ns.append(seen.absent_ns)
            if late_ns > 10_000_000 and seen.longest_ns <= POLICY.max_stall_ns:
                break
        assert min(absent_ns) < 50_000_000  # it burned 200 ms
        if seen.longest_ns > POLICY.max_stall_ns:
            pytest.skip(f"needs a tester's CPU that is not taken away: a stall was in each of {TRIES} trials")
        assert late_ns > 10_000_000
        assert said in ("valid", "sent_short")
    finally:
        burner.kill()
        burner.wait()

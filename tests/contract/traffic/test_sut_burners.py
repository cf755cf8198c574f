"""A program that takes the CPU from a real DUT, by a known law, is no stall of the machine: its losses count.

What it imitates: a neighbour of higher priority, and a DUT that is busy with itself. What it does not
imitate: a hypervisor, which takes the CPU from the kernel's clock as well.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest
import tester_bed as bed
from tests.needs import needs_real_time

from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import TrialResult, TrialSpec
from bmwg.methodology.trial.judging import Validity, assess

pytestmark = pytest.mark.quiet

TRIES = 12  # on a shared machine most trials have a stall of its own
BURNED_NS, EVERY_NS = 20_000_000, 100_000_000
# Burns a fifth of the DUT's CPU at real-time priority, 20 ms at a time.
BURNER = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(60))
print("burning", flush=True)
while True:
    until = time.monotonic() + 0.02
    while time.monotonic() < until:
        pass
    time.sleep(0.08)
"""
# A burn is 20 ms long: shorter stalls of a shared machine hide none.
POLICY = replace(load_profile("quick").policy, max_stall_ns=5_000_000, max_host_stall_ns=5_000_000)


@pytest.fixture
def dut_cpu() -> int:
    cpus = os.cpu_count() or 1
    if cpus < 2:
        pytest.skip("needs a second CPU")
    return cpus - 1


@pytest.fixture
def burner(dut_cpu: int) -> Iterator[None]:
    program = subprocess.Popen([sys.executable, "-c", BURNER, str(dut_cpu)], stdout=subprocess.PIPE)
    try:
        assert program.stdout is not None
        assert program.stdout.readline()
        yield
    finally:
        program.kill()
        program.wait()


def undisturbed(tester: object, spec: TrialSpec, accepted: tuple[Validity, ...]) -> TrialResult:
    """Return a trial in which the machine took no CPU away."""
    longest_ns = []
    for _ in range(TRIES):
        result: TrialResult = tester.run(spec)  # type: ignore[attr-defined]
        if assess(result, POLICY).validity in accepted:
            return result
        assert result.disturbance is not None
        longest_ns.append(max(watch.longest_ns for watch in result.disturbance.watches if not watch.tester))
    assert min(longest_ns) < BURNED_NS / 2, "each burn was seen as an absence of the CPU"
    pytest.skip(f"needs CPUs that are not taken away: a stall was in each of {TRIES} trials")


@needs_real_time
def test_a_burner_of_real_time_priority_on_the_duts_cpu_is_not_excused(tester, dut_cpu, burner):
    spec = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=0.5)
    with bed.forwarder("af_xdp", cpu=dut_cpu) as (left, right, _):
        tester.attach((left, right))
        result = undisturbed(tester, spec, (Validity.VALID,))
        tester.detach()
    # each burn leaves room for 256 frames, and 1,744 of 2,000 are lost; two of the burns may lie half outside
    burns = int(spec.duration_s * 1e9 / EVERY_NS)
    each = BURNED_NS * spec.load_fps // 10**9 - 256
    assert result.lost_frames > (burns - 2) * each / 2


def test_a_dut_that_is_busy_with_itself_is_not_excused(tester, dut_cpu):
    spec = TrialSpec(frame_octets=64, load_fps=1_200_000, duration_s=0.3)
    with bed.forwarder("af_xdp", cpu=dut_cpu) as (left, right, _):
        tester.attach((left, right))
        result = undisturbed(tester, spec, (Validity.VALID, Validity.SENT_SHORT))
        tester.detach()
    if not result.lost_frames:
        pytest.skip("needs a DUT that carries less than the tester sends")
    watch = next(one for one in (result.disturbance.watches if result.disturbance else ()) if not one.tester)
    assert watch.longest_ns <= POLICY.max_host_stall_ns

"""Real bursts that repeat: how they leave, and the least interval at a queue of known depth and rate."""

import os
import time
from dataclasses import replace

import pytest
import tester_bed as bed
from tests.contract.traffic.test_traffic_counts import spec, undisturbed, whole_and_clean

from bmwg.methodology.benchmarks.burst_interval import METRIC
from bmwg.methodology.measurements.burst_interval import MEASUREMENTS
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell, Direction, OutcomeType, Validity
from bmwg.methodology.trial.judging import RecordedTrial, TrialPolicy, assess, judge

pytestmark = pytest.mark.quiet

PORT_FPS = 150_000  # what this bed declares as its port's maximum, as benchmarks/known_depth.py does
SERVED_FPS = 20_000
TRIAL_S = 0.25
FITS, TOO_LARGE = 64, 256  # frames of a burst: queue and bucket take 230 at most of one at PORT_FPS
QUEUE_FRAMES, BUCKET_FRAMES = 150, 2_998 / 60
CELL = Cell(path="node", hosting="baremetal", function="bridge", network="none", frame_octets=64)


@pytest.mark.parametrize("burst_frames", [16, 1024])
@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.BOTH])
def test_bursts_leave_whole_dense_and_apart(wire, tester, burst_frames, direction):
    wanted = spec(
        load_fps=20_000, duration_s=0.5, burst_frames=burst_frames, burst_fps=100_000, direction=direction
    )
    tester.learn(wanted)
    for _ in range(20):
        result = undisturbed(tester, wanted)
        if assess(result, TrialPolicy()).validity is Validity.VALID:
            break
    whole_and_clean(result, 2 if direction is Direction.BOTH else 1)
    for stream in result.streams:
        bursts = stream.bursts
        assert bursts.bursts == wanted.bursts == round(10_000 / burst_frames)
        late_ns = 2 * stream.largest_lateness_ns + 5_000
        whole_ns = (burst_frames - 1) * 10_000
        period_ns = burst_frames * 50_000
        assert bursts.longest_ns <= whole_ns + late_ns
        assert bursts.shortest_interval_ns >= period_ns - whole_ns - late_ns
        mean_ns = (bursts.lengths_ns + bursts.intervals_ns) / (bursts.bursts - 0.5)
        assert mean_ns <= period_ns * 1.1 + late_ns
        assert abs(stream.effective_duration_ns - wanted.due_s * 1e9) <= late_ns


def _truth_ns(frames, duration_s):
    """The least interval: bucket and queue may fill from burst to burst, and must hold the last one."""
    depth = QUEUE_FRAMES + BUCKET_FRAMES
    room = depth - frames * (1 - SERVED_FPS / PORT_FPS)
    if room < 0:
        return None
    period_s = frames / SERVED_FPS
    for _ in range(50):  # how many bursts a trial has follows from the period
        period_s = (frames - room / (round(duration_s / period_s) - 1)) / SERVED_FPS
    return (period_s - frames / PORT_FPS) * 1e9


@pytest.mark.parametrize("io", [pytest.param("xdp", marks=pytest.mark.slow), "af_xdp"])
def test_the_interval_at_a_queue_of_known_depth_and_rate_is_found(run_dir, tester, io):
    profile = load_profile("quick")
    profile = replace(
        profile,
        trial_duration_s=TRIAL_S,
        policy=TrialPolicy(set_aside_host_stalls=True, max_repeats=60),
        search=replace(profile.search, relative_width=0.01, most_relative_width=0.01, min_load_fps=2_000),
    )
    end_s = time.monotonic() + 100.0
    count = 0

    def take(wanted, phase):
        nonlocal count
        if time.monotonic() > end_s:
            raise TimeoutError(f"{count} trials until the deadline did not do")
        count += 1
        result = tester.run(wanted)
        time.sleep(0.02)  # the tester has waited until the queue was empty
        return judge(RecordedTrial(seq=count, result=result), profile.policy)

    last = (os.cpu_count() or 1) - 1
    with bed.forwarder(io, cpu=last) as (left, right, dut):
        limits = ["rate", "9600kbit", "burst", "3000", "limit", str(60 * QUEUE_FRAMES)]
        bed.inside(dut, "tc", "qdisc", "add", "dev", bed.egress(dut), "root", "tbf", *limits)
        tester.attach((left, right))
        tester.learn(spec(load_fps=1_000, duration_s=0.1))
        asked = Asked(
            profile=profile, cell=CELL, outcome_id="b", trial=take, max_load_fps=40_000, medium_fps=PORT_FPS
        )
        sizes = (FITS, TOO_LARGE)
        found = [one.measure(asked).outcomes[0] for one in MEASUREMENTS if one.burst_frames in sizes]
        tester.detach()
    small, large = found
    print([(one.type, one.values, one.reason, one.quality) for one in found])
    for one in found:
        assert one.type in (
            OutcomeType.MEASURED,
            OutcomeType.AT_FLOOR,
            OutcomeType.UNSTABLE,
            OutcomeType.INVALID,
        )
    if small.type is OutcomeType.MEASURED:
        works = next(one.number for one in small.values if one.metric == small.metric)
        fails = next(one.number for one in small.values if one.metric == f"{METRIC}.lossy")
        truth = _truth_ns(FITS, TRIAL_S)
        slack = 0.03 * FITS / SERVED_FPS * 1e9
        assert fails - slack <= truth <= works + slack, (fails, truth, works)
    assert _truth_ns(TOO_LARGE, TRIAL_S) is None
    assert large.type is not OutcomeType.MEASURED  # they do not fit, whatever the interval
    if OutcomeType.INVALID in (small.type, large.type) or small.type is OutcomeType.UNSTABLE:
        pytest.skip(f"needs CPUs that are not taken away: {small.type}, {small.reason}; {large.type}")
    assert small.type is OutcomeType.MEASURED
    assert large.type is OutcomeType.AT_FLOOR

"""Back-to-back frames against a queue whose depth is known: real packets, our search, our trial policy.

The device is a bridge whose way out is a token bucket: 9.6 Mbit/s are 20,000 frames/s of 64 octets (60 at a
Linux queue, which sees no FCS); 60,000 octets of queue and 2,998 of bucket (for 3,000) hold 1,049
frames. A burst of n frames at m frames/s needs n - n/m * 20,000 of them.
"""

import os
import time

import pytest
import tester_bed as bed

from bmwg.drivers.traffic.embedded.driver import EmbeddedConfig, EmbeddedTraffic
from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.benchmarks.back_to_back import BurstGoal
from bmwg.methodology.records import Cell, OutcomeType, TrialSpec
from bmwg.methodology.search.stepwise import run
from bmwg.methodology.trial import RecordedTrial, TrialPolicy, judge

QUEUE_FRAMES = 1_000
BUCKET_FRAMES = 2_998 / 60
SERVED_FPS = 20_000
PORT_FPS = 150_000  # what this bed declares as its port's maximum: the forwarder carries it without loss
TRUTH = (QUEUE_FRAMES + BUCKET_FRAMES) / (1 - SERVED_FPS / PORT_FPS)
LONGEST_S = 60
POLICY = TrialPolicy(set_aside_host_stalls=True)
CELL = Cell(path="node", hosting="baremetal", function="bridge", network="none", frame_octets=64)
GOAL = BurstGoal(
    cell=CELL,
    max_rate_fps=PORT_FPS,
    max_burst_s=0.016,
    step_frames=3,
    repetitions=2,
    max_trials=4,
    threshold_frames=100,
    throughput_fps=SERVED_FPS,
    max_repeats=60,
    short_limit=20,
)


def bounded_queue(dut):
    limits = ["rate", "9600kbit", "burst", "3000", "limit", str(60 * QUEUE_FRAMES)]
    bed.inside(dut, "tc", "qdisc", "add", "dev", bed.egress(dut), "root", "tbf", *limits)


@pytest.fixture
def prompt_tester(run_dir):
    config = EmbeddedConfig(run_dir=run_dir, watch_cpus=((os.cpu_count() or 1) - 1,), drain_quiet_s=0.03)
    with EmbeddedTraffic(config) as running:
        yield running


def test_a_queue_of_known_depth_is_found_within_one_percent(prompt_tester):
    results, tester = [], prompt_tester

    end_s = time.monotonic() + LONGEST_S

    def measure(spec):
        if time.monotonic() > end_s:
            raise TimeoutError(f"{len(results)} trials within {LONGEST_S} s did not do")
        results.append(tester.run_trial(spec))
        time.sleep(0.02)  # the tester has waited until the queue was empty
        return judge(RecordedTrial(seq=len(results), result=results[-1]), POLICY)

    with bed.forwarder("af_xdp", cpu=(os.cpu_count() or 1) - 1) as (left, right, dut):
        bounded_queue(dut)
        tester.attach((left, right))
        tester.learn(TrialSpec(frame_octets=64, load_fps=1_000, duration_s=0.1))
        for _ in range(3):
            results.clear()
            outcome = back_to_back.outcome(run(back_to_back.procedure(GOAL), measure), GOAL, outcome_id="b")
            if outcome.type is OutcomeType.MEASURED or time.monotonic() > end_s:
                break
        tester.detach()
    if outcome.type is not OutcomeType.MEASURED:
        pytest.skip(
            f"needs CPUs that are not taken away: the last of three was {outcome.type}, {outcome.reason}"
        )
    values = {value.metric: value.number for value in outcome.values}
    assert abs(values[back_to_back.METRIC] - TRUTH) <= 0.01 * TRUTH, outcome.quality
    depth_s = (QUEUE_FRAMES + BUCKET_FRAMES) / PORT_FPS
    assert abs(values["buffer_time.rfc9004.corrected"] - depth_s) <= 0.01 * depth_s
    print(f"truth {TRUTH:.1f}, {len(results)} trials, {values}, {outcome.quality}")
    for result in results:
        assert result.spec.burst
        assert result.streams[0].intended_frames == result.spec.intended_frames

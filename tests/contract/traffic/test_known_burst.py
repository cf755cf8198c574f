"""Back-to-back frames against a queue whose depth is known: real packets, our search, our trial policy."""

import known_depth
import pytest

from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.records import OutcomeType

pytestmark = pytest.mark.quiet


@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_a_queue_of_known_depth_is_found_but_for_a_pause_of_the_bridge(run_dir, io):
    found = known_depth.searches(3, 60, run_dir, until_of_queue=True, io=io)
    last = found[-1]
    if last.outcome.type is not OutcomeType.MEASURED:
        pytest.skip(
            f"needs CPUs that are not taken away: the last of {len(found)} was {last.outcome.type},"
            f" {last.outcome.reason}"
        )
    if not last.of_queue:
        pytest.skip(
            f"needs a bridge that carries {known_depth.PORT_FPS:,} frames/s without a pause: in {len(found)}"
            f" searches, the last lost {last.lost_before} frames before its queue and its repetitions are"
            f" {last.apart:.1%} apart"
        )
    burst, truth = last.values[back_to_back.METRIC], known_depth.TRUTH_FRAMES
    print(f"truth {truth:.1f}, {len(last.trials)} trials, {last.values}, {last.outcome.quality}")
    assert 0.99 * truth <= burst <= known_depth.MOST_FRAMES, last.outcome.quality
    depth_s, most_s = known_depth.DEPTH_S, known_depth.PAUSED_FRAMES / known_depth.PORT_FPS
    assert 0.99 * depth_s <= last.values[known_depth.CORRECTED] <= 1.01 * depth_s + most_s
    for trial in last.trials:
        assert trial.result.spec.burst
        assert trial.result.streams[0].intended_frames == trial.result.spec.intended_frames

"""The whole chain against a truth that is known: a policer of 100,000 frames/s on the DUT's way out."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import known_truth

from bmwg.methodology.records import OutcomeType

pytestmark = [
    pytest.mark.quiet,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root"),
]


@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_a_policer_of_100_000_frames_a_second_is_found_within_half_a_percent(tmp_path, io):
    with known_truth.policed(tmp_path, io) as tester:
        for limit_s in (200.0, 100.0, 100.0):  # a quiet machine needs 20 s
            found, trials = known_truth.find(tester, limit_s=limit_s)
            if found.type is OutcomeType.MEASURED:
                break
        else:
            why = f"three searches, the last {found.type} ({found.reason})"
            pytest.skip(f"needs CPUs that are not taken away: {why}")
    assert abs(found.lower.load_fps - known_truth.TRUTH_FPS) <= 0.005 * known_truth.TRUTH_FPS
    above = [trials[seq - 1].result for seq in found.upper.trials]
    assert above  # the answer is carried by loss, and by a sender that sent everything
    assert all(result.lost_frames > 0 for result in above)
    assert all(result.streams[0].unsent_frames == 0 for result in above)

"""A set rate is found through each networking model, by a chain its slowest link, and by a mesh each port."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import known_truth

from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import OutcomeType

pytestmark = [pytest.mark.quiet, pytest.mark.root, pytest.mark.slow]
WIDTH = 0.005
TRUTHS = {**known_truth.MODELS, "chain": known_truth.CHAIN, "mesh": known_truth.MESH}


@pytest.mark.parametrize("name", sorted(TRUTHS))
def test_a_set_rate_is_found_within_half_a_percent_or_no_number_is_told(tmp_path, name):
    truth = TRUTHS[name]
    found = None
    try:
        with known_truth.policed(tmp_path, truth=truth) as tester:
            for limit_s in (400.0, 300.0):  # a calm machine needs 20 s, and 170 s where trials are of 8 s
                found, trials = known_truth.find(tester, limit_s=limit_s, truth=truth)
                if found.type is OutcomeType.MEASURED:
                    break
    except TestbedError as error:
        if error.error_id != "PATH-02":
            raise
        pytest.skip(f"{error.what}: {error.found}")
    if found.type is not OutcomeType.MEASURED:
        pytest.skip(
            f"needs CPUs that are not taken away: two searches, the last {found.type} ({found.reason})"
        )
    assert abs(found.lower.load_fps - truth.fps) <= WIDTH * truth.fps
    above = [trials[seq - 1].result for seq in found.upper.trials]
    assert above  # the answer is carried by loss, and by a sender that sent everything
    assert all(result.lost_frames > 0 for result in above)
    assert all(result.streams[0].unsent_frames == 0 for result in above)

"""The whole chain against a truth that is known: a policer of 100,000 frames/s on the DUT's way out."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import known_truth

from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.records import OutcomeType

pytestmark = [pytest.mark.quiet, pytest.mark.root]
SEARCHES = 3


@pytest.mark.parametrize("io", ["xdp", "af_xdp"])
def test_no_number_of_the_default_profile_is_wrong_on_a_policer(tmp_path, io):
    """A search may say that it has no number. A number that it gives holds the truth, whatever else runs."""
    said = []
    with known_truth.policed(tmp_path, io) as tester:
        for _ in range(SEARCHES):
            found = known_truth.answer(tester, limit_s=120.0)
            said.append(f"{found.type}: {found.reason}")
            if found.type is not OutcomeType.MEASURED:
                continue
            low, high = interval(found)
            assert low <= known_truth.TRUTH_FPS * (1 + known_truth.GRAIN), found
            assert high >= known_truth.TRUTH_FPS * (1 - known_truth.GRAIN), found
            assert found.lower.trials
            assert found.upper.trials
            return
    pytest.skip(f"needs CPUs that are not taken away: no number in {SEARCHES} searches: {said}")

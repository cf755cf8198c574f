"""A search that may close on a wider interval: narrow for a still device, honest for a restless one."""

import random

import pytest
from fake_measurers import Device
from test_bisection import a_goal, judged

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.bisection import _wider, legal_next
from bmwg.methodology.trial.judging import TrialPolicy

POLICY = TrialPolicy(max_repeats=20, set_aside_host_stalls=True)
SEEDS = 60


class Restless(Device):
    """Its rate moves by itself from trial to trial; `spread` is the relative standard deviation."""

    spread = 0.0

    def run(self, spec):
        still = self.truth_fps
        self.truth_fps = max(1, int(still * (1 + self.random.gauss(0, self.spread))))
        try:
            return super().run(spec)
        finally:
            self.truth_fps = still


def goal(most):
    return a_goal(most_relative_width=most, max_reopenings=6, verification_trials=3)


def answers(most, spread):
    """Search devices of one restlessness; the results with the rate about which each moves."""
    found = []
    for seed in range(SEEDS):
        truth = random.Random(seed).randint(20_000, 1_000_000)
        device = Restless(truth_fps=truth, seed=seed, policy=POLICY, stall_share=0.2, host_share=0.1)
        device.spread = spread
        result, trials = judged(device, goal(most))
        assert legal_next(trials, goal(most)) == result
        found.append((result, truth, len(trials)))
    return found


def widths(found):
    return [
        (one.upper.load_fps - one.lower.load_fps) / one.upper.load_fps
        for one, _, _ in found
        if one.type is OutcomeType.MEASURED
    ]


def test_a_width_of_less_than_a_percent_is_said_as_it_was_asked_for():
    (said,) = _wider(a_goal(relative_width=0.005, most_relative_width=0.2), 90_000, 100_000)
    assert said.endswith("10.0% wide: trials contradicted an interval of 0.5%")


def test_a_still_device_gets_the_narrow_interval_and_no_remark():
    found = answers(0.2, 0.0)
    assert len(widths(found)) == SEEDS
    assert max(widths(found)) <= 0.03
    assert not any("lies between" in remark for one, _, _ in found for remark in one.quality)


def test_no_interval_is_wider_than_allowed_and_each_that_is_wider_than_first_asked_says_so():
    for one, _, _ in answers(0.2, 0.07):
        if one.type is not OutcomeType.MEASURED:
            continue
        width = (one.upper.load_fps - one.lower.load_fps) / one.upper.load_fps
        assert width <= 0.2
        said = [remark for remark in one.quality if "lies between" in remark]
        assert bool(said) is (width > 0.03)
        if said:
            assert f"{one.lower.load_fps} and {one.upper.load_fps} frames/s, {width:.1%} wide" in said[0]


@pytest.mark.parametrize("spread", [0.03, 0.07])
def test_a_restless_device_is_answered_more_often_in_fewer_trials_and_no_less_accurately(spread):
    narrow, wide = answers(None, spread), answers(0.2, spread)
    assert len(widths(wide)) >= 0.9 * SEEDS > len(widths(narrow))
    assert sum(trials for *_, trials in wide) < sum(trials for *_, trials in narrow)
    within = [
        one.lower.load_fps / truth <= 1 + 2 * spread and one.upper.load_fps / truth >= 1 - 2 * spread
        for one, truth, _ in wide
        if one.type is OutcomeType.MEASURED
    ]
    assert sum(within) >= 0.97 * len(within)


def test_each_bound_stands_on_its_own_verification():
    for one, _, _ in answers(0.2, 0.05):
        if one.type is OutcomeType.MEASURED:
            assert len(one.lower.trials) >= 4  # found without loss, and three times more
            assert len(one.upper.trials) >= 2  # at least half of its verification lost frames


@pytest.mark.parametrize("most", [0.02, 1.0])
def test_a_width_that_no_search_can_have_is_refused(most):
    with pytest.raises(ValueError, match="most_relative_width"):
        goal(most)

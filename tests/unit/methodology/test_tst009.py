"""TST009's binary search and its loss verification, over loads and over bursts."""

import random

import pytest
from fake_measurers import Device

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.stepwise import Step, UnexpectedTrialError
from bmwg.methodology.search.tst009 import Tst009Goal, legal_next, search
from bmwg.methodology.trial.traffic import Traffic


def a_goal(**changes):
    values = {
        "offer": Traffic(frame_octets=64),
        "duration_s": 1.0,
        "step_fps": 5000,
        "max_load_fps": 1_500_000,
        "max_repeats": 20,
    }
    return Tst009Goal(**{**values, **changes})


def test_a_thousand_ideal_devices_are_found_within_the_step():
    dice = random.Random(9)
    for _ in range(1000):
        goal = a_goal(step_fps=dice.choice([1, 100, 5000]), max_trials=dice.choice([1, 2, 3]))
        truth = dice.randint(goal.step_fps, 1_499_000 - goal.step_fps)
        found = search(Device(truth_fps=truth), goal)
        assert found.type is OutcomeType.MEASURED
        assert found.lower.load_fps <= truth < found.upper.load_fps
        assert found.upper.load_fps - found.lower.load_fps == goal.step_fps


def test_a_lossy_load_is_tried_as_often_as_declared_and_no_more():
    for trials in (1, 2, 3):
        device = Device(truth_fps=400_000)
        found = search(device, a_goal(max_trials=trials))
        by_load = {}
        for trial in device.trials:
            by_load[trial.spec.load_fps] = by_load.get(trial.spec.load_fps, 0) + 1
        assert {count for load, count in by_load.items() if load > 400_000} == {trials}
        assert {count for load, count in by_load.items() if load <= 400_000} == {1}
        assert len(found.upper.trials) == trials


def test_loss_above_the_threshold_is_not_tried_again():
    device = Device(truth_fps=400_000)
    search(device, a_goal(max_trials=3, threshold_frames=100))
    loads = [trial.spec.load_fps for trial in device.trials]
    assert len(loads) == len(set(loads))


def test_loss_verification_stands_luck_that_the_plain_search_does_not():
    low = {1: 0, 3: 0}
    for seed in range(200):
        for trials in low:
            found = search(
                Device(truth_fps=400_000, seed=seed, random_loss_share=0.1), a_goal(max_trials=trials)
            )
            low[trials] += found.lower is None or found.lower.load_fps < 400_000
    assert low[3] <= 4
    assert low[1] > 40


def test_ends_are_typed():
    assert search(Device(truth_fps=10), a_goal()).type is OutcomeType.AT_FLOOR
    assert search(Device(truth_fps=10**8), a_goal()).type is OutcomeType.AT_CEILING
    assert search(Device(truth_fps=10**8), a_goal(medium_fps=1_500_000)).type is OutcomeType.MEASURED
    slow = search(Device(truth_fps=10**8, tester_fps=700_000), a_goal())
    assert slow.type is OutcomeType.TESTER_LIMITED
    assert slow.upper is None
    assert slow.statement == "no loss up to 700000 frames/s"
    limited = search(Device(truth_fps=1_200_000), a_goal(envelope_fps=1_000_000))
    assert limited.type is OutcomeType.TESTER_LIMITED


def test_a_maximum_that_is_no_multiple_of_the_step_is_not_exceeded():
    device = Device(truth_fps=10**8)
    found = search(device, a_goal(max_load_fps=12_345, step_fps=5000))
    assert found.lower.load_fps == 12_345
    assert max(trial.spec.load_fps for trial in device.trials) == 12_345


def test_replay_calls_for_each_trial_and_gives_the_same_result():
    device = Device(truth_fps=333_333, seed=2, stall_share=0.3, random_loss_share=0.2)
    kept = []

    def measure(spec):
        kept.append(device(spec))
        return kept[-1]

    goal = a_goal(max_trials=3)
    found = search(measure, goal)
    for count, trial in enumerate(kept):
        step = legal_next(kept[:count], goal)
        assert isinstance(step, Step)
        assert step.spec == trial.result.spec
    assert legal_next(kept, goal) == found
    with pytest.raises(UnexpectedTrialError):
        legal_next([*kept, kept[-1]], goal)
    with pytest.raises(UnexpectedTrialError):
        legal_next(kept[1:], goal)


def test_a_measurer_that_fails_ends_the_search():
    def measure(spec):
        raise OSError("no link")

    found = search(measure, a_goal())
    assert found.type is OutcomeType.INVALID
    assert isinstance(found.error, OSError)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step_fps": 0}, "step_fps"),
        ({"step_fps": 2_000_000}, "step_fps"),
        ({"step_fps": 1, "duration_s": 0.5}, "at least one frame"),
        ({"max_trials": 0}, "max_trials"),
        ({"threshold_frames": -1}, "threshold_frames"),
        ({"duration_s": 0.0}, "duration_s"),
        ({"medium_fps": 10}, "max_load_fps"),
        ({"short_limit": 99}, "short_limit"),
    ],
)
def test_contradicting_goals_are_refused(change, words):
    with pytest.raises(ValueError, match=words):
        a_goal(**change)

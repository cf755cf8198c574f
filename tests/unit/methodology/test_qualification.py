"""The tester's qualification on machines that take its CPUs away: a load without a valid trial is unknown."""

import random
from dataclasses import replace

import pytest
from fake_measurers import Device
from test_bisection import a_goal

from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search.bisection import legal_next, search
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.judging import TrialPolicy, judge

REPEATS = 5
STALLED = HostDisturbance(largest_stall_ns=((1, 7_000_000),))
POLICY = TrialPolicy(max_repeats=REPEATS, set_aside_host_stalls=True)


def qualified(device, disturbed=lambda number, load_fps: False, **changes):
    """Qualify a device as the tester; `disturbed` says whether a trial, by number and load, is."""
    goal = a_goal(**{"qualifies_tester": True, "max_repeats": REPEATS, "verification_trials": 3, **changes})
    kept = []

    def measure(spec):
        trial = device.record(spec)
        if disturbed(len(kept), spec.load_fps):
            trial = replace(trial, result=replace(trial.result, disturbance=STALLED))
        kept.append(judge(trial, POLICY))
        return kept[-1]

    result = search(measure, goal)
    assert legal_next(kept, goal) == result  # a replay comes to the same answer
    return result, kept


def test_a_calm_machine_is_qualified_within_the_width():
    result, _ = qualified(Device(truth_fps=530_000))
    assert result.type is OutcomeType.MEASURED
    assert 0.97 * 530_000 <= result.value_fps <= 530_000
    assert len(result.lower.trials) == 4


def test_a_machine_that_disturbs_every_trial_is_unstable_and_says_in_how_many():
    result, kept = qualified(Device(truth_fps=530_000), lambda number, load: True)
    assert result.type is OutcomeType.UNSTABLE
    assert result.reason.startswith(
        f"the machine took its CPUs away in {len(kept)} of {len(kept)} trials; no valid trial at 1000 "
    )
    assert result.lower is None
    assert result.upper is None


@pytest.mark.parametrize("first", [1, 7, 20, 40])
def test_a_stretch_of_disturbance_is_outlived(first):
    """The first trials are all disturbed: the loads that they were tried at are no upper end for ever."""
    result, _ = qualified(Device(truth_fps=530_000), lambda number, load: number < first * (1 + REPEATS) // 6)
    assert result.type is OutcomeType.MEASURED
    assert 0.97 * 530_000 <= result.value_fps <= 530_000


def test_nothing_is_claimed_of_loads_that_never_had_a_valid_trial():
    result, _ = qualified(Device(truth_fps=10**7), lambda number, load: load > 300_000)
    assert result.type is OutcomeType.AT_CEILING
    assert result.value_fps is None
    assert 0.9 * 300_000 <= result.lower.load_fps <= 300_000
    assert result.upper is None
    assert "had a valid trial: the tester may carry more" in result.reason
    assert result.statement == f"no loss up to {result.lower.load_fps} frames/s"


def test_a_load_that_did_not_hold_is_searched_below_and_not_given_up_to_the_next_one_that_had_passed():
    for seed in range(200):
        result, _ = qualified(Device(truth_fps=530_000, knee=0.1, seed=seed), max_reopenings=6)
        assert result.type is OutcomeType.MEASURED
        assert 0.85 * 530_000 <= result.value_fps <= 1.06 * 530_000, seed


def test_loss_at_every_load_is_no_answer_of_the_machine():
    result, _ = qualified(Device(truth_fps=500))
    assert result.type is OutcomeType.AT_FLOOR
    assert result.lower is None


def test_a_fault_is_invalid_and_never_a_disturbance():
    device = Device(truth_fps=530_000)
    fault = device.run

    def broken(spec):
        return replace(fault(spec), fault="the tester ended")

    device.run = broken
    result, kept = qualified(device)
    assert result.type is OutcomeType.INVALID
    assert kept[-1].validity is Validity.FAULT


def test_a_thousand_disturbed_machines_never_claim_more_than_the_truth():
    dice = random.Random(15)
    for seed in range(1000):
        truth, share = dice.randint(1_000, 1_499_000), dice.choice([0.3, 0.6, 0.9])
        luck = random.Random(seed)
        result, _ = qualified(Device(truth_fps=truth, seed=seed), lambda *_, s=share, r=luck: r.random() < s)
        assert result.type in (OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.UNSTABLE)
        if result.lower is not None:
            assert result.lower.load_fps <= truth
            assert len(result.lower.trials) >= 4
        if result.upper is not None:
            assert result.upper.load_fps > truth
        if result.type is OutcomeType.MEASURED:
            assert result.upper is not None
            assert result.upper.load_fps - result.lower.load_fps <= 0.03 * result.upper.load_fps + 1

"""The MLRsearch engine against devices whose truth is known."""

import random
import time

import pytest
from fake_measurers import Device

from bmwg.methodology.mlrsearch.engine import legal_next, search
from bmwg.methodology.mlrsearch.goal import ControllerInput, SearchGoal, rfc2544_goal, tst009_goal
from bmwg.methodology.mlrsearch.outcome import outcomes
from bmwg.methodology.records import Cell, OutcomeType
from bmwg.methodology.search.stepwise import Step, UnexpectedTrialError
from bmwg.methodology.trial.traffic import Traffic

PARTIAL = SearchGoal(
    name="partial",
    goal_final_trial_duration_s=60.0,
    goal_duration_sum_s=60.0,
    goal_loss_ratio=0.005,
    goal_exceed_ratio=0.0,
    goal_initial_trial_duration_s=1.0,
)
CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)


def wanted(**changes):
    values = {
        "goals": (rfc2544_goal(), PARTIAL),
        "offer": Traffic(frame_octets=64),
        "min_load_fps": 10_000,
        "max_load_fps": 1_500_000,
        "max_repeats": 20,
    }
    return ControllerInput(**{**values, **changes})


def types(found, asked):
    return [outcome.type for outcome in outcomes(found, asked, CELL, outcome_id="T")]


def test_a_thousand_ideal_devices_are_found_within_width_and_time():
    dice = random.Random(1)
    trials, started, traffic = 0, time.process_time(), []
    for _ in range(1000):
        truth = dice.randint(11_000, 1_490_000)
        found = search(Device(truth_fps=truth), wanted())
        strict, partial = found.results
        assert strict.regular
        assert partial.regular
        assert strict.relevant_lower_bound_fps <= truth < strict.relevant_upper_bound_fps
        # of a load x above the truth t a share 1 - t/x is lost
        assert partial.relevant_lower_bound_fps <= truth / 0.995 + 1
        assert partial.relevant_upper_bound_fps >= truth / 0.995 - 1
        for result in found.results:
            low, high = result.relevant_lower_bound_fps, result.relevant_upper_bound_fps
            assert high - low <= 0.005 * high
        trials += len(found.trials)
        traffic.append(found.traffic_s)
    assert sorted(traffic)[len(traffic) // 2] <= 140
    assert max(traffic) <= 260
    assert (time.process_time() - started) / trials < 1e-3  # with the model of the device


def test_the_tst009_goal_stands_one_lossy_trial():
    asked = wanted(goals=(tst009_goal(),))
    found = search(Device(truth_fps=400_000), asked)
    assert found.results[0].regular
    assert found.results[0].relevant_lower_bound_fps <= 400_000 < found.results[0].relevant_upper_bound_fps


def test_replay_calls_for_each_trial_and_gives_the_same_result():
    asked = wanted(goals=(rfc2544_goal(), tst009_goal(), PARTIAL))
    found = search(Device(truth_fps=777_777, stall_share=0.4, seed=5), asked)
    assert any(not trial.valid for trial in found.trials)
    for count, trial in enumerate(found.trials):
        step = legal_next(found.trials[:count], asked)
        assert isinstance(step, Step)
        assert step.spec == trial.result.spec
    assert legal_next(found.trials, asked) == found
    with pytest.raises(UnexpectedTrialError):
        legal_next(found.trials[1:], asked)
    with pytest.raises(UnexpectedTrialError):
        legal_next([*found.trials, found.trials[-1]], asked)


def test_stalls_of_the_tester_hide_no_truth():
    dice = random.Random(3)
    for seed in range(200):
        truth = dice.randint(20_000, 1_400_000)
        found = search(Device(truth_fps=truth, seed=seed, stall_share=0.4), wanted())
        assert found.ended, found.reason
        low, high = found.results[0].relevant_lower_bound_fps, found.results[0].relevant_upper_bound_fps
        assert low <= truth < high


def test_a_slow_tester_is_no_upper_bound():
    asked = wanted()
    found = search(Device(truth_fps=2_000_000, tester_fps=700_000), asked)
    assert types(found, asked) == [OutcomeType.TESTER_LIMITED] * 2
    for result in found.results:
        assert result.relevant_upper_bound_fps is None
        assert 690_000 <= result.effective_lower_fps <= 701_000
    assert found.tester_limit_fps > 700_000


def test_the_ends_of_the_search_are_typed():
    asked = wanted()
    assert types(search(Device(truth_fps=5), asked), asked) == [OutcomeType.AT_FLOOR] * 2
    assert types(search(Device(truth_fps=10**8), asked), asked) == [OutcomeType.AT_CEILING] * 2
    full = wanted(medium_fps=1_500_000)
    made = outcomes(search(Device(truth_fps=10**8), full), full, CELL, outcome_id="T")
    assert [outcome.type for outcome in made] == [OutcomeType.MEASURED] * 2
    assert made[0].values[0].number == 1_500_000
    assert any("irregular" in remark for remark in made[0].quality)
    near = wanted(envelope_fps=1_000_000)
    assert types(search(Device(truth_fps=1_200_000), near), near) == [OutcomeType.TESTER_LIMITED] * 2


def test_at_the_full_rate_of_the_medium_what_was_lost_is_no_throughput():
    """RFC 9971 appendix B: the conditional throughput is the load times the share that was forwarded."""
    full = wanted(medium_fps=1_500_000)
    strict, partial = outcomes(search(Device(truth_fps=1_496_000), full), full, CELL, outcome_id="T")
    assert strict.values[0].number <= 1_496_000
    assert (partial.type, partial.lower.load_fps, partial.upper) == (OutcomeType.MEASURED, 1_500_000, None)
    assert partial.values[0].number == pytest.approx(1_496_000, rel=1e-5)


def test_outcomes_carry_bounds_that_their_trials_prove():
    asked = wanted()
    found = search(Device(truth_fps=300_000), asked)
    strict, partial = outcomes(found, asked, CELL, outcome_id="T")
    by_seq = {trial.seq: trial for trial in found.trials}
    for outcome, limit in ((strict, 0.0), (partial, 0.005)):
        assert outcome.type is OutcomeType.MEASURED
        for seq in outcome.lower.trials:
            assert by_seq[seq].result.spec.load_fps == outcome.lower.load_fps
        assert min(by_seq[seq].result.loss_ratio for seq in outcome.lower.trials) <= limit
        assert max(by_seq[seq].result.loss_ratio for seq in outcome.upper.trials) > limit
    names = [value.metric for value in strict.values]
    assert names[0] == "conditional_throughput.rfc9971.60f60d0l0e"
    assert "throughput.rfc2544_26_1" in names
    assert "throughput.rfc2544_26_1" not in [value.metric for value in partial.values]


def test_a_measurer_that_raises_keeps_the_trials_so_far():
    device = Device(truth_fps=300_000)

    def measure(spec):
        if len(device.trials) == 3:
            raise RuntimeError("gone")
        return device(spec)

    found = search(measure, wanted())
    assert len(found.trials) == 3
    assert not found.ended
    assert isinstance(found.error, RuntimeError)
    assert set(types(found, wanted())) <= {OutcomeType.INVALID, OutcomeType.MEASURED}


def test_a_search_that_does_not_end_is_ended():
    found = search(Device(truth_fps=300_000), wanted(max_trials=4))
    assert (len(found.trials), found.ended) == (4, False)
    assert OutcomeType.UNSTABLE in types(found, wanted())
    found = search(Device(truth_fps=300_000), wanted(max_traffic_s=70.0))
    assert found.traffic_s <= 70
    assert "max_traffic_s" in found.reason


def test_a_warm_up_proves_nothing():
    found = search(Device(truth_fps=300_000), wanted(warmup_s=1.0))
    assert found.trials[0].result.spec.load_fps == 1_500_000
    assert found.results[0].regular
    assert found.trials[0].seq not in found.results[0].upper_trials

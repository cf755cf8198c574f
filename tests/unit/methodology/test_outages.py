"""Reading recovery and reset off trials: what the losses of a trial say, and what they do not."""

from dataclasses import replace

import pytest

from bmwg.methodology.benchmarks import recovery
from bmwg.methodology.records import (
    Cell,
    Direction,
    OutcomeType,
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.trial.frame_times import LossRun, LossTimes
from bmwg.methodology.trial.judging import JudgedTrial

CELL = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
TWO_LOADS = TrialSpec(
    frame_octets=64,
    load_fps=11_000,
    duration_s=1.0,
    then_load_fps=5_500,
    then_duration_s=1.0,
    loss_times=True,
)
ONE_LOAD = TrialSpec(
    frame_octets=64, load_fps=10_000, duration_s=1.0, loss_times=True, act="link", act_at_s=0.2
)


def trial(spec, received, losses):
    sent = spec.intended_frames
    stream = StreamCounts(intended_frames=sent, sent_frames=sent, received_frames=received, losses=losses)
    result = TrialResult(spec=spec, streams=(stream,), wall_time_ns=1)
    return JudgedTrial(seq=7, result=result, validity=Validity.VALID)


def recovered(last_lost_ns, first_received=10_000):
    losses = LossTimes(
        runs=9, first_received_frames=first_received, reduced_at_ns=1_000_000_000, last_lost_ns=last_lost_ns
    )
    return recovery.recovery_trial(trial(TWO_LOADS, 15_000, losses))


def test_recovery_is_from_the_reduction_to_the_last_lost_frame():
    seen = recovered(1_120_000_000)
    assert (seen.overload_lost_frames, seen.recovered) == (1_000, True)
    assert recovery.recovery_ms(seen) == 120.0
    assert recovery.recovery_outcome([seen], CELL, outcome_id="r").values[0].number == 120.0


def test_loss_that_ended_before_the_reduction_is_no_recovery_time():
    assert recovery.recovery_ms(recovered(999_000_000)) == 0.0


def test_a_device_that_loses_to_the_end_has_no_recovery_time():
    outcome = recovery.recovery_outcome([recovered(1_999_818_181)], CELL, outcome_id="r")
    assert outcome.type is OutcomeType.INVALID
    assert "to the end of trials [7]" in outcome.reason


def reset(after_ns):
    run = LossRun(first_frame=2_000, frames=1_500, before_ns=200_000_000, after_ns=after_ns)
    losses = LossTimes(runs=1, first_received_frames=8_500, longest=(run,), last_lost_ns=350_000_000)
    return recovery.reset_trial(trial(ONE_LOAD, 8_500, losses))


def test_a_reset_has_two_times_that_agree():
    seen = reset(350_100_000)
    assert recovery.reset_by_loss_ms(seen) == 150.0
    assert recovery.reset_by_time_ms(seen) == pytest.approx(150.1)
    assert recovery.reset_outcome([seen], CELL, kind="link", outcome_id="r").type is OutcomeType.MEASURED


def test_an_outage_that_outlasts_the_trial_has_no_length():
    outcome = recovery.reset_outcome([reset(None)], CELL, kind="link", outcome_id="r")
    assert outcome.type is OutcomeType.INVALID
    assert outcome.values == ()
    assert "no frame came any more in trials [7]" in outcome.reason


def test_an_outage_that_outlasts_the_trial_in_one_direction_has_no_length():
    spec = replace(ONE_LOAD, direction=Direction.BOTH)
    forward, reverse = (
        StreamCounts(
            intended_frames=10_000,
            sent_frames=10_000,
            received_frames=10_000 - frames,
            losses=LossTimes(
                runs=1,
                first_received_frames=10_000 - frames,
                longest=(
                    LossRun(first_frame=2_000, frames=frames, before_ns=199_900_000, after_ns=after_ns),
                ),
            ),
        )
        for frames, after_ns in ((1_500, 350_000_000), (8_000, None))
    )
    result = TrialResult(spec=spec, streams=(forward, reverse), wall_time_ns=1)
    seen = recovery.reset_trial(JudgedTrial(seq=7, result=result, validity=Validity.VALID))
    outcome = recovery.reset_outcome([seen], CELL, kind="link", outcome_id="r")
    assert (outcome.type, outcome.values) == (OutcomeType.INVALID, ())


@pytest.mark.parametrize(
    ("began_s", "ended_s", "within"),
    [(0.2, 0.4, True), (-0.1, 0.1, False), (0.2, 0.95, False), (None, None, True)],
)
def test_a_reset_outside_its_trial_says_nothing(began_s, ended_s, within):
    run = LossRun(first_frame=2_000, frames=1_500, before_ns=200_000_000, after_ns=350_000_000)
    losses = LossTimes(runs=1, first_received_frames=8_500, longest=(run,), last_lost_ns=350_000_000)
    told = {"started_ns": 5 * 10**9}
    if began_s is not None:
        told |= {
            "act.began_ns": 5 * 10**9 + int(began_s * 1e9),
            "act.ended_ns": 5 * 10**9 + int(ended_s * 1e9),
        }
    made = trial(ONE_LOAD, 8_500, losses)
    made = replace(made, result=replace(made.result, auxiliary=tuple(sorted(told.items()))))
    seen = recovery.reset_trial(made)
    assert seen.within is within
    outcome = recovery.reset_outcome([seen], CELL, kind="link", outcome_id="r")
    assert outcome.type is (OutcomeType.MEASURED if within else OutcomeType.UNSTABLE)
    both = recovery.reset_outcome([seen, replace(seen, within=True)], CELL, kind="link", outcome_id="r")
    assert both.values[0].number == 150.0
    assert any("left out" in remark for remark in both.quality) is not within


def test_a_trial_without_times_of_losses_is_refused():
    with pytest.raises(ValueError, match="expected the times of losses"):
        recovery.reset_trial(trial(ONE_LOAD, 8_500, None))

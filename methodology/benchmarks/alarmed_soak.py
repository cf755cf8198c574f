"""Soak as VSPERF has it (LTD 3.2.2.1.6, 3.2.2.2.2): the throughput, confirmed by a trial, held for hours.

Each interval is a trial that tells its loss, its forwarding rate and its delay variation (RFC 5481: PDV, 99th
percentile). Loss above a threshold in one of them is an alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from bmwg.methodology.answers.latency import percentile_ns
from bmwg.methodology.benchmarks import soak
from bmwg.methodology.benchmarks.concluded import Concluded, quantities
from bmwg.methodology.benchmarks.forwarding_rate import per_second
from bmwg.methodology.benchmarks.statistics import median
from bmwg.methodology.records import (
    FRAMES_PER_S,
    Cell,
    Outcome,
    OutcomeType,
    Quantity,
    TrialResult,
    TrialSpec,
)
from bmwg.methodology.search.stepwise import Procedure, Run, TesterShortError, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "soak.ltd_3_2_2_1_6"
MODIFIED_METRIC = "soak.ltd_3_2_2_1_7"
PDV = "pdv_p99"  # behind the metric: the values of delay variation
CONFIRMATION = "confirmation"  # phase of the trial before the soak
CONFIRM_S = 300.0  # ltd-3.2.2.1.6
INTERVAL_S = 300.0  # ltd-3.2.2.1.6
INTERVALS = 72  # ltd-3.2.2.1.6: 6 h at least
ALARM_RATIO = 1e-9  # ltd-3.2.2.1.6: above 10^-7 %
REQUIREMENTS = {
    METRIC: ("LTD-3.2.2.1.6-01", "LTD-3.2.2.1.6-02", "LTD-3.2.2.2.2"),
    MODIFIED_METRIC: ("LTD-3.2.2.1.7", "LTD-3.2.2.1.6-02"),
}
_P99 = Fraction(99, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmedGoal:
    """A trial of `confirm_s` at the load of `series`, and then the series of intervals."""

    series: soak.SoakGoal
    metric: str = METRIC
    confirm_s: float = CONFIRM_S
    max_repeats: int = 5
    short_limit: int = 2

    @property
    def confirmation(self) -> TrialSpec:
        """Return the trial that comes first."""
        return replace(self.series.spec, duration_s=self.confirm_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmedSoak:
    """What the series showed; `refuted` is the confirming trial where it lost frames, without any series.

    `alarms` are the numbers of intervals, from 1, that lost more than the threshold.
    """

    refuted: JudgedTrial | None = None
    series: soak.Soak | None = None
    alarms: tuple[int, ...] = ()
    forwarded_fps: tuple[int, ...] = ()
    pdv_ns: tuple[int, ...] = ()


def pdv_ns(result: TrialResult) -> int | None:
    """Return the 99th percentile delay less the least, of a trial's worse direction; None: none is known."""
    histograms = [stream.latency for stream in result.streams if stream.latency.frames]
    known = [
        percentile_ns(one, _P99) - (one.buckets[0][0] if one.min_ns is None else one.min_ns)
        for one in histograms
    ]
    return max(known, default=None)


def procedure(goal: AlarmedGoal) -> Procedure[AlarmedSoak]:
    """Confirm the load, and hold it only where no frame was lost then (LTD-3.2.2.1.6-02)."""
    confirmed = yield from valid_trial(
        goal.confirmation, CONFIRMATION, max_repeats=goal.max_repeats, short_limit=goal.short_limit
    )
    if confirmed is None:
        raise TesterShortError(f"the tester could not send {goal.series.spec.load_fps} {FRAMES_PER_S}")
    if not confirmed.lossless:
        return AlarmedSoak(refuted=confirmed)
    trials = yield from soak.intervals(goal.series)
    valid = [trial for trial in trials if trial is not None]
    return AlarmedSoak(
        series=soak.summarize(trials),
        alarms=tuple(
            number
            for number, trial in enumerate(trials, start=1)
            if trial is not None and trial.loss_ratio > ALARM_RATIO
        ),
        forwarded_fps=tuple(forwarded_fps(trial.result) for trial in valid),
        pdv_ns=tuple(found for trial in valid if (found := pdv_ns(trial.result)) is not None),
    )


def forwarded_fps(result: TrialResult) -> int:
    """Return the forwarding rate of a trial, frames/s per port and direction, mean of the directions."""
    return per_second(result.received_frames, result.spec) // len(result.streams)


def outcome(
    ended: Run[AlarmedSoak],
    goal: AlarmedGoal,
    cell: Cell,
    *,
    outcome_id: str,
    remarks: Sequence[str] = (),
) -> Outcome:
    """Return the loss ratio over all intervals; `unstable` where the load was not confirmed."""
    return _concluded(ended, goal, remarks).outcome(
        ended.trials,
        outcome_id=outcome_id,
        metric=goal.metric,
        cell=cell,
        requirements=REQUIREMENTS[goal.metric],
    )


def _concluded(ended: Run[AlarmedSoak], goal: AlarmedGoal, remarks: Sequence[str]) -> Concluded:
    spec, found = goal.series.spec, ended.found
    at = f"{spec.load_fps} {FRAMES_PER_S}"
    quality = [
        f"{at} per port and direction, confirmed by a trial of {goal.confirm_s:g} s, then"
        f" {goal.series.intervals} intervals of {spec.duration_s:g} s, each a trial and none repeated",
        *remarks,
    ]
    if found is None:
        return Concluded.without(ended, quality)
    if found.refuted is not None:
        reason = (
            f"{at} are not confirmed: {found.refuted.lost} of {found.refuted.sent} frames were lost in"
            f" {goal.confirm_s:g} s"
        )
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason, quality=quality[1:])
    if found.alarms:
        quality.append(
            f"alarm: a loss ratio above {ALARM_RATIO:g} in {len(found.alarms)} intervals, the first of them"
            f" number {found.alarms[0]}"
        )
    return Concluded(type=OutcomeType.MEASURED, values=_values(goal.metric, found), quality=quality)


def _values(metric: str, found: AlarmedSoak) -> tuple[Quantity, ...]:
    series = found.series
    assert series is not None
    return quantities(
        (metric, series.loss_ratio, "1"),
        (f"{metric}.worst_loss_ratio", series.worst_loss_ratio, "1"),
        (f"{metric}.lossy_intervals", series.lossy_intervals, "intervals"),
        (f"{metric}.alarms", len(found.alarms), "intervals"),
        (f"{metric}.valid_intervals", series.valid_intervals, "intervals"),
        (f"{metric}.forwarded_least", min(found.forwarded_fps), FRAMES_PER_S),
        (f"{metric}.forwarded_most", max(found.forwarded_fps), FRAMES_PER_S),
        (
            f"{metric}.{PDV}.median",
            median([float(one) for one in found.pdv_ns]) if found.pdv_ns else None,
            "ns",
        ),
        (f"{metric}.{PDV}.max", max(found.pdv_ns, default=None), "ns"),
    )

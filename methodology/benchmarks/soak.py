"""Soak: one load for a long time, as trials in a row; where loss falls and whether latency drifts.

No document of the working group defines it; TST009-12.4 asks for a long-duration variant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.benchmarks.concluded import Concluded, quantities
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import DisturbedError, Procedure, Run, StopError, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "soak.loss_ratio"
REQUIREMENTS = ("TST009-12.4", "TST009-11")


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakGoal:
    """`intervals` trials of `spec` in a row; a trial that is not valid leaves a gap and is not repeated."""

    spec: TrialSpec
    intervals: int
    max_invalid_ratio: float = 0.1  # choice: beyond it the series says too little

    def __post_init__(self) -> None:
        """Refuse a series that is none (ValueError)."""
        if self.intervals < 2:
            raise ValueError(f"intervals (TST009 12.4): expected at least 2, found {self.intervals}")
        if not 0 <= self.max_invalid_ratio < 1:
            raise ValueError(f"max_invalid_ratio: expected 0 up to below 1, found {self.max_invalid_ratio}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """What the series showed. Ratios 0..1; intervals are trials.

    `drift_ns` is the change of the mean latency over the whole series by least squares, None with less than
    two trials that hold latency.
    """

    intervals: int
    valid_intervals: int
    lossy_intervals: int
    longest_lossy_run: int
    loss_ratio: float
    worst_loss_ratio: float
    drift_ns: float | None


def procedure(goal: SoakGoal) -> Procedure[Soak]:
    """Run the series."""
    return summarize((yield from intervals(goal)))


def intervals(goal: SoakGoal) -> Procedure[Sequence[JudgedTrial | None]]:
    """Take the trials of a series, None for one that was not valid."""
    trials: list[JudgedTrial | None] = []
    too_many: type[StopError] = DisturbedError
    for number in range(goal.intervals):
        try:
            trial = yield from valid_trial(goal.spec, f"interval {number + 1}", max_repeats=0, short_limit=1)
        except StopError as stop:
            trial = None
            if not isinstance(stop, DisturbedError):
                too_many = StopError
        trials.append(trial)
        if sum(one is None for one in trials) > goal.max_invalid_ratio * goal.intervals:
            most = f"{100 * goal.max_invalid_ratio:.3g}%"
            raise too_many(f"more than {most} of {goal.intervals} intervals not valid")
    return trials


def summarize(trials: Sequence[JudgedTrial | None]) -> Soak:
    """Summarize a series in order; None is an interval without a valid trial."""
    valid = [trial for trial in trials if trial is not None]
    if not valid:
        raise ValueError("trials: expected at least one valid interval, found none")
    run = longest = 0
    for trial in trials:
        run = run + 1 if trial is not None and not trial.lossless else 0
        longest = max(longest, run)
    sent = sum(trial.result.sent_frames for trial in valid)
    lost = sum(trial.result.lost_frames for trial in valid)
    return Soak(
        intervals=len(trials),
        valid_intervals=len(valid),
        lossy_intervals=sum(not trial.lossless for trial in valid),
        longest_lossy_run=longest,
        loss_ratio=lost / sent if sent else 0.0,
        worst_loss_ratio=max(trial.result.loss_ratio for trial in valid),
        drift_ns=_drift_ns(trials),
    )


def _drift_ns(trials: Sequence[JudgedTrial | None]) -> float | None:
    points = []
    for index, trial in enumerate(trials):
        streams = trial.result.streams if trial is not None else ()
        frames = sum(stream.latency.frames for stream in streams)
        if frames:
            points.append((float(index), sum(stream.latency.sum_ns for stream in streams) / frames))
    if len(points) < 2:
        return None
    mean_x = math.fsum(x for x, _ in points) / len(points)
    mean_y = math.fsum(y for _, y in points) / len(points)
    slope = math.fsum((x - mean_x) * (y - mean_y) for x, y in points)
    slope /= math.fsum((x - mean_x) ** 2 for x, _ in points)
    return slope * (len(trials) - 1)


def outcome(
    ended: Run[Soak], goal: SoakGoal, cell: Cell, *, outcome_id: str, remarks: tuple[str, ...] = ()
) -> Outcome:
    """Return the loss ratio over the whole series, with where it fell and how far latency drifted."""
    quality = (f"{goal.intervals} intervals of {goal.spec.duration_s:g} s, none repeated", *remarks)
    concluded = Concluded.without(ended, quality)
    if ended.found is not None:
        at, values = f"at {goal.spec.load_fps} frames/s per port and direction", _values(ended.found)
        concluded = Concluded(type=OutcomeType.MEASURED, values=values, quality=quality, statement=at)
    return concluded.outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=cell, requirements=REQUIREMENTS
    )


def _values(found: Soak) -> tuple[Quantity, ...]:
    return quantities(
        (METRIC, found.loss_ratio, "1"),
        ("soak.worst_loss_ratio", found.worst_loss_ratio, "1"),
        ("soak.lossy_intervals", found.lossy_intervals, "intervals"),
        ("soak.longest_lossy_run", found.longest_lossy_run, "intervals"),
        ("soak.valid_intervals", found.valid_intervals, "intervals"),
        ("soak.latency_drift", found.drift_ns, "ns"),
    )

"""Frame loss rate (RFC 2544 26.3): from the highest load down until two successive loads lose nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from bmwg.methodology.benchmarks.concluded import Concluded
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import NoValidTrialError, Procedure, Run, valid_trial
from bmwg.methodology.trial.traffic import Traffic

METRIC = "frame_loss_ratio.rfc2544_26_3"
UNIT = "1"  # a ratio, 0..1; reports print percent
REQUIREMENTS = ("RFC2544-26.3-01", "RFC2544-26.3-02", "RFC2544-26.3-03")
LARGEST_STEP = Fraction(1, 10)  # rfc2544-26.3
MOST_CURVES = 6  # choice: what a reader tells apart in one graph
_IN_SUCCESSION = 2  # rfc2544-26.3


@dataclass(frozen=True, slots=True, kw_only=True)
class LossGoal:
    """The ladder: `max_load_fps` (frames/s per port and direction) is its 100 %, `step` a share of it."""

    cell: Cell
    max_load_fps: int
    duration_s: float
    step: Fraction = LARGEST_STEP
    max_repeats: int = 5
    short_limit: int = 2

    def __post_init__(self) -> None:
        """Refuse a ladder that RFC 2544 does not know."""
        if not 0 < self.step <= LARGEST_STEP:
            raise ValueError(f"step (RFC 2544 26.3): expected above 0 and at most 1/10, found {self.step}")
        if self.max_load_fps * self.step < 1:
            raise ValueError(
                f"max_load_fps (RFC 2544 26.3): expected steps of one frame/s, found {self.max_load_fps}"
            )
        self.spec(self.max_load_fps)

    def loads(self) -> list[int]:
        """Return the loads from 100 % down, frames/s."""
        shares = [1 - self.step * index for index in range(int(1 / self.step) + 1)]
        return [int(share * self.max_load_fps) for share in shares if share * self.max_load_fps >= 1]

    def spec(self, load_fps: int) -> TrialSpec:
        """Return the trial at one load."""
        return Traffic.of(self.cell).spec(load_fps, self.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """The axes of the curve, percent both: what they show, and where they end (RFC 2544 26.3)."""

    x: str
    y: str = "frames lost, %"
    ends: tuple[int, int] = (0, 100)


OF_THEORETICAL = Axes(x="load, % of the theoretical rate")
OF_HIGHEST = Axes(x="load, % of the highest load")


def axes(line_rate_bps: int | None) -> Axes:
    """Return the axes of the curve on a medium of this rate; one without it has no theoretical rate."""
    return OF_HIGHEST if line_rate_bps is None else OF_THEORETICAL


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPoint:
    """One load (frames/s) of the curve; `loss_ratio` is None where no trial was valid.

    `short` says that the tester could not send it; else its trials were disturbed.
    """

    load_fps: int
    loss_ratio: float | None
    seq: int | None
    short: bool = False


def procedure(goal: LossGoal) -> Procedure[tuple[LossPoint, ...]]:
    """Try each load from 100 % down; two successive loads without loss end the ladder."""
    points: list[LossPoint] = []
    lossless = 0
    for load in goal.loads():
        short = False
        try:
            trial = yield from valid_trial(
                goal.spec(load), "frame loss", max_repeats=goal.max_repeats, short_limit=goal.short_limit
            )
            short = trial is None
        except NoValidTrialError:
            trial = None
        if trial is None:
            points.append(LossPoint(load_fps=load, loss_ratio=None, seq=None, short=short))
            lossless = 0
            continue
        points.append(LossPoint(load_fps=load, loss_ratio=trial.result.loss_ratio, seq=trial.seq))
        lossless = lossless + 1 if trial.lossless else 0
        if lossless == _IN_SUCCESSION:
            break
    return tuple(points)


def load_of(value: Quantity) -> int:
    """Return the load (frames/s) that a value of the curve is of."""
    return int(value.metric.removeprefix(f"{METRIC}.").removesuffix("fps"))


def outcome(ended: Run[tuple[LossPoint, ...]], goal: LossGoal, *, outcome_id: str) -> Outcome:
    """Return one value a load; without any `tester_limited` where the tester fell short of all of them."""
    points = ended.found or ()
    measured = [point for point in points if point.loss_ratio is not None]
    missed = [point.load_fps for point in points if point.loss_ratio is None]
    kind, reason = OutcomeType.MEASURED, ""
    if ended.found is None:
        kind, reason = ended.type, ended.reason
    elif not measured:
        kind = OutcomeType.UNSTABLE
        if all(point.short for point in points):
            kind = OutcomeType.TESTER_LIMITED
        reason = "no trial was valid at any load of the ladder"
    values = tuple(
        Quantity(metric=f"{METRIC}.{point.load_fps}fps", number=point.loss_ratio, unit=UNIT)
        for point in measured
        if point.loss_ratio is not None
    )
    quality = [f"100 % is {goal.max_load_fps} frames/s, steps of {float(goal.step):.0%}"]
    if missed:
        quality.append(f"no valid trial, so no value: {', '.join(map(str, missed))} frames/s")
    values = values if kind is OutcomeType.MEASURED else ()
    return Concluded(type=kind, reason=reason, values=values, quality=quality).outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )

"""Forwarding rates of a switch (RFC 2889 5.6, RFC 2285 3.6): at the maximum offered load, and the highest.

From the throughput the load rises in even steps to the highest that the tester sends. All rates are sums over
ports; what came to a port that it was not meant for is in none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.benchmarks.concluded import Concluded, numbers
from bmwg.methodology.records import (
    FRAMES_PER_S,
    Cell,
    Outcome,
    OutcomeType,
    Quantity,
    TrialResult,
    TrialSpec,
)
from bmwg.methodology.search.stepwise import NoValidTrialError, Procedure, Run, valid_trial
from bmwg.methodology.trial.traffic import Traffic

METRIC = "forwarding_rate.rfc2889_5_6"  # its number is the maximum forwarding rate
APPLIED = f"{METRIC}.applied"  # the offered load at which it was seen
INTENDED = f"{METRIC}.intended"  # and the load that each sending port was asked for then
AT_MAXIMUM = f"{METRIC}.frmol"
MAXIMUM = f"{METRIC}.mol"
STEP_PERCENT = 10  # choice: of the highest load; RFC 2889 5.6.2 leaves the step to who measures
TRIAL_S = 30.0  # rfc2889-5.6.2
REQUIREMENTS = (
    "RFC2889-5.1.4.2-01",
    "RFC2889-5.1.4.2-02",
    "RFC2889-5.1.4.2-03",
    "RFC2889-5.1.4.2-04",
    "RFC2889-5.6.5-01",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateGoal:
    """The loads (frames/s of each sending port) from `throughput_fps` up to `max_load_fps`."""

    cell: Cell
    throughput_fps: int
    max_load_fps: int
    step_fps: int
    duration_s: float
    max_repeats: int = 5
    short_limit: int = 2

    def __post_init__(self) -> None:
        """Refuse what is no ladder."""
        if not 0 < self.throughput_fps <= self.max_load_fps or self.step_fps < 1:
            raise ValueError(
                f"loads (RFC 2889 5.6.3.1): expected a throughput up to {self.max_load_fps} frames/s and"
                f" steps of 1 or more, found {self.throughput_fps} and {self.step_fps}"
            )

    def loads(self) -> list[int]:
        """Return the loads, rising; where the throughput is the highest load it is the only one."""
        return [*range(self.throughput_fps, self.max_load_fps, self.step_fps), self.max_load_fps]

    def spec(self, load_fps: int) -> TrialSpec:
        """Return the trial at one load."""
        return Traffic.of(self.cell).spec(load_fps, self.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePoint:
    """What was offered and forwarded at a load, frames/s over all ports."""

    load_fps: int
    offered_fps: int
    forwarded_fps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """All loads with a valid trial, rising; loads whose trials were disturbed; loads beyond the tester."""

    points: tuple[RatePoint, ...]
    disturbed: tuple[int, ...]
    short: tuple[int, ...]


def per_second(frames: int, spec: TrialSpec) -> int:
    """Return a rate from a count of a trial: its frames are offered in their number over the load."""
    return round(frames * spec.load_fps / spec.first_frames)


def point(result: TrialResult) -> RatePoint:
    """Return what a trial says; a broadcast frame is offered once, and each copy of it is forwarded."""
    spec = result.spec
    copies = spec.pattern.copies if spec.pattern else 1
    return RatePoint(
        load_fps=spec.load_fps,
        offered_fps=per_second(result.sent_frames // copies, spec),
        forwarded_fps=per_second(result.received_frames, spec),
    )


def procedure(goal: RateGoal) -> Procedure[Rates]:
    """Try each load from the throughput up (RFC 2889 5.6.3.1) until the tester cannot send one."""
    points: list[RatePoint] = []
    disturbed: list[int] = []
    short: list[int] = []
    for load in goal.loads():
        try:
            trial = yield from valid_trial(
                goal.spec(load), "forwarding rate", max_repeats=goal.max_repeats, short_limit=goal.short_limit
            )
        except NoValidTrialError:
            disturbed.append(load)
            continue
        if trial is None:
            short.append(load)
            break
        points.append(point(trial.result))
    return Rates(points=tuple(points), disturbed=tuple(disturbed), short=tuple(short))


def outcome(ended: Run[Rates], goal: RateGoal, *, outcome_id: str) -> Outcome:
    """Return the highest forwarding rate with its load, and the one at the highest load that was offered."""
    return _concluded(ended, goal).outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _concluded(ended: Run[Rates], goal: RateGoal) -> Concluded:
    """Return the numbers, or why there is none: the highest load that the tester sends has no valid trial."""
    quality = [
        f"loads from {goal.throughput_fps} to {goal.max_load_fps} frames/s of each sending port in steps of"
        f" {goal.step_fps}, trials of {goal.duration_s:g} s; rates are sums over ports"
    ]
    rates = ended.found
    if rates is None:
        return Concluded.without(ended, quality)
    if rates.disturbed:
        quality.append(f"no valid trial at {', '.join(map(str, rates.disturbed))} frames/s")
    if rates.short:
        quality.append(f"the tester could not send {rates.short[0]} frames/s; no higher load was tried")
    highest = max((one.load_fps for one in rates.points), default=0)
    if rates.disturbed and rates.disturbed[-1] > highest:
        reason = f"no valid trial at the highest load, {rates.disturbed[-1]} frames/s"
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason, quality=quality)
    if not rates.points:
        reason = "the tester could not send the throughput itself"
        return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=quality)
    return Concluded(type=OutcomeType.MEASURED, values=_values(rates), quality=quality)


def _values(rates: Rates) -> tuple[Quantity, ...]:
    best = max(rates.points, key=lambda one: (one.forwarded_fps, -one.load_fps))
    last = rates.points[-1]
    named = {
        METRIC: best.forwarded_fps,
        APPLIED: best.offered_fps,
        INTENDED: best.load_fps,
        AT_MAXIMUM: last.forwarded_fps,
        MAXIMUM: last.offered_fps,
    }
    return numbers(named, FRAMES_PER_S)

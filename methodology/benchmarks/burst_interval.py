"""Bursty traffic (RFC 2544 section 21): the least interval between bursts of one size without loss.

The number of frames in a burst is held, the interval between bursts varied. Of bursts of equal size the
interval follows from the mean load, and a longer one is a lower load: so it is the bisection of RFC 2544 26.1
over the mean load, with its verification of both bounds, and each bound is an interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.trial.repeated_bursts import interval_ns

METRIC = "burst_interval.rfc2544_21"
UNIT = "ns"
BURST_FRAMES = (16, 64, 256, 1024)  # RFC2544-21-03
LEAST_BURSTS = 10  # choice: of a trial; with one there is no interval, and with few a long queue hides it
REQUIREMENTS = ("RFC2544-21-01", "RFC2544-21-03")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bursty:
    """One search: of which cell, with which goal, whose loads are means over bursts and intervals."""

    cell: Cell
    goal: ThroughputGoal
    burst_frames: int
    burst_fps: int

    @property
    def metric(self) -> str:
        """The metric with the size of a burst."""
        return f"{METRIC}.{self.burst_frames}"

    def interval_ns(self, load_fps: int) -> int:
        """Return the interval between bursts at a mean load."""
        return interval_ns(self.burst_frames, load_fps, self.burst_fps)


def least_load_fps(burst_frames: int, duration_s: float) -> int:
    """Return the lowest mean load (frames/s) at which a trial has `LEAST_BURSTS` bursts."""
    return -int(-LEAST_BURSTS * burst_frames // duration_s)


def outcome(found: SearchResult, asked: Bursty, *, outcome_id: str) -> Outcome:
    """Return the least interval without loss, and beside it the one that lost frames.

    Where the load is the whole rate within a burst, there is no interval: the number is 0.
    """
    statement = found.statement
    if found.type is OutcomeType.AT_FLOOR:
        longest = asked.interval_ns(asked.goal.min_load_fps)
        statement = f"loss even with {longest} ns between bursts of {asked.burst_frames} frames"
    elif statement and found.lower is not None and found.type is not OutcomeType.UNSTABLE:
        statement = f"no loss with {asked.interval_ns(found.lower.load_fps)} ns between bursts, or more"
    return Outcome(
        outcome_id=outcome_id,
        metric=asked.metric,
        cell=asked.cell,
        type=found.type,
        values=_values(found, asked),
        lower=found.lower,
        upper=found.upper,
        trials=found.trials,
        statement=statement,
        reason=found.reason,
        requirements=REQUIREMENTS,
        quality=(*found.quality, parameters(asked)),
    )


def _values(found: SearchResult, asked: Bursty) -> tuple[Quantity, ...]:
    if found.type is not OutcomeType.MEASURED or found.lower is None:
        return ()
    numbers = [
        Quantity(metric=asked.metric, number=asked.interval_ns(found.lower.load_fps), unit=UNIT),
        Quantity(metric=f"{METRIC}.mean_load", number=found.lower.load_fps, unit="frames/s"),
    ]
    if found.upper is not None:
        numbers.append(_lossy(found.upper, asked))
    return tuple(numbers)


def _lossy(upper: Bound, asked: Bursty) -> Quantity:
    number = asked.interval_ns(upper.load_fps)
    return Quantity(metric=f"{METRIC}.lossy", number=number, unit=UNIT)


def parameters(asked: Bursty) -> str:
    """Return the sentence that says how the bursts were offered."""
    return (
        f"bursts of {asked.burst_frames} frames at {asked.burst_fps} frames/s, trials of"
        f" {asked.goal.duration_s:g} s"
    )

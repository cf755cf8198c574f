"""What one side of a comparison has: the numbers of its repeats, by headline metric and cell. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median

from bmwg.methodology.answers.throughput import interval, is_wide
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.measurements.registry import HEADLINE
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome
from bmwg.methodology.trial import directions
from bmwg.reports import rooms
from bmwg.reports.store import Run

SAME_LOAD_RATIO = 0.01  # choice, docs/adr/0090: latencies at loads further apart are not of the same thing


@cache
def headline() -> tuple[str, ...]:
    """Return the metrics by which runs are compared, of every kind of load."""
    return (*HEADLINE, *(metric for kind in kinds.kinds().values() for metric in kind.headline))


def of_goal(metric: str) -> bool:
    """Whether a metric is a conditional throughput without loss (RFC 9971): a headline, whatever its goal."""
    claim = goal_outcomes.claim(metric) if goal_outcomes.is_conditional(metric) else None
    return claim is not None and not claim.loss_ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one side has for one metric on one cell, a run after the other.

    `numbers` of the plain answers; `others` the types of the rest. `loads_fps` at which a latency was taken.
    `wide_ends` are the upper ends (same unit) of those answers whose interval is wide, `wide_lows` the lower
    ones where they are below the number (a buffer carries the rest), `marks` what may bound some of the
    numbers beside the device (`rooms.marks`).
    """

    numbers: tuple[float, ...]
    others: tuple[str, ...]
    loads_fps: tuple[int, ...] = ()
    wide_ends: tuple[float, ...] = ()
    wide_lows: tuple[float, ...] = ()
    marks: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Gathered:
    """What the runs of a side say to one metric on one cell."""

    cell: Cell
    unit: str = ""
    numbers: list[float] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    loads_fps: list[int] = field(default_factory=list)
    wide_ends: list[float] = field(default_factory=list)
    wide_lows: list[float] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    ends: list[tuple[float, float]] = field(default_factory=list)


def samples_of(runs: Sequence[Run]) -> dict[tuple[str, str], Gathered]:
    """Return what a side has, by headline metric and cell id."""
    found: dict[tuple[str, str], Gathered] = {}
    for run in runs:
        marks = rooms.every_mark(run)
        for outcome in run.outcomes:
            for metric in headline_of(outcome):
                entry = found.setdefault((metric, outcome.cell.cell_id), Gathered(cell=outcome.cell))
                value = next((value for value in outcome.values if value.metric == metric), None)
                if value is None:
                    entry.others.append(outcome.type.value.replace("_", " "))
                else:
                    entry.unit = value.unit
                    entry.numbers.append(float(value.number))
                    entry.loads_fps += loads_of(run, outcome)
                    entry.marks += filter(None, [marks.get(outcome.outcome_id)])
                    low, high = map(float, interval(outcome) or (value.number, value.number))
                    entry.ends.append((low, high))
                    if is_wide(outcome):
                        entry.wide_ends.append(high)
                        entry.wide_lows += [low] if low < value.number else []
    return found


def headline_of(outcome: Outcome) -> tuple[str, ...]:
    """Return the headline metrics that an outcome answers, with a number or with its type."""
    if of_goal(outcome.metric):
        return (outcome.metric,)
    told = {directions.without(value.metric)[1] for value in outcome.values}
    among = told or set(directions.ways(outcome.cell.direction))
    able = [m for m in headline() if m == outcome.metric or m.startswith(outcome.metric + ".")]
    able = [m for m in able if m == outcome.metric or directions.without(m)[1] in among]
    numbers = {value.metric for value in outcome.values}  # of several searches one has its own names
    return tuple([m for m in able if m in numbers] or able)


def sample_of(found: Gathered | None, runs: Sequence[Run]) -> Sample:
    """Freeze; a run without any answer is one more answer that is no plain number."""
    if found is None:
        return Sample(numbers=(), others=("not reached",) * len(runs))
    missing = len(runs) - len(found.numbers) - len(found.others)
    return Sample(
        numbers=tuple(found.numbers),
        others=(*found.others, *("not reached",) * missing),
        loads_fps=tuple(found.loads_fps),
        wide_ends=tuple(found.wide_ends),
        wide_lows=tuple(found.wide_lows),
        marks=tuple(found.marks),
    )


def at_other_loads(first: Sequence[int], second: Sequence[int]) -> str:
    """Return the medians of two sides' loads in words, where they are further apart than latencies may be."""
    if not first or not second:
        return ""
    loads = median(first), median(second)
    if abs(loads[1] / loads[0] - 1) <= SAME_LOAD_RATIO:
        return ""
    return f"{loads[0]:,.0f} and {loads[1]:,.0f} {FRAMES_PER_S}"


def loads_of(run: Run, outcome: Outcome) -> list[int]:
    """Return the load of a latency, that of its first stream: the wire's is told at other loads as well."""
    if not outcome.metric.startswith("latency."):
        return []
    return [run.trial(seq).spec.load_fps for seq in outcome.trials[:1]]

"""Many runs of one testbed by time: the levels of each cell, where they changed, and what changed there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell
from bmwg.reports.compare.comparison import headline, headline_of, of_goal
from bmwg.reports.compare.field_rules import Role
from bmwg.reports.compare.fields import Difference, differences
from bmwg.reports.compare.sides import Side, check_once
from bmwg.reports.compare.statistics import change_points, levels
from bmwg.reports.store import Run

LEAST_RUNS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of level: the first run of the new one, the medians, and the fields that changed with it."""

    run_id: str
    before: float
    after: float
    fields: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric on one cell over the runs that gave a plain number; `gaps` counts those that did not."""

    metric: str
    unit: str
    cell: Cell
    run_ids: tuple[str, ...]
    numbers: tuple[float, ...]
    gaps: int
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """The runs by time and what became of each cell."""

    testbed: str
    runs: tuple[Run, ...]
    series: tuple[Series, ...]


def trend(runs: Sequence[Run]) -> Trend:
    """Return the trend of runs of one testbed. Pure.

    Raises ConfigError CMP-05 when they are of several testbeds, measured and simulated, or fewer than two.
    """
    ordered = sorted(runs, key=lambda run: (run.started_at, run.run_id))
    check_once(list(ordered))
    kinds = sorted({(str(run.testbed.get("name")), run.simulated) for run in ordered})
    if len(ordered) < LEAST_RUNS or len(kinds) != 1:
        raise ConfigError(
            "CMP-05",
            "trend",
            expected=f"at least {LEAST_RUNS} runs of one testbed, all measured or all simulated",
            found=f"{len(ordered)} runs of "
            + ", ".join(name + (" (simulated)" if simulated else "") for name, simulated in kinds),
        )
    gathered: dict[tuple[str, str], list[tuple[Run, float, str, Cell]]] = {}
    asked: dict[tuple[str, str], set[str]] = {}
    for run in ordered:
        for outcome in run.outcomes:
            told = [value for value in outcome.values if value.metric in headline() or of_goal(value.metric)]
            for metric in (*headline_of(outcome), *(value.metric for value in told)):
                asked.setdefault((metric, outcome.cell.cell_id), set()).add(run.run_id)
            for value in told:
                gathered.setdefault((value.metric, outcome.cell.cell_id), []).append(
                    (run, float(value.number), value.unit, outcome.cell)
                )
    series = tuple(
        _series(key[0], entries, len(asked[key]) - len(entries)) for key, entries in gathered.items()
    )
    return Trend(testbed=kinds[0][0], runs=tuple(ordered), series=series)


def _series(metric: str, entries: Sequence[tuple[Run, float, str, Cell]], gaps: int) -> Series:
    numbers = tuple(number for _, number, _, _ in entries)
    points = change_points(numbers)
    medians = levels(numbers, points)
    changes = []
    for place, point in enumerate(points):
        before, after = entries[point - 1][0], entries[point][0]
        pair = (Side(name="before", runs=(before,)), Side(name="after", runs=(after,)))
        changes.append(
            Change(
                run_id=after.run_id,
                before=medians[place],
                after=medians[place + 1],
                fields=tuple(one for one in differences(pair) if one.role is Role.CONFIGURATION),
            )
        )
    return Series(
        metric=metric,
        unit=entries[0][2],
        cell=entries[0][3],
        run_ids=tuple(run.run_id for run, _, _, _ in entries),
        numbers=numbers,
        gaps=gaps,
        changes=tuple(changes),
    )

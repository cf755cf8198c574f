"""Many runs by time: the levels of each cell, where they jumped, by how much, and what changed there.

Runs of several testbeds stand in one series only where their calibrations agree; measured and simulated ones
never do, nor runs by profiles of other names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, pstdev

from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports import rooms
from bmwg.reports.compare.calibrations import agreeing, names_of
from bmwg.reports.compare.field_rules import Role
from bmwg.reports.compare.fields import Difference, differences
from bmwg.reports.compare.samples import at_other_loads, headline, headline_of, loads_of, of_goal
from bmwg.reports.compare.sides import Side, check_once
from bmwg.reports.compare.statistics import change_points, parted
from bmwg.reports.render.facts import is_indicative
from bmwg.reports.store import Run

LEAST_RUNS = 2
NEWEST = 10  # choice: the last level of a series is held against the one before so many runs
_SPREADS = 2  # choice: a level reaches so many standard deviations to each side
_LESS_IS_BETTER = ("ns", "us", "ms", "s")
_MORE_IS_BETTER = ("connections", "index")  # beside all that is per second


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A run without its trials, and what they alone tell of its answers, by the answer's id.

    `marks` are those of `rooms.every_mark`, `loads_fps` the loads of latencies, frames/s.
    """

    run: Run
    marks: Mapping[str, str]
    loads_fps: Mapping[str, int]


def told(run: Run) -> Told:
    """Return what a trend takes of a run: its trials take most of the memory."""
    return Told(
        run=replace(run, trials=(), executions=()),
        marks=rooms.every_mark(run),
        loads_fps={one.outcome_id: load for one in run.outcomes for load in loads_of(run, one)},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One plain number of a series. `width` is of the interval it lies in, relative to it; 0 for none.

    `mark` is what may bound the number beside the device (`rooms.every_mark`), empty for nothing. `load_fps`
    is at which a latency was taken, frames/s; None of other figures.
    """

    run_id: str
    testbed: str
    started_at: str
    number: float
    width: float
    mark: str
    load_fps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One jump: the first run of the new level, the medians, and the fields that changed with it.

    `ratio` is after to before. `width` is what such a number is uncertain by, relative to it: the larger of
    the intervals of the answers and of the spread of both levels. `worse`: it went the bad way by more than
    that. `newest` says how many runs of the series are as new, itself among them. `unlike` tells the loads of
    latencies that were taken at different ones: which of them is worse, they do not show.
    """

    run_id: str
    before: float
    after: float
    fields: tuple[Difference, ...]
    width: float
    worse: bool
    newest: int
    unlike: str = ""

    @property
    def ratio(self) -> float:
        """After to before; 1 where there was nothing before."""
        return self.after / self.before if self.before else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric on one cell over the runs that gave a plain number.

    `gaps` counts those that did not, also those that ended before they reached it; `silent` the newest of
    them in a row: of these nobody knows whether they are worse.

    `levels` are the medians between the jumps, `spreads` what a number of each is uncertain by, relative to
    it. `sign` is 1 where more is better, -1 where less is, 0 where nobody can tell from the unit.
    """

    metric: str
    unit: str
    cell: Cell
    points: tuple[Point, ...]
    gaps: int
    silent: int
    levels: tuple[float, ...]
    changes: tuple[Change, ...]
    spreads: tuple[float, ...]
    sign: int

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers alone."""
        return tuple(point.number for point in self.points)

    @property
    def judged(self) -> bool:
        """Whether it is known which way is worse."""
        return self.sign != 0

    @property
    def parts(self) -> tuple[Sequence[Point], ...]:
        """The numbers of each level, oldest first."""
        return parted(self.points, [len(self.points) - change.newest for change in self.changes])

    def _base(self, newest: int) -> int:
        """Return which level stood before so many newest runs."""
        return sum(change.newest > newest for change in self.changes)

    def not_judged(self, newest: int = NEWEST) -> str:
        """Say why nobody can tell whether it worsened among the newest runs; empty where that is known."""
        if not self.judged:
            return f"which way is worse of {self.unit}"
        base = self._base(newest)
        return _unlike(self.parts[base], self.parts[-1]) if base < len(self.changes) else ""

    def worsened(self, newest: int = NEWEST) -> bool:
        """Whether the last level is worse than the one before so many newest runs, by more than its width.

        A level that fell and rose again among them is not, nor is a latency at another load.
        """
        if self.not_judged(newest):
            return False
        base = self._base(newest)
        width = max(self.spreads[base], self.spreads[-1])
        return self.sign * (self.levels[-1] - self.levels[base]) < -width * self.levels[base]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Runs that can stand in one series, by time, and what became of each cell."""

    testbeds: tuple[str, ...]
    profile: str
    runs: tuple[Run, ...]
    series: tuple[Series, ...]

    @property
    def simulated(self) -> bool:
        """Whether these are no measurements."""
        return self.runs[0].simulated

    @property
    def indicative(self) -> bool:
        """Whether procedures of some of them were shortened."""
        return any(is_indicative(run.of_load(load).profile) for run in self.runs for load in run.kinds)


def trends(each: Sequence[Told]) -> tuple[Trend, ...]:
    """Return the trends of runs, those of testbeds that cannot be compared apart. Pure.

    Raises ConfigError CMP-05 when they are fewer than two, CMP-02 for a run that is named twice.
    """
    ordered = sorted((one.run for one in each), key=lambda run: (run.started_at, run.run_id))
    check_once(list(ordered))
    by_id = {one.run.journal_hash: one for one in each}
    if len(ordered) < LEAST_RUNS:
        raise ConfigError(
            "CMP-05", "trend", expected=f"at least {LEAST_RUNS} runs", found=f"{len(ordered)} runs"
        )
    name_of = names_of(ordered)
    apart: dict[tuple[bool, str], list[Run]] = {}
    for run in ordered:
        apart.setdefault((run.simulated, str(run.profile["name"])), []).append(run)
    return tuple(
        Trend(
            testbeds=tuple(sorted({name_of(run) for run in mine})),
            profile=profile,
            runs=mine,
            series=tuple(_all_series([by_id[run.journal_hash] for run in mine], name_of)),
        )
        for (_, profile), same in sorted(apart.items())
        for mine in agreeing(same, name_of)
    )


def _all_series(each: Sequence[Told], name_of: Callable[[Run], str]) -> Iterator[Series]:
    gathered: dict[tuple[str, str], list[tuple[Run, Point, str, Cell]]] = {}
    asked: dict[tuple[str, str], set[str]] = {}
    for one in each:
        run = one.run
        for outcome in run.outcomes:
            mine = [value for value in outcome.values if value.metric in headline() or of_goal(value.metric)]
            for metric in (*headline_of(outcome), *(value.metric for value in mine)):
                asked.setdefault((metric, outcome.cell.cell_id), set()).add(run.run_id)
            for value in mine:
                point = Point(
                    run_id=run.run_id,
                    testbed=name_of(run),
                    started_at=run.started_at,
                    number=float(value.number),
                    width=_width(outcome) if value.metric == outcome.metric else 0.0,
                    mark=one.marks.get(outcome.outcome_id, ""),
                    load_fps=one.loads_fps.get(outcome.outcome_id),
                )
                entry = (run, point, value.unit, outcome.cell)
                gathered.setdefault((value.metric, outcome.cell.cell_id), []).append(entry)
        for outcome in _unreached(run):
            for metric in headline_of(outcome):
                asked.setdefault((metric, outcome.cell.cell_id), set()).add(run.run_id)
    for (metric, cell_id), entries in gathered.items():
        gave = {run.run_id for run, *_ in entries}
        runs = (one.run.run_id for one in each)
        missed = [run_id not in gave for run_id in runs if run_id in asked[metric, cell_id]]
        silent = next((place for place, gap in enumerate(reversed(missed)) if not gap), len(missed))
        yield _series(metric, entries, gaps=sum(missed), silent=silent)


def _unreached(run: Run) -> Iterator[Outcome]:
    """Give what a run planned and has no answer of, as answers without a number: it ended before."""
    answered = {(one.metric, one.cell.cell_id) for one in run.outcomes}
    for planned in run.plan:
        if (planned.metric, planned.cell.cell_id) not in answered:
            yield Outcome(
                outcome_id="", metric=planned.metric, cell=planned.cell, type=OutcomeType.NOT_ASSESSED
            )


def _width(outcome: Outcome) -> float:
    ends = interval(outcome)
    return (ends[1] - ends[0]) / ends[0] if ends is not None and ends[0] else 0.0


def _series(
    metric: str, entries: Sequence[tuple[Run, Point, str, Cell]], *, gaps: int, silent: int
) -> Series:
    points = tuple(point for _, point, _, _ in entries)
    unit = entries[0][2]
    jumps = change_points([one.number for one in points])
    segments = parted(points, jumps)
    levels = tuple(median(one.number for one in segment) for segment in segments)
    spreads = tuple(map(_spread, segments))
    sign = _sign(unit)
    changes = []
    for place, at in enumerate(jumps):
        before, after = levels[place], levels[place + 1]
        width = max(spreads[place], spreads[place + 1])
        unlike = _unlike(segments[place], segments[place + 1])
        pair = (
            Side(name="before", runs=(entries[at - 1][0],)),
            Side(name="after", runs=(entries[at][0],)),
        )
        changes.append(
            Change(
                run_id=points[at].run_id,
                before=before,
                after=after,
                fields=tuple(
                    difference for difference in differences(pair) if difference.role is Role.CONFIGURATION
                ),
                width=width,
                worse=not unlike and sign * (after - before) < -width * before,
                newest=len(points) - at,
                unlike=unlike,
            )
        )
    return Series(
        metric=metric,
        unit=unit,
        cell=entries[0][3],
        points=points,
        gaps=gaps,
        silent=silent,
        levels=levels,
        changes=tuple(changes),
        spreads=spreads,
        sign=sign,
    )


def _unlike(before: Sequence[Point], after: Sequence[Point]) -> str:
    """Return the loads of two levels of latencies in words, where they are not of the same thing."""
    return at_other_loads(
        *([one.load_fps for one in level if one.load_fps is not None] for level in (before, after))
    )


def _spread(level: Sequence[Point]) -> float:
    """Return what a number of a level is uncertain by, relative to it."""
    middle = median(one.number for one in level)
    spread = _SPREADS * pstdev([point.number for point in level]) / middle if middle else 0.0
    return max(spread, median(one.width for one in level))


def _sign(unit: str) -> int:
    """Return 1 where more is better, -1 where less is, 0 where nobody can tell from the unit."""
    if unit.endswith("/s") or unit in _MORE_IS_BETTER:
        return 1
    return -1 if unit in _LESS_IS_BETTER else 0

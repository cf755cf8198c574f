"""A comparison: each cell's numbers, and what differs beside them; differences only where they are fair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median

from bmwg.methodology.answers.throughput import interval, is_wide
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.measurements.registry import HEADLINE
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome
from bmwg.methodology.trial import directions
from bmwg.reports import rooms
from bmwg.reports.compare.field_rules import Place, Role
from bmwg.reports.compare.fields import (
    UNDER_TEST,
    UNWAIVABLE,
    Difference,
    differences,
    unknown_everywhere,
)
from bmwg.reports.compare.options import turns
from bmwg.reports.compare.sides import Side, check_once
from bmwg.reports.compare.statistics import ALPHA, difference_p, is_higher, least_p, shown
from bmwg.reports.store import Run
from bmwg.schemas.validation import near_name

NOT_COMPARED = "not compared"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric on one cell: `samples` by side, the later side against the first.

    `ratio` (of medians) is set only where a difference is shown, which they have too, and no interval is
    wide; `verdict` says in words what is known, `shows` whether it is a difference.
    """

    metric: str
    unit: str
    cell: Cell
    first: str
    second: str
    samples: Mapping[str, Sample]
    p_value: float | None
    ratio: float | None
    verdict: str
    shows: bool = False

    @property
    def why_not(self) -> str:
        """Why it was not compared, without the numbers of one row; empty where it was."""
        if self.p_value is not None:
            return ""
        reason = self.verdict.removeprefix(f"{NOT_COMPARED}: ")
        if (
            any(sample.others for sample in self.samples.values())
            and reason[:1].isdigit()
            and " of " in reason
        ):
            return "a side has no plain number: unstable, not run, or tester limited"
        return "taken at different loads" if reason.startswith("taken at different loads") else reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of it. `passing` are fields that differ because each run names or measures them anew.

    While confounders on the path are open, rows have numbers and no verdict; measured beside simulated runs
    have no rows. `unverified` says that nobody computed the figures anew.
    """

    sides: tuple[Side, ...]
    under_test: tuple[Difference, ...]
    confounders: tuple[Difference, ...]
    unknown: tuple[str, ...]
    order: tuple[str, ...]
    rows: tuple[Row, ...]
    passing: tuple[Difference, ...] = ()
    unverified: bool = False

    @property
    def open_confounders(self) -> tuple[Difference, ...]:
        """Those on the compared path that were not waived: while there are any, no difference is judged."""
        return tuple(
            confounder
            for confounder in self.confounders
            if confounder.place is Place.ON_PATH and not confounder.waived
        )

    @property
    def mixed(self) -> bool:
        """Whether measured runs stand beside simulated ones: no number of one is held against the other."""
        return any(confounder.path in UNWAIVABLE for confounder in self.confounders)

    @property
    def off_path(self) -> tuple[Difference, ...]:
        """Fields that differ and lie on no path of these runs; they forbid nothing and are listed."""
        return tuple(confounder for confounder in self.confounders if confounder.place is Place.OFF_PATH)


def compare(
    sides: Sequence[Side], *, waive: Sequence[str] = (), under_test: Sequence[str] = UNDER_TEST
) -> Comparison:
    """Compare sides with the first. Pure.

    Raises ConfigError CMP-01 (fewer than two sides), CMP-02 (a run on two sides), CMP-03 (a waiver that names
    no confounder), CMP-04 (a waiver of what cannot be waived, also under another name).
    """
    if len(sides) < 2:
        raise ConfigError(
            "CMP-01",
            "compare",
            expected="two runs or more",
            found=str(len(sides)),
            hint="--network, given twice, holds options of the same runs against each other",
        )
    _check_under_test(under_test)
    for option in {side.option for side in sides}:
        check_once([run for side in sides if side.option == option for run in side.runs])
    found = differences(sides, under_test=under_test, waived=waive)
    passing = tuple(one for one in found if one.role is not Role.CONFIGURATION)
    held = [difference for difference in found if difference.role is Role.CONFIGURATION]
    confounders = tuple(
        sorted((one for one in held if not one.under_test), key=lambda one: one.place is not Place.ON_PATH)
    )
    _check_waivers(waive, confounders)
    open_ones = [
        confounder
        for confounder in confounders
        if confounder.place is Place.ON_PATH and not confounder.waived
    ]
    mixed = any(one.path in UNWAIVABLE for one in confounders)
    return Comparison(
        sides=tuple(sides),
        under_test=tuple(one for one in held if one.under_test),
        confounders=confounders,
        unknown=unknown_everywhere(sides),
        order=_order(sides),
        rows=() if mixed else _rows(sides, _unfair(open_ones)),
        passing=passing,
    )


def _unfair(open_ones: Sequence[Difference]) -> str:
    """Return why no row is judged; empty when rows are."""
    count = len(open_ones)
    return f"{count} field{'s' if count != 1 else ''} on the compared path differ" if count else ""


def _check_under_test(under_test: Sequence[str]) -> None:
    for name in under_test:
        for path in UNWAIVABLE:
            if path == name or path.startswith(name.rstrip("/") + "/"):
                raise ConfigError(
                    "CMP-04",
                    f"under test {name}: cannot be what is compared",
                    expected="runs that are all measured, or all simulated",
                    found="both",
                )


def _check_waivers(waive: Sequence[str], confounders: Sequence[Difference]) -> None:
    paths = [confounder.path for confounder in confounders]
    for name in waive:
        if name in UNWAIVABLE:
            raise ConfigError(
                "CMP-04",
                f"waiver {name}: cannot be waived",
                expected="runs that are all measured, or all simulated",
                found="both",
            )
        if not any(path == name or path.startswith(name.rstrip("/") + "/") for path in paths):
            near = near_name(name, paths)
            raise ConfigError(
                "CMP-03",
                f"waiver {name}: names no field that differs",
                expected="a field of the list of confounders, or the beginning of several up to a slash",
                found=repr(name),
                hint=f"did you mean {near}?" if near else "bmwg compare without --waive lists them",
            )


def _order(sides: Sequence[Side]) -> tuple[str, ...]:
    """Say where a side's repeats all came before another's: whatever changed with time went with the side."""
    told = []
    first = sides[0]
    for other in sides[1:]:
        for early, late in ((first, other), (other, first)):
            if early.runs[-1].started_at < late.runs[0].started_at:
                told.append(f"All runs of {early.name} began before all runs of {late.name}.")
    return (*told, *(turns(sides) if first.option else ()))


def _rows(sides: Sequence[Side], unfair: str) -> tuple[Row, ...]:
    told = {side.name: _samples(side.runs) for side in sides}
    keys = dict.fromkeys(key for samples in told.values() for key in samples)
    first = sides[0].name
    drafts: list[_Draft] = []
    for key in keys:
        known = [told[side.name][key] for side in sides if key in told[side.name]]
        unit = next((entry.unit for entry in known if entry.unit), "")
        for side in sides[1:]:
            pair = {
                name: _sample(told[name].get(key), runs)
                for name, runs in ((first, sides[0].runs), (side.name, side.runs))
            }
            why = unfair or _why_not(first, side.name, pair)
            drafts.append((key[0], unit, known[0].cell, side.name, pair, why))
    testable = [number for number, draft in enumerate(drafts) if not draft[5]]
    keyed = [(drafts[n][3], (drafts[n][0], drafts[n][2].cell_id)) for n in testable]
    p_values = [_p_of_ends(told[first][key], told[name][key]) for name, key in keyed]
    tested = dict(zip(testable, zip(p_values, shown(p_values), strict=True), strict=True))
    return tuple(_row(first, draft, tested.get(number)) for number, draft in enumerate(drafts))


_Draft = tuple[str, str, Cell, str, dict[str, Sample], str]


def _row(first: str, draft: _Draft, tested: tuple[float, bool] | None) -> Row:
    metric, unit, cell, second, pair, why = draft
    ratio: float | None = None
    shows = tested is not None and tested[1]
    if tested is None:
        verdict = f"{NOT_COMPARED}: {why}"
    elif not shows:
        verdict = f"no difference shown (p = {tested[0]:.3g})"
    else:
        ratio = median(pair[second].numbers) / median(pair[first].numbers)
        higher = is_higher(pair[second].numbers, pair[first].numbers)
        verdict = f"{second} is {'higher' if higher else 'lower'} than {first} (p = {tested[0]:.3g})"
        if wide := sum(len(sample.wide_ends) for sample in pair.values()):
            ratio = None
            verdict += (
                f"; no ratio: {wide} of these answers {'has a' if wide == 1 else 'have a'} wide interval"
            )
        elif ratio == 1 or (ratio > 1) is not higher:
            ratio = None
            verdict += "; no ratio: the medians do not differ that way"
    if tested is not None and (marks := [mark for sample in pair.values() for mark in sample.marks]):
        count = sum(len(sample.numbers) for sample in pair.values())
        verdict += f"; {len(marks)} of these {count} answers: {', '.join(dict.fromkeys(marks))}"
    return Row(
        metric=metric,
        unit=unit,
        cell=cell,
        first=first,
        second=second,
        samples=pair,
        p_value=tested[0] if tested else None,
        ratio=ratio,
        verdict=verdict,
        shows=shows,
    )


def _why_not(first: str, second: str, pair: Mapping[str, Sample]) -> str:
    """Return why no test is made; empty when there is one."""
    for name, sample in pair.items():
        if sample.others:
            kinds = ", ".join(sorted(set(sample.others)))
            return f"{len(sample.others)} of {len(sample.others) + len(sample.numbers)} of {name}: {kinds}"
    counts = [len(pair[name].numbers) for name in (first, second)]
    if least_p(*counts) > ALPHA:
        return f"too few repeats ({counts[0]} and {counts[1]}; 4 and 4 are the least of equal numbers)"
    if apart := at_other_loads(*(pair[name].loads_fps for name in (first, second))):
        return f"taken at different loads ({apart})"
    if any(number <= 0 for sample in pair.values() for number in sample.numbers):
        return "a number that is not above 0"
    return ""


@dataclass(slots=True, kw_only=True)
class _Gathered:
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


def _p_of_ends(first: _Gathered, second: _Gathered) -> float:
    """Return the p-value of the numbers, and where an interval is wide the largest of theirs and both ends'.

    It is 1 where these do not all differ the same way: an end alone may be the machine's.
    """
    sides = [(first.numbers, second.numbers)]
    if first.wide_ends or second.wide_ends:
        sides += [([one[end] for one in first.ends], [one[end] for one in second.ends]) for end in (0, 1)]
    ways = {is_higher(of_second, of_first) for of_first, of_second in sides}
    return max(difference_p(*side) for side in sides) if len(ways) == 1 else 1.0


def _samples(runs: Sequence[Run]) -> dict[tuple[str, str], _Gathered]:
    """Return what a side has, by headline metric and cell id."""
    found: dict[tuple[str, str], _Gathered] = {}
    for run in runs:
        marks = rooms.every_mark(run)
        for outcome in run.outcomes:
            for metric in headline_of(outcome):
                entry = found.setdefault((metric, outcome.cell.cell_id), _Gathered(cell=outcome.cell))
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


def _sample(found: _Gathered | None, runs: Sequence[Run]) -> Sample:
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

"""The rows of a comparison: one metric on one cell, and whether repeats carry a difference. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bmwg.methodology.records import Cell
from bmwg.reports.compare.samples import Gathered, Sample, at_other_loads, sample_of, samples_of
from bmwg.reports.compare.sides import Side
from bmwg.reports.compare.statistics import (
    ALPHA,
    difference_p,
    filled,
    is_higher,
    least_p,
    least_repeats,
    shown,
)

NOT_COMPARED = "not compared"
MOST_LACKING = 0.25  # choice, docs/adr/0630: share of a side's repeats that may have no number


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


def rows_of(sides: Sequence[Side], unfair: str) -> tuple[Row, ...]:
    """Return a row for each metric on each cell and each later side; `unfair` says why none is judged."""
    told = {side.name: samples_of(side.runs) for side in sides}
    keys = dict.fromkeys(key for samples in told.values() for key in samples)
    first = sides[0].name
    drafts: list[_Draft] = []
    for key in keys:
        known = [told[side.name][key] for side in sides if key in told[side.name]]
        unit = next((entry.unit for entry in known if entry.unit), "")
        for side in sides[1:]:
            pair = {
                name: sample_of(told[name].get(key), runs)
                for name, runs in ((first, sides[0].runs), (side.name, side.runs))
            }
            why = unfair or _why_not(first, side.name, pair)
            drafts.append((key[0], unit, known[0].cell, side.name, pair, why))
    testable = [number for number, draft in enumerate(drafts) if not draft[5]]
    p_values = [_p_of_draft(told, first, drafts[number]) for number in testable]
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
    if tested is not None and any(lacking := _lacking(first, second, pair)):
        ratio = None
        verdict += "".join(
            f"; {count} of {len(pair[name].numbers) + count} of {name} without a number, "
            f"counted as the median of {other}"
            for name, other, count in ((first, second, lacking[0]), (second, first, lacking[1]))
            if count
        )
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
        repeats = len(sample.others) + len(sample.numbers)
        if len(sample.others) > MOST_LACKING * repeats:
            kinds = ", ".join(sorted(set(sample.others)))
            return f"{len(sample.others)} of {repeats} of {name}: {kinds}"
    lacking = _lacking(first, second, pair)
    counts = len(pair[first].numbers) + lacking[0], len(pair[second].numbers) + lacking[1]
    if least_p(counts[0], counts[1], lacking) > ALPHA:
        least = least_repeats(lacking)
        without = f", {sum(lacking)} of them without a number" if any(lacking) else ""
        return (
            f"too few repeats ({counts[0]} and {counts[1]}{without}; "
            f"{least} and {least} are the least of equal numbers)"
        )
    if apart := at_other_loads(*(pair[name].loads_fps for name in (first, second))):
        return f"taken at different loads ({apart})"
    if any(number <= 0 for sample in pair.values() for number in sample.numbers):
        return "a number that is not above 0"
    return ""


def _lacking(first: str, second: str, pair: Mapping[str, Sample]) -> tuple[int, int]:
    """Return how many repeats of either side have no number."""
    return len(pair[first].others), len(pair[second].others)


def _p_of_draft(told: Mapping[str, Mapping[tuple[str, str], Gathered]], first: str, draft: _Draft) -> float:
    """Return the p-value of the numbers, and where an interval is wide the largest of theirs and both ends'.

    It is 1 where these do not all differ the same way: an end alone may be the machine's.
    """
    metric, _, cell, second, pair, _ = draft
    both = tuple(told[name][metric, cell.cell_id] for name in (first, second))
    sides = [tuple(one.numbers for one in both)]
    if any(one.wide_ends for one in both):
        sides += [tuple([ends[end] for ends in one.ends] for one in both) for end in (0, 1)]
    ways = {is_higher(of_second, of_first) for of_first, of_second in sides}
    lacking = _lacking(first, second, pair)
    return max(difference_p(*filled(side[0], side[1], lacking)) for side in sides) if len(ways) == 1 else 1.0

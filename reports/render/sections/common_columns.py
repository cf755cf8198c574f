"""Columns that the tables of benchmarks share, and how a benchmark's section is laid out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.records import Bound, Outcome, OutcomeType
from bmwg.methodology.trial import directions
from bmwg.reports.render.blocks import Block, Rich, fold, role, table, title
from bmwg.reports.render.facts import Facts, frame_size, option
from bmwg.reports.render.text import NONE, quantity_text, sequence, unit

HEAD = ("path and option", "frame size", "type")
TAIL = ("trials", "remarks")
TYPE_WORDS = {
    OutcomeType.MEASURED: "measured",
    OutcomeType.AT_FLOOR: "at the floor",
    OutcomeType.AT_CEILING: "at the ceiling",
    OutcomeType.TESTER_LIMITED: "tester limited",
    OutcomeType.UNSTABLE: "unstable",
    OutcomeType.INVALID: "invalid",
    OutcomeType.NOT_ASSESSED: "not assessed",
}


def badge(kind: OutcomeType) -> Rich:
    """Return the type of an answer as a badge."""
    return role(f"type-{kind.value.replace('_', '-')}", TYPE_WORDS[kind])


def front(outcome: Outcome, way: str = "") -> list[str]:
    """Return path and option, with the direction where the row is of one of several, frame size and type."""
    return [
        directions.of(option(outcome.cell), way),
        frame_size(outcome.cell),
        badge(outcome.type),
    ]


def remarks_of(outcome: Outcome) -> tuple[str, ...]:
    """Return what has to be read with an answer: the reason of its type, and the remarks on its quality."""
    return tuple(part for part in (outcome.reason, *outcome.quality) if part)


def back(outcome: Outcome, place: str = "below") -> list[str]:
    """Return the trials, and how many remarks stand below the table, or at another place."""
    said = remarks_of(outcome)
    return [sequence(outcome.trials), f"{len(said)}, {place}" if said else NONE]


def value(outcome: Outcome, metric: str) -> float | int | None:
    """Return one of the values of an outcome."""
    return next((quantity.number for quantity in outcome.values if quantity.metric == metric), None)


def shown(outcome: Outcome, metric: str, unit_name: str = "") -> str:
    """Return one of the values of an outcome with its unit; without a unit a bare count."""
    number = value(outcome, metric)
    if number is None:
        return NONE
    return quantity_text(number, unit_name) if unit_name else str(number)


def rate(outcome: Outcome, facts: Facts) -> str:
    """Return the load of an outcome's trials, frames/s."""
    loads = sorted({facts.run.trial(seq).spec.load_fps for seq in outcome.trials})
    return ", ".join(unit(load, "frames/s") for load in loads) if loads else NONE


def bound(limit: Bound | None) -> str:
    """Return a bound with the trials that prove it."""
    return NONE if limit is None else f"{unit(limit.load_fps, 'frames/s')} (trial {sequence(limit.trials)})"


def remarks(outcomes: Sequence[Outcome]) -> list[Block]:
    """Return the remarks on answers, one a row: within the table of answers they would make it unreadable."""
    rows = [[*front(outcome), said] for outcome in outcomes for said in remarks_of(outcome)]
    if not rows:
        return []
    count = f"{len(rows)} remark{'s' if len(rows) != 1 else ''} on these answers"
    return fold(count, table([*HEAD, "remark"], rows))


def section(
    heading: str,
    head: Sequence[str],
    outcomes: Sequence[Outcome],
    cells: Callable[[Outcome], Sequence[str]],
    caption: str,
    below: Sequence[Block] = (),
) -> list[Block]:
    """Return a row for each answer, its own cells between the shared ones; nothing without an answer."""
    rows = [[*front(outcome), *cells(outcome), *back(outcome)] for outcome in outcomes]
    return laid_out(heading, head, outcomes, rows, caption, below)


def laid_out(
    heading: str,
    head: Sequence[str],
    outcomes: Sequence[Outcome],
    rows: Sequence[Sequence[str]],
    caption: str,
    below: Sequence[Block] = (),
) -> list[Block]:
    """Return the same of rows that are whole already; what is said below the table is before the remarks."""
    if not rows:
        return []
    return [*title(heading), *table([*HEAD, *head, *TAIL], rows, caption), *below, *remarks(outcomes)]

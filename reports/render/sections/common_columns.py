"""Columns that the tables of benchmarks share."""

from __future__ import annotations

from bmwg.methodology.records import Bound, Outcome, OutcomeType
from bmwg.methodology.trial import directions
from bmwg.reports.render.blocks import Rich, role
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.text import NONE, sequence, unit

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


def type_badge(outcome: Outcome) -> Rich:
    """Return the type of an outcome as a badge."""
    return badge(outcome.type)


def front(outcome: Outcome, way: str = "") -> list[str]:
    """Return path and option, with the direction where the row is of one of several, frame size and type."""
    return [
        directions.of(option(outcome.cell), way),
        unit(outcome.cell.frame_octets, "octets"),
        type_badge(outcome),
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


def rate(outcome: Outcome, facts: Facts) -> str:
    """Return the load of an outcome's trials, frames/s."""
    loads = sorted({facts.run.trial(seq).spec.load_fps for seq in outcome.trials})
    return ", ".join(unit(load, "frames/s") for load in loads) if loads else NONE


def medium(facts: Facts) -> str:
    """Return the media type, which RFC 2544 26.2 and RFC 8219 want beside each rate."""
    return facts.run.medium_kind


def bound(limit: Bound | None) -> str:
    """Return a bound with the trials that prove it."""
    return NONE if limit is None else f"{unit(limit.load_fps, 'frames/s')} (trial {sequence(limit.trials)})"

"""Columns that the tables of benchmarks share."""

from __future__ import annotations

from bmwg.methodology import directions
from bmwg.methodology.records import Bound, Outcome
from bmwg.reports.render.facts import Facts, option
from bmwg.reports.render.results import remarks_of, type_badge
from bmwg.reports.render.text import NONE, esc, sequence, unit

HEAD = ("path and option", "frame size", "type")
TAIL = ("trials", "remarks")


def front(outcome: Outcome, way: str = "") -> list[str]:
    """Return path and option, with the direction where the row is of one of several, frame size and type."""
    return [
        esc(directions.of(option(outcome.cell), way)),
        esc(unit(outcome.cell.frame_octets, "octets")),
        type_badge(outcome),
    ]


def back(outcome: Outcome) -> list[str]:
    """Return the trials, and how many remarks stand below the table."""
    said = remarks_of(outcome)
    return [esc(sequence(outcome.trials)), esc(f"{len(said)}, below") if said else NONE]


def value(outcome: Outcome, metric: str) -> float | int | None:
    """Return one of the values of an outcome."""
    return next((one.number for one in outcome.values if one.metric == metric), None)


def rate(outcome: Outcome, facts: Facts) -> str:
    """Return the load of an outcome's trials, frames/s."""
    loads = sorted({facts.run.trial(seq).spec.load_fps for seq in outcome.trials})
    return esc(", ".join(unit(load, "frames/s") for load in loads)) if loads else NONE


def medium(facts: Facts) -> str:
    """Return the media type, which RFC 2544 26.2 and RFC 8219 want beside each rate."""
    return esc(facts.run.medium_kind)


def bound(limit: Bound | None) -> str:
    """Return a bound with the trials that prove it."""
    return (
        NONE if limit is None else esc(f"{unit(limit.load_fps, 'frames/s')} (trial {sequence(limit.trials)})")
    )

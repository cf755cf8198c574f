"""Latency of all frames: percentiles with their intervals, and the tester's own beside them."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.answers.latency import HIGH, LOW, UNIT, floors
from bmwg.methodology.records import Outcome, OutcomeType, Quantity
from bmwg.reports.render.blocks import Block, paragraph
from bmwg.reports.render.facts import LATENCY, Facts, percentiles, told_ways
from bmwg.reports.render.sections.common_columns import back, front, laid_out
from bmwg.reports.render.text import NONE, quantity_text, unit

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max", "mean")
_BESIDE = ("p50", "p99")
_NOTE = (
    "In brackets: where the streams show that a percentile lies, with at least 95 %, in one deployment; no"
    " upper end where they may have missed what lies beyond. The tester's own is what the wire alone took, at"
    " the loads next to that of the row at which it was measured."
)


def latency(facts: Facts) -> list[Block]:
    """Return latency of each cell at the load of its streams, each percentile with its interval."""
    outcomes = facts.of_metric(LATENCY)
    rows = []
    for outcome, way in ((one, way) for one in outcomes for way in told_ways(one, LATENCY)):
        values = percentiles(outcome, way)
        told = (_with_interval(values, name) if name in values else NONE for name in PERCENTILES)
        own = own_latency(facts, outcome, way) or NONE
        load = _load_fps(outcome, facts)
        at = NONE if load is None else unit(load, "frames/s")
        rows.append([*front(outcome, way), at, *told, own, *back(outcome)])
    head = ["load", *PERCENTILES, "of which the tester's own, p50 / p99"]
    return laid_out("Latency", head, outcomes, rows, f"Metrics {LATENCY}.*", paragraph(_NOTE))


def own_latency(facts: Facts, outcome: Outcome, way: str) -> str:
    """Return what the tester alone took with a cell's traffic; empty: it is not known.

    It is told at the loads next to that of the outcome, one on either side where both are known.
    """
    cell, load_fps = outcome.cell, _load_fps(outcome, facts)
    found = next((one for one in facts.of_metric(LATENCY) if one.cell == cell.qualification), None)
    if cell.qualifies_tester or found is None or found.type is not OutcomeType.MEASURED:
        return ""
    known = {load: _pair(told) for load, told in floors(found, way).items()}
    values = {name: one.number for name, one in percentiles(found, way).items()}
    if (own_fps := _load_fps(found, facts)) is not None:
        known[own_fps] = _pair(values)
    if load_fps is None or not known:
        return ""
    below = max((one for one in known if one <= load_fps), default=None)
    above = min((one for one in known if one >= load_fps), default=None)
    sides = dict.fromkeys(one for one in (below, above) if one is not None)
    return ", ".join(f"{known[side]} at {unit(side, 'frames/s')}" for side in sides)


def _pair(values: Mapping[str, float]) -> str:
    return " / ".join(quantity_text(values[name], UNIT) for name in _BESIDE if name in values)


def _load_fps(outcome: Outcome, facts: Facts) -> int | None:
    """Return the load of an outcome's own streams, which come first."""
    return facts.run.trial(outcome.trials[0]).spec.load_fps if outcome.trials else None


def _with_interval(values: Mapping[str, Quantity], name: str) -> str:
    """Return a value, for a percentile with its interval: `24.3 µs (23.1 µs to 27 µs)`."""
    text = quantity_text(values[name].number, values[name].unit)
    low, high = values.get(f"{name}.{LOW}"), values.get(f"{name}.{HIGH}")
    if low is None:
        return text
    least = quantity_text(low.number, low.unit)
    return (
        f"{text} ({least} to {quantity_text(high.number, high.unit)})"
        if high
        else f"{text} (at least {least})"
    )

"""Latency of all frames: percentiles with their intervals, and the tester's own beside them."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.latency import HIGH, LOW
from bmwg.methodology.records import Cell, OutcomeType, Quantity
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.common_columns import HEAD, TAIL, back, front, rate
from bmwg.reports.render.facts import LATENCY, Facts, percentiles, told_ways
from bmwg.reports.render.results import quantity_text, remarks
from bmwg.reports.render.text import NONE

PERCENTILES = ("p50", "p90", "p99", "p99.9", "max", "mean")
_BESIDE = ("p50", "p99")
_NOTE = (
    "In brackets: where the streams show that a percentile lies, with at least 95 %; no upper end where they"
    " may have missed what lies beyond. The tester's own is what the wire alone took, at its own load."
)


def latency(facts: Facts) -> list[Block]:
    """Return latency of each cell at the load of its streams, each percentile with its interval."""
    outcomes = facts.of_metric(LATENCY)
    rows = []
    for outcome, way in ((one, way) for one in outcomes for way in told_ways(one, LATENCY)):
        values = percentiles(outcome, way)
        told = (_with_interval(values, name) if name in values else NONE for name in PERCENTILES)
        own = own_latency(facts, outcome.cell, way) or NONE
        rows.append([*front(outcome, way), rate(outcome, facts), *told, own, *back(outcome)])
    if not rows:
        return []
    head = [*HEAD, "load", *PERCENTILES, "of which the tester's own, p50 / p99", *TAIL]
    shown = table(head, rows, f"Metrics {LATENCY}.*")
    return [*title("Latency"), *shown, *paragraph(_NOTE), *remarks(outcomes)]


def own_latency(facts: Facts, cell: Cell, way: str) -> str:
    """Return what the tester alone took with a cell's traffic, and at which load; empty: it is not known."""
    if cell.qualifies_tester:
        return ""
    found = next((one for one in facts.of_metric(LATENCY) if one.cell == cell.qualification), None)
    if found is None or found.type is not OutcomeType.MEASURED:
        return ""
    values = percentiles(found, way)
    pair = [quantity_text(values[name].number, values[name].unit) for name in _BESIDE if name in values]
    return f"{' / '.join(pair)} at {rate(found, facts)}"


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

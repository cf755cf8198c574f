"""Soak: loss over a long time, whether it came in a row, and how far latency drifted."""

from __future__ import annotations

from bmwg.methodology.benchmarks.soak import METRIC
from bmwg.methodology.records import Outcome
from bmwg.reports.render.blocks import Block, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import HEAD, TAIL, back, front, rate, value
from bmwg.reports.render.sections.results import remarks
from bmwg.reports.render.text import NONE, nanoseconds, percent


def soak(facts: Facts) -> list[Block]:
    """Return one row a cell."""
    outcomes = [one for one in facts.outcomes if one.metric == METRIC]
    if not outcomes:
        return []
    rows = [
        [
            *front(outcome),
            rate(outcome, facts),
            _share(outcome, METRIC),
            _share(outcome, "soak.worst_loss_ratio"),
            _count(outcome, "soak.lossy_intervals"),
            _count(outcome, "soak.longest_lossy_run"),
            _count(outcome, "soak.valid_intervals"),
            _drift(outcome),
            *back(outcome),
        ]
        for outcome in outcomes
    ]
    head = [*HEAD, "load", "frames lost", "worst interval", "lossy intervals", "longest run of them"]
    return [
        *title("Soak"),
        *table([*head, "valid intervals", "drift of the mean latency", *TAIL], rows, f"Metric {METRIC}"),
        *remarks(outcomes),
    ]


def _share(outcome: Outcome, metric: str) -> str:
    number = value(outcome, metric)
    return NONE if number is None else percent(number)


def _count(outcome: Outcome, metric: str) -> str:
    number = value(outcome, metric)
    return NONE if number is None else str(number)


def _drift(outcome: Outcome) -> str:
    number = value(outcome, "soak.latency_drift")
    if number is None:
        return NONE
    return f"{'-' if number < 0 else '+'}{nanoseconds(abs(number))}"

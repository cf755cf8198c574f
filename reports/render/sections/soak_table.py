"""Soak: loss over a long time, whether it came in a row, and how far latency drifted."""

from __future__ import annotations

from bmwg.methodology.benchmarks.soak import METRIC
from bmwg.methodology.records import Outcome
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import rate, section, shown, value
from bmwg.reports.render.text import NONE, nanoseconds


def soak(facts: Facts) -> list[Block]:
    """Return one row a cell."""

    def cells(one: Outcome) -> list[str]:
        return [
            rate(one, facts),
            shown(one, METRIC, "1"),
            shown(one, "soak.worst_loss_ratio", "1"),
            shown(one, "soak.lossy_intervals"),
            shown(one, "soak.longest_lossy_run"),
            shown(one, "soak.valid_intervals"),
            _drift(one),
        ]

    head = ["load", "frames lost", "worst interval", "lossy intervals", "longest run of them"]
    outcomes = [one for one in facts.outcomes if one.metric == METRIC]
    return section(
        "Soak", [*head, "valid intervals", "drift of the mean latency"], outcomes, cells, f"Metric {METRIC}"
    )


def _drift(outcome: Outcome) -> str:
    number = value(outcome, "soak.latency_drift")
    if number is None:
        return NONE
    return f"{'-' if number < 0 else '+'}{nanoseconds(abs(number))}"

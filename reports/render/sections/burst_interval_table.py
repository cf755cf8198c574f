"""Bursty traffic (RFC 2544 section 21): the least interval for each size of a burst."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.benchmarks.burst_interval import METRIC
from bmwg.methodology.records import Outcome
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import bound, section, value
from bmwg.reports.render.sections.results import answer
from bmwg.reports.render.text import NONE, unit


def intervals(facts: Facts) -> list[Block]:
    """Return a row for each size: interval without loss, interval with loss, and the mean loads of both."""
    head = ("frames in a burst", "least interval without loss", "interval with loss")
    loads = ("mean load without loss", "mean load with loss")
    heading, outcomes = "Bursty traffic (RFC 2544 section 21)", facts.of_metric(METRIC)
    return section(heading, (*head, *loads), outcomes, _cells, f"Metric {METRIC}")


def _cells(one: Outcome) -> list[str]:
    lossy = value(one, f"{METRIC}.lossy")
    return [
        one.metric.removeprefix(f"{METRIC}."),
        answer(replace(one, values=one.values[:1])),
        NONE if lossy is None else unit(lossy, "ns"),
        bound(one.lower),
        bound(one.upper),
    ]

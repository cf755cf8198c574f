"""Latency by tagged frames and delay variation, in the forms of RFC 2544 26.2 and RFC 8219 7."""

from __future__ import annotations

from bmwg.methodology.answers.latency import RFC2544_METRIC
from bmwg.methodology.benchmarks.delay_variation import PDV_METRIC, SAMPLE_METRIC
from bmwg.methodology.benchmarks.tagged_latency import TYPICAL_METRIC, WORST_METRIC
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.directions import metric
from bmwg.reports.render.blocks import Block, table, title
from bmwg.reports.render.facts import Facts, told_ways
from bmwg.reports.render.sections.common_columns import HEAD, TAIL, back, front, medium, rate, value
from bmwg.reports.render.sections.results import remarks
from bmwg.reports.render.text import NONE, nanoseconds


def rfc2544_latency(facts: Facts) -> list[Block]:
    """Return RFC 2544 26.2's table: a row for each frame size, with rate, media type and latency."""
    outcomes = [outcome for outcome in facts.outcomes if outcome.metric == RFC2544_METRIC]
    if not outcomes:
        return []
    rows = [
        [
            *front(one, way),
            rate(one, facts),
            medium(facts),
            *(_time(one, metric(RFC2544_METRIC, way, end)) for end in ("", "min", "max")),
            *back(one),
        ]
        for one, way in _each_way(outcomes, RFC2544_METRIC)
    ]
    head = [*HEAD, "rate", "media", "latency (mean)", "least", "largest", *TAIL]
    return [
        *title("Latency by tagged frames (RFC 2544 26.2)"),
        *table(head, rows, f"Metric {RFC2544_METRIC}"),
        *remarks(outcomes),
    ]


def rfc8219_latency(facts: Facts) -> list[Block]:
    """Return RFC 8219 7.2's table: typical and worst-case latency, each with percentiles over the streams."""
    outcomes = [outcome for outcome in facts.outcomes if outcome.metric == TYPICAL_METRIC]
    if not outcomes:
        return []
    rows = [
        [
            *front(one, way),
            rate(one, facts),
            medium(facts),
            *(_with_range(one, family, way) for family in (TYPICAL_METRIC, WORST_METRIC)),
            *back(one),
        ]
        for one, way in _each_way(outcomes, TYPICAL_METRIC)
    ]
    head = [*HEAD, "rate", "media", "typical (1st to 99th percentile)", "worst case (1st to 99th percentile)"]
    return [
        *title("Typical and worst-case latency (RFC 8219 7.2)"),
        *table([*head, *TAIL], rows, f"Metrics {TYPICAL_METRIC} and {WORST_METRIC}"),
        *remarks(outcomes),
    ]


def delay_variation(facts: Facts) -> list[Block]:
    """Return RFC 8219 7.3's table: packet delay variation with its percentiles over the streams."""
    outcomes = [outcome for outcome in facts.outcomes if outcome.metric == PDV_METRIC]
    if not outcomes:
        return []
    rows = [
        [*front(one, way), rate(one, facts), medium(facts), _with_range(one, PDV_METRIC, way), *back(one)]
        for one, way in _each_way(outcomes, PDV_METRIC)
    ]
    head = [*HEAD, "rate", "media", "PDV (1st to 99th percentile)", *TAIL]
    return [
        *title("Delay variation (RFC 8219 7.3)"),
        *table(head, rows, f"Metric {PDV_METRIC}: 99.9th percentile less the least delay"),
        *remarks(outcomes),
    ]


def neighbours(facts: Facts) -> list[Block]:
    """Return the delay variation between neighbours: medians over the streams of least, median, largest."""
    outcomes = [outcome for outcome in facts.outcomes if outcome.metric == SAMPLE_METRIC]
    if not outcomes:
        return []
    ends = ("min", "", "max")
    rows = [
        [
            *front(one, way),
            rate(one, facts),
            medium(facts),
            *(_time(one, metric(SAMPLE_METRIC, way, end)) for end in ends),
            *back(one),
        ]
        for one, way in _each_way(outcomes, SAMPLE_METRIC)
    ]
    head = [*HEAD, "rate", "media", "least", "median", "largest", *TAIL]
    return [
        *title("Delay variation between neighbours (RFC 5481 4.1)"),
        *table(head, rows, f"Metric {SAMPLE_METRIC}: delay of a frame less that of the frame sent before it"),
        *remarks(outcomes),
    ]


def _each_way(outcomes: list[Outcome], family: str) -> list[tuple[Outcome, str]]:
    """Return a row for each direction that an outcome has values of."""
    return [(outcome, way) for outcome in outcomes for way in told_ways(outcome, family)]


def _time(outcome: Outcome, name: str) -> str:
    number = value(outcome, name)
    return NONE if number is None else nanoseconds(number)


def _with_range(outcome: Outcome, family: str, way: str) -> str:
    middle, low, high = (value(outcome, metric(family, way, end)) for end in ("", "p1", "p99"))
    if middle is None or low is None or high is None:
        return NONE
    return f"{nanoseconds(middle)} ({nanoseconds(low)} to {nanoseconds(high)})"

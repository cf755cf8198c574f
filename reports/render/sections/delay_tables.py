"""Latency by tagged frames and delay variation, in the forms of RFC 2544 26.2 and RFC 8219 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.answers.latency import RFC2544_METRIC
from bmwg.methodology.benchmarks.delay_variation import PDV_METRIC, SAMPLE_METRIC
from bmwg.methodology.benchmarks.tagged_latency import TYPICAL_METRIC, WORST_METRIC
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.directions import metric
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.facts import Facts, told_ways
from bmwg.reports.render.sections.common_columns import back, front, laid_out, rate, shown, value
from bmwg.reports.render.text import NONE, nanoseconds


def rfc2544_latency(facts: Facts) -> list[Block]:
    """Return RFC 2544 26.2's table: a row for each frame size, with rate, media type and latency."""
    return _section(
        facts,
        "Latency by tagged frames (RFC 2544 26.2)",
        RFC2544_METRIC,
        ("latency (mean)", "least", "largest"),
        lambda one, way: [shown(one, metric(RFC2544_METRIC, way, end), "ns") for end in ("", "min", "max")],
        f"Metric {RFC2544_METRIC}",
    )


def rfc8219_latency(facts: Facts) -> list[Block]:
    """Return RFC 8219 7.2's table: typical and worst-case latency, each with percentiles over the streams."""
    return _section(
        facts,
        "Typical and worst-case latency (RFC 8219 7.2)",
        TYPICAL_METRIC,
        ("typical (1st to 99th percentile)", "worst case (1st to 99th percentile)"),
        lambda one, way: [_with_range(one, family, way) for family in (TYPICAL_METRIC, WORST_METRIC)],
        f"Metrics {TYPICAL_METRIC} and {WORST_METRIC}",
    )


def delay_variation(facts: Facts) -> list[Block]:
    """Return RFC 8219 7.3's table: packet delay variation with its percentiles over the streams."""
    return _section(
        facts,
        "Delay variation (RFC 8219 7.3)",
        PDV_METRIC,
        ("PDV (1st to 99th percentile)",),
        lambda one, way: [_with_range(one, PDV_METRIC, way)],
        f"Metric {PDV_METRIC}: 99.9th percentile less the least delay",
    )


def neighbours(facts: Facts) -> list[Block]:
    """Return the delay variation between neighbours: medians over the streams of least, median, largest."""
    return _section(
        facts,
        "Delay variation between neighbours (RFC 5481 4.1)",
        SAMPLE_METRIC,
        ("least", "median", "largest"),
        lambda one, way: [shown(one, metric(SAMPLE_METRIC, way, end), "ns") for end in ("min", "", "max")],
        f"Metric {SAMPLE_METRIC}: delay of a frame less that of the frame sent before it",
    )


def _section(
    facts: Facts,
    heading: str,
    family: str,
    head: Sequence[str],
    cells: Callable[[Outcome, str], Sequence[str]],
    caption: str,
) -> list[Block]:
    """Return a row for each direction that an outcome has values of, the media type beside its rate."""
    outcomes = [outcome for outcome in facts.outcomes if outcome.metric == family]
    rows = [
        [*front(one, way), rate(one, facts), facts.run.medium_kind, *cells(one, way), *back(one)]
        for one in outcomes
        for way in told_ways(one, family)
    ]
    return laid_out(heading, ("rate", "media", *head), outcomes, rows, caption)


def _with_range(outcome: Outcome, family: str, way: str) -> str:
    middle, low, high = (value(outcome, metric(family, way, end)) for end in ("", "p1", "p99"))
    if middle is None or low is None or high is None:
        return NONE
    return f"{nanoseconds(middle)} ({nanoseconds(low)} to {nanoseconds(high)})"

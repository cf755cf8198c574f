"""Switches between more ports than two (RFC 2889): forwarding rates, congestion, tables, illegal frames."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.benchmarks import (
    broadcast_latency,
    caching_capacity,
    congestion,
    forwarding_rate,
    illegal_frames,
    learning_rate,
)
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import section, shown, value
from bmwg.reports.render.sections.results import answer
from bmwg.reports.render.text import NONE, nanoseconds, unit

_FPS = "frames/s"


def forwarding_rates(facts: Facts) -> list[Block]:
    """Return the maximum forwarding rate and the rate at the maximum offered load, each with its load."""
    return _section(
        facts,
        "Forwarding rates (RFC 2889 section 5.6)",
        "maximum forwarding rate",
        forwarding_rate.METRIC,
        [
            ("at an offered load of", forwarding_rate.APPLIED, _FPS),
            ("asked of each sender", forwarding_rate.INTENDED, _FPS),
            ("at the maximum offered load", forwarding_rate.AT_MAXIMUM, _FPS),
            ("maximum offered load", forwarding_rate.MAXIMUM, _FPS),
        ],
    )


def congested(facts: Facts) -> list[Block]:
    """Return what each kind of port lost and got."""
    name = congestion.METRIC
    return _section(
        facts,
        "Congestion control (RFC 2889 section 5.5)",
        "lost at the uncongested port",
        name,
        [
            ("offered to it", f"{name}.uncongested.offered", _FPS),
            ("forwarded to it", f"{name}.uncongested.forwarded", _FPS),
            ("lost at the congested port", f"{name}.congested.loss_ratio", "1"),
            ("offered to it", f"{name}.congested.offered", _FPS),
            ("forwarded to it", f"{name}.congested.forwarded", _FPS),
        ],
    )


def capacities(facts: Facts) -> list[Block]:
    """Return the size of each table."""
    return _section(
        facts,
        "Address caching capacity (RFC 2889 section 5.7)",
        "addresses known",
        caching_capacity.METRIC,
        [
            ("of the learning port", caching_capacity.LEARNED, caching_capacity.UNIT),
            ("of the learning port, flooded", caching_capacity.FLOODED, caching_capacity.UNIT),
        ],
    )


def learning_rates(facts: Facts) -> list[Block]:
    """Return the rate at which each table learns."""
    return _section(
        facts,
        "Address learning rate (RFC 2889 section 5.8)",
        "all learned at",
        learning_rate.METRIC,
        [("not all learned at", learning_rate.NOT_LEARNED, _FPS)],
    )


def illegal(facts: Facts) -> list[Block]:
    """Return how many frames of illegal size came, of how many; the remarks say pass or fail."""
    return _section(
        facts,
        "Illegal frames (RFC 2889 section 5.9)",
        "illegal frames that came",
        illegal_frames.METRIC,
        [
            ("of frames sent", illegal_frames.SENT, illegal_frames.UNIT),
            ("changed", illegal_frames.CHANGED, illegal_frames.UNIT),
        ],
    )


def broadcast_latencies(facts: Facts) -> list[Block]:
    """Return the latency of single broadcast frames, and its mean at each port that has one."""
    metric = broadcast_latency.METRIC

    def cells(one: Outcome) -> list[str]:
        mean = answer(one) if value(one, metric) is None else shown(one, metric, "ns")
        ends = (shown(one, name, "ns") for name in (broadcast_latency.LEAST, broadcast_latency.MOST))
        ports = [(port, value(one, name)) for port, name in enumerate(broadcast_latency.PORTS)]
        each = ", ".join(f"port {port}: {nanoseconds(at_ns)}" for port, at_ns in ports if at_ns is not None)
        return [mean, *ends, each or NONE]

    heading = "Latency of broadcast frames (RFC 2889 section 5.10.3)"
    head = ("mean latency of a broadcast frame", "least", "most", "mean at each port")
    return section(heading, head, facts.of_metric(metric), cells, f"Metric {metric}")


def _section(
    facts: Facts, name: str, first: str, metric: str, columns: Sequence[tuple[str, str, str]]
) -> list[Block]:
    def cells(one: Outcome) -> list[str]:
        numbers = [(value(one, key), its) for _, key, its in columns]
        told = [NONE if number is None else _told(number, its) for number, its in numbers]
        return [_answered(one, metric), *told]

    head = (first, *(column for column, _, _ in columns))
    return section(name, head, facts.of_metric(metric), cells, f"Metric {metric}")


def _answered(one: Outcome, metric: str) -> str:
    """Return the number that the metric names, alone; without one what is known in its place."""
    found = next((each for each in one.values if each.metric == metric), None)
    if one.type is not OutcomeType.MEASURED or found is None:
        return answer(one)
    return _told(found.number, found.unit)


def _told(number: float, its: str) -> str:
    return f"{100 * number:.3g}\u00a0%" if its == "1" else unit(number, its)

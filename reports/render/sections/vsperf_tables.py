"""Throughput by the worst and the best of N trials and beside changes of flows, and soak, by VSPERF."""

from __future__ import annotations

from collections.abc import Iterable

from bmwg.methodology.benchmarks import (
    alarmed_soak,
    first_frames,
    flow_changes,
    flow_scale,
    match_action,
    of_n,
)
from bmwg.methodology.mlrsearch.goal import apart
from bmwg.methodology.records import FRAMES_PER_S, Outcome, OutcomeType
from bmwg.reports.render import searches
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import HEAD, TAIL, back, bound, front, remarks, value
from bmwg.reports.render.sections.results import searched
from bmwg.reports.render.text import NONE, nanoseconds, percent, unit

SOAKS = (alarmed_soak.METRIC, alarmed_soak.MODIFIED_METRIC)
_BOUNDED = ("mean latency at the lower bound", "lower bound", "upper bound")
_DECIDES = {of_n.WORST: "the worst", of_n.BEST: "the best"}


def of_several(facts: Facts) -> list[Block]:
    """Return one row a cell for each of the two searches."""
    outcomes = [one for one in facts.outcomes if one.metric in _DECIDES]
    if not outcomes:
        return []
    rows = [
        [
            *front(one),
            _DECIDES[one.metric],
            one.statement if one.type is not OutcomeType.MEASURED else _told(one, "", FRAMES_PER_S),
            _told(one, f".{of_n.HELD_LOSSLESS}"),
            _told(one, f".{of_n.FAILED}", FRAMES_PER_S),
            _told(one, f".{of_n.FAILED_LOSSLESS}"),
            _told(one, f".{of_n.LATENCY}", "ns"),
            *back(one),
        ]
        for one in outcomes
    ]
    head = ["trial that decides", "throughput per port and direction", "trials without loss", "lost at"]
    return [
        *title("Throughput by the worst and the best of N trials (RFC 8204 5.5, LTD 3.2.2.1.13)"),
        *table(
            [*HEAD, *head, "trials without loss there", "mean latency", *TAIL],
            rows,
            f"Metrics {of_n.WORST} and {of_n.BEST}",
        ),
        *remarks(outcomes),
    ]


def coupled(facts: Facts) -> list[Block]:
    """Return one row for each number of idle flows at each rate of changes."""
    found = [(one, flow_changes.of_metric(one.metric)) for one in facts.of_metric(flow_changes.METRIC)]
    known = [(one, coupling) for one, coupling in found if coupling is not None]
    if not known:
        return []
    rows = [
        [
            *front(one),
            f"{coupling.entries:,}",
            f"{coupling.changes_per_s:,}",
            searched(one),
            _told(one, f".{of_n.LATENCY}", "ns"),
            bound(one.lower),
            bound(one.upper),
            *back(one),
        ]
        for one, coupling in known
    ]
    head = ["idle flows", "changes per second", "throughput per port and direction", *_BOUNDED]
    return [
        *title("Throughput beside changes of idle flows (RFC 8204 5.2, LTD 3.2.2.5.1)"),
        *_condition(one for one, _ in known),
        *table([*HEAD, *head, *TAIL], rows, f"Metric {flow_changes.METRIC}"),
        *remarks([one for one, _ in known]),
    ]


def scaled(facts: Facts) -> list[Block]:
    """Return one row for each number of flows."""
    kinds = {flow_scale.METRIC: "stand", flow_scale.EXPIRING_METRIC: "expire and are given again"}
    outcomes = [one for metric in kinds for one in facts.of_metric(metric)]
    outcomes.sort(key=lambda one: one.cell.flows)
    if not outcomes:
        return []
    rows = [
        [
            *front(one),
            f"{one.cell.flows:,}",
            kinds[apart(one.metric)[0]],
            searched(one),
            bound(one.lower),
            bound(one.upper),
            *back(one),
        ]
        for one in outcomes
    ]
    head = ["flows with an entry", "entries", "throughput per port and direction", *_BOUNDED[1:]]
    return [
        *title("Throughput by the number of flows (RFC 8204 5.8, LTD 3.2.2.3.1)"),
        *_condition(outcomes),
        *table([*HEAD, *head, *TAIL], rows, f"Metrics {' and '.join(kinds)}"),
        *remarks(outcomes),
    ]


def matched(facts: Facts) -> list[Block]:
    """Return one row for each match with its actions."""
    found = [(one, match_action.of_metric(one.metric)) for one in facts.of_metric(match_action.METRIC)]
    known = [(one, said) for one, said in found if said is not None]
    if not known:
        return []
    rows = [
        [
            *front(one),
            said.code,
            said.words,
            searched(one),
            _told(one, f".{of_n.LATENCY}", "ns"),
            bound(one.lower),
            bound(one.upper),
            *back(one),
        ]
        for one, said in known
    ]
    head = ["name", "flows", "throughput per port and direction", *_BOUNDED]
    return [
        *title("Throughput by what flows match and do (LTD 3.2.2.1.15)"),
        *_condition(one for one, _ in known),
        *table([*HEAD, *head, *TAIL], rows, f"Metric {match_action.METRIC}"),
        *remarks([one for one, _ in known]),
    ]


def first(facts: Facts) -> list[Block]:
    """Return one row for each cell whose flows' first frames were timed."""
    outcomes = facts.of_metric(first_frames.METRIC)
    if not outcomes:
        return []
    rows = [
        [
            *front(one),
            f"{one.cell.flows:,}",
            one.statement if one.type is not OutcomeType.MEASURED else _told(one, "", "ns"),
            _told(one, ".later", "ns"),
            *back(one),
        ]
        for one in outcomes
    ]
    head = ["flows with an entry", "mean latency of first frames", "of second frames"]
    return [
        *title("Latency of first frames (RFC 8204 5.1, LTD 3.2.2.2.1)"),
        *table([*HEAD, *head, *TAIL], rows, f"Metric {first_frames.METRIC}"),
        *remarks(outcomes),
    ]


def soaks(facts: Facts) -> list[Block]:
    """Return one row a cell."""
    outcomes = [one for one in facts.outcomes if one.metric in SOAKS]
    if not outcomes:
        return []
    rows = [
        [
            *front(one),
            one.statement if one.type is not OutcomeType.MEASURED else _told(one, "", "1"),
            _told(one, ".worst_loss_ratio", "1"),
            _told(one, ".lossy_intervals"),
            _told(one, ".alarms"),
            _told(one, ".valid_intervals"),
            _told(one, ".forwarded_least", FRAMES_PER_S),
            _told(one, ".forwarded_most", FRAMES_PER_S),
            _told(one, ".pdv_p99.median", "ns"),
            _told(one, ".pdv_p99.max", "ns"),
            *back(one),
        ]
        for one in outcomes
    ]
    head = ["frames lost", "worst interval", "lossy intervals", "alarms", "valid intervals"]
    rates = ["least forwarding rate", "highest", "delay variation (99 %), median interval", "worst interval"]
    return [
        *title("Soak at the confirmed throughput (RFC 8204 5.7, LTD 3.2.2.1.6, 3.2.2.1.7 and 3.2.2.2.2)"),
        *table([*HEAD, *head, *rates, *TAIL], rows, f"Metrics {' and '.join(SOAKS)}"),
        *remarks(outcomes),
    ]


def _condition(outcomes: Iterable[Outcome]) -> list[Block]:
    """Say under which condition these are throughputs; nothing of those without loss by RFC 2544."""
    said = dict.fromkeys(filter(None, (searches.condition_alone(one.metric) for one in outcomes)))
    return [block for text in said for block in paragraph(text)]


def _told(one: Outcome, part: str, unit_name: str = "") -> str:
    number = value(one, f"{one.metric}{part}")
    if number is None:
        return NONE
    if unit_name == "ns":
        return nanoseconds(number)
    if unit_name == "1":
        return percent(number)
    return unit(number, unit_name) if unit_name else str(number)

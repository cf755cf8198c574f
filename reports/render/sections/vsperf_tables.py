"""Throughput by the worst and the best of N trials and beside changes of flows, and soak, by VSPERF."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
from bmwg.reports.render.blocks import Block, paragraph
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.sections.common_columns import back, bound, front, laid_out, section, value
from bmwg.reports.render.sections.results import searched
from bmwg.reports.render.text import NONE, nanoseconds, percent, unit

SOAKS = (alarmed_soak.METRIC, alarmed_soak.MODIFIED_METRIC)
_THROUGHPUT = "throughput per port and direction"
_BOUNDED = ("mean latency at the lower bound", "lower bound", "upper bound")
_DECIDES = {of_n.WORST: "the worst", of_n.BEST: "the best"}


def of_several(facts: Facts) -> list[Block]:
    """Return one row a cell for each of the two searches."""
    return section(
        "Throughput by the worst and the best of N trials (RFC 8204 5.5, LTD 3.2.2.1.13)",
        [
            "trial that decides",
            _THROUGHPUT,
            "trials without loss",
            "lost at",
            "trials without loss there",
            "mean latency",
        ],
        [one for one in facts.outcomes if one.metric in _DECIDES],
        lambda one: [
            _DECIDES[one.metric],
            _measured(one, FRAMES_PER_S),
            _told(one, f".{of_n.HELD_LOSSLESS}"),
            _told(one, f".{of_n.FAILED}", FRAMES_PER_S),
            _told(one, f".{of_n.FAILED_LOSSLESS}"),
            _told(one, f".{of_n.LATENCY}", "ns"),
        ],
        f"Metrics {of_n.WORST} and {of_n.BEST}",
    )


def coupled(facts: Facts) -> list[Block]:
    """Return one row for each number of idle flows at each rate of changes."""
    found = [(one, flow_changes.of_metric(one.metric)) for one in facts.of_metric(flow_changes.METRIC)]
    return _searched(
        "Throughput beside changes of idle flows (RFC 8204 5.2, LTD 3.2.2.5.1)",
        ("idle flows", "changes per second"),
        [(one, f"{said.entries:,}", f"{said.changes_per_s:,}") for one, said in found if said is not None],
        flow_changes.METRIC,
    )


def scaled(facts: Facts) -> list[Block]:
    """Return one row for each number of flows."""
    kinds = {flow_scale.METRIC: "stand", flow_scale.EXPIRING_METRIC: "expire and are given again"}
    found = (one for metric in kinds for one in facts.of_metric(metric))
    answers = sorted(found, key=lambda one: one.cell.flows)
    return section(
        "Throughput by the number of flows (RFC 8204 5.8, LTD 3.2.2.3.1)",
        ["flows with an entry", "entries", _THROUGHPUT, *_BOUNDED[1:]],
        answers,
        lambda one: [
            f"{one.cell.flows:,}",
            kinds[apart(one.metric)[0]],
            searched(one),
            bound(one.lower),
            bound(one.upper),
        ],
        f"Metrics {' and '.join(kinds)}",
        _condition(answers),
    )


def matched(facts: Facts) -> list[Block]:
    """Return one row for each match with its actions."""
    found = [(one, match_action.of_metric(one.metric)) for one in facts.of_metric(match_action.METRIC)]
    return _searched(
        "Throughput by what flows match and do (LTD 3.2.2.1.15)",
        ("name", "flows"),
        [(one, said.code, said.words) for one, said in found if said is not None],
        match_action.METRIC,
    )


def first(facts: Facts) -> list[Block]:
    """Return one row for each cell whose flows' first frames were timed."""
    return section(
        "Latency of first frames (RFC 8204 5.1, LTD 3.2.2.2.1)",
        ["flows with an entry", "mean latency of first frames", "of second frames"],
        facts.of_metric(first_frames.METRIC),
        lambda one: [f"{one.cell.flows:,}", _measured(one, "ns"), _told(one, ".later", "ns")],
        f"Metric {first_frames.METRIC}",
    )


def soaks(facts: Facts) -> list[Block]:
    """Return one row a cell."""
    head = ["frames lost", "worst interval", "lossy intervals", "alarms", "valid intervals"]
    rates = ["least forwarding rate", "highest", "delay variation (99 %), median interval", "worst interval"]
    return section(
        "Soak at the confirmed throughput (RFC 8204 5.7, LTD 3.2.2.1.6, 3.2.2.1.7 and 3.2.2.2.2)",
        [*head, *rates],
        [one for one in facts.outcomes if one.metric in SOAKS],
        lambda one: [
            _measured(one, "1"),
            _told(one, ".worst_loss_ratio", "1"),
            _told(one, ".lossy_intervals"),
            _told(one, ".alarms"),
            _told(one, ".valid_intervals"),
            _told(one, ".forwarded_least", FRAMES_PER_S),
            _told(one, ".forwarded_most", FRAMES_PER_S),
            _told(one, ".pdv_p99.median", "ns"),
            _told(one, ".pdv_p99.max", "ns"),
        ],
        f"Metrics {' and '.join(SOAKS)}",
    )


def _searched(
    heading: str, named: tuple[str, str], found: Sequence[tuple[Outcome, str, str]], metric: str
) -> list[Block]:
    """Return a row for each answer of a search: two words of what it was of, the rate, latency and bounds."""
    rows = [
        [
            *front(one),
            *words,
            searched(one),
            _told(one, f".{of_n.LATENCY}", "ns"),
            bound(one.lower),
            bound(one.upper),
            *back(one),
        ]
        for one, *words in found
    ]
    answers = [one for one, *_ in found]
    head = [*named, _THROUGHPUT, *_BOUNDED]
    return laid_out(heading, head, answers, rows, f"Metric {metric}", _condition(answers))


def _condition(outcomes: Iterable[Outcome]) -> list[Block]:
    """Say under which condition these are throughputs; nothing of those without loss by RFC 2544."""
    said = searches.conditions(outcomes)
    return paragraph(said) if said else []


def _measured(one: Outcome, unit_name: str) -> str:
    """Return the value of an answer; its statement, where none was measured."""
    return one.statement if one.type is not OutcomeType.MEASURED else _told(one, "", unit_name)


def _told(one: Outcome, part: str, unit_name: str = "") -> str:
    number = value(one, f"{one.metric}{part}")
    if number is None:
        return NONE
    if unit_name == "ns":
        return nanoseconds(number)
    if unit_name == "1":
        return percent(number)
    return unit(number, unit_name) if unit_name else str(number)

"""Back-to-back frames, system recovery, reset, and throughput under modifiers, as their documents ask."""

from __future__ import annotations

from bmwg.methodology.benchmarks import back_to_back as bursts
from bmwg.methodology.benchmarks import recovery as outages
from bmwg.methodology.measurements.modifiers import METRIC as MODIFIED
from bmwg.methodology.records import Outcome
from bmwg.reports.render.common_columns import HEAD, TAIL, back, bound, front, rate, value
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.results import answer, remarks
from bmwg.reports.render.text import NONE, esc, table, title, unit


def back_to_back(facts: Facts) -> list[str]:
    """Return the bursts and buffer times (RFC 9004 6.4, RFC 2544 26.4)."""
    found = facts.of_metric(bursts.METRIC)
    if not found:
        return []
    rows = [
        [
            *front(one),
            rate(one, facts),
            *(
                _number(one, f"{bursts.METRIC}{part}", "frames")
                for part in ("", ".min", ".max", ".deviation")
            ),
            *(_micro(one, f"buffer_time.rfc9004.{kind}") for kind in ("implied", "corrected")),
            *back(one),
        ]
        for one in found
    ]
    head = [*HEAD, "rate of the burst", "average burst", "least", "most", "standard deviation"]
    return [
        *title("Back-to-back frames", 1),
        *table(
            [*head, "implied buffer time", "corrected buffer time", *TAIL], rows, f"Metric {bursts.METRIC}"
        ),
        *remarks(found),
    ]


def recovery(facts: Facts) -> list[str]:
    """Return the recovery times (RFC 2544 26.5)."""
    return _times(facts, facts.of_metric(outages.RECOVERY_METRIC), "System recovery", "overload")


def reset(facts: Facts) -> list[str]:
    """Return the reset times (RFC 6201), each kind with its own."""
    found = [one for one in facts.outcomes if one.metric.startswith(f"{outages.RESET_METRIC}.")]
    return _times(facts, found, "Reset", "load")


def modifiers(facts: Facts) -> list[str]:
    """Return the throughput under each modifier (RFC 2544 11)."""
    found = [one for one in facts.outcomes if one.metric.startswith(f"{MODIFIED}.")]
    if not found:
        return []
    rows = [
        [*front(one), esc(_last(one)), answer(one), bound(one.lower), bound(one.upper), *back(one)]
        for one in found
    ]
    head = [*HEAD, "modifier", "throughput per port and direction", "lower bound", "upper bound", *TAIL]
    return [
        *title("Throughput under modifiers", 1),
        *table(head, rows, f"Metrics {MODIFIED} and the modifier"),
        *remarks(found),
    ]


def _times(facts: Facts, found: list[Outcome], name: str, load: str) -> list[str]:
    if not found:
        return []
    rows = [
        [
            *front(one),
            esc(_last(one)),
            rate(one, facts),
            *(_number(one, f"{one.metric}{part}", "ms") for part in ("", ".min", ".max", ".deviation")),
            *back(one),
        ]
        for one in found
    ]
    head = [*HEAD, "what", load, "average time", "least", "most", "standard deviation", *TAIL]
    return [*title(name, 1), *table(head, rows, f"{name}, one row a cell"), *remarks(found)]


def _last(outcome: Outcome) -> str:
    if outcome.metric == outages.RECOVERY_METRIC:
        return "an overload ends"
    return outcome.metric.rpartition(".")[2].replace("_", " ")


def _number(outcome: Outcome, metric: str, named: str) -> str:
    found = value(outcome, metric)
    return NONE if found is None else esc(unit(round(found, 3), named))


def _micro(outcome: Outcome, metric: str) -> str:
    found = value(outcome, metric)
    return NONE if found is None else esc(unit(round(found * 1e6, 1), "µs"))

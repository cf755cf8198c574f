"""Each time and count of a repetition has its bound; what an honest client tells lies within it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.methodology.kinds.requests.records import Repetition, Workload
from bmwg.reports.kinds.requests.physics import beyond_rate, executions
from bmwg.reports.verify.timing import contradictions, outside, too_close, too_short

BEGAN = "2026-05-01T00:00:00.000000Z"
MS = 1_000_000
HONEST: dict[str, Any] = {
    "cell_id": "c",
    "number": 1,
    "phase": "measured",
    "asked_requests": 100,
    "requests": 100,
    "body_octets": 100_000,
    "elapsed_ns": 500 * MS,
    "mean_request_ns": 10 * MS,
    "process_ns": 510 * MS,
    "wall_ns": 600 * MS,
    "request_ns": {"max": 30 * MS},
    "hits": 0,
    "proxied": 100,
}


def wrong(workload: Workload = Workload.AB, *, at_ms: int = 700, **changes: Any) -> list[str]:
    one = Repetition(**(HONEST | changes))
    cell = SimpleNamespace(workload=workload, clients=2, object_octets=1000)
    lines = [(1, f"2026-05-01T00:00:00.{at_ms * 1000:06d}Z", one)] * 3
    plan: Any = {"c": SimpleNamespace(cell=cell)}
    told = executions(
        "http.jsonl", BEGAN, [(n, f"2026-05-01T00:00:0{n}.5Z", one) for n, _, one in lines], plan
    )
    return [where for where, _, _ in (*too_short(told[:1]), *contradictions(told[:1]))]


def test_an_honest_repetition_is_within_every_bound() -> None:
    assert wrong() == []
    assert wrong(Workload.JMETER, warm_up_ns=90 * MS, mean_request_ns=9 * MS) == []
    assert wrong(faults=("ab: exit status 22",), requests=0, elapsed_ns=900 * MS) == []


@pytest.mark.parametrize(
    ("workload", "changes", "what"),
    [
        (Workload.AB, {"process_ns": 700 * MS}, "wall time"),
        (Workload.AB, {"elapsed_ns": 700 * MS, "mean_request_ns": 14 * MS}, "wall time"),
        (Workload.JMETER, {"warm_up_ns": 200 * MS}, "wall time"),
        (Workload.AB, {"mean_request_ns": 5 * MS}, "mean_request_ns"),
        (Workload.JMETER, {"mean_request_ns": 20 * MS}, "time of all requests, ns"),
        (Workload.JMETER, {"request_ns": {"max": 3 * MS}}, "longest request, ns"),
        (Workload.JMETER, {"request_ns": {"p50": 9 * MS, "p99": 8 * MS, "max": 30 * MS}}, "request_ns p99"),
        (Workload.AB, {"ttfb_ns": {"p99.9": 9 * MS, "max": 8 * MS}}, "ttfb_ns max"),
        (Workload.AB, {"request_ns": {"max": 700 * MS}}, "longest request, ns"),
        (Workload.AB, {"requests": 101, "body_octets": 101_000, "mean_request_ns": 9_900_990}, "requests"),
        (Workload.AB, {"hits": 101}, "hits"),
        (Workload.AB, {"body_octets": 99_000}, "body_octets"),
        (Workload.OPEN_LOOP, {"rate_rps": 100}, "requests that were due"),
        (Workload.OPEN_LOOP, {"rate_rps": 1000}, "requests that were due"),
    ],
)
def test_each_bound_is_held(workload: Workload, changes: dict[str, Any], what: str) -> None:
    found = wrong(workload, **changes)
    assert found
    assert {where.split(": ")[-1] for where in found} == {what}


def lines(*stamps: str) -> list[tuple[int, str, Repetition]]:
    return [(number, at, Repetition(**HONEST)) for number, at in enumerate(stamps, start=1)]


def test_lines_that_are_too_close_and_outside_of_the_run() -> None:
    close = lines(*(f"2026-05-01T00:00:00.{n:06d}Z" for n in range(5)))
    assert len(list(too_close(executions("j", BEGAN, close, {})))) == 5
    one = lines("2026-05-01T00:00:01Z", "2026-05-01T00:00:01.2Z", "2026-05-01T00:00:03Z")
    assert list(too_close(executions("j", BEGAN, one, {}))) == []  # a clock that was set
    late = executions("j", BEGAN, lines("2026-05-01T00:00:01Z"), {})
    assert len(list(outside(late, BEGAN, BEGAN))) == 1
    assert len(list(outside(late, "2019-05-01T00:00:00Z", None))) == 1


def test_no_repetition_moves_more_than_the_medium_carries() -> None:
    one = lines("2026-05-01T00:00:01Z")
    assert list(beyond_rate(one, "j", None)) == []
    assert list(beyond_rate(one, "j", 10_000_000)) == []
    assert len(list(beyond_rate(one, "j", 1_000_000))) == 1

"""Each time and count of a repetition has its bound; what an honest client tells lies within it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.methodology.records import Validity
from bmwg.reports.kinds.requests.physics import PHYSICS, within_line_rate
from bmwg.reports.verify.timing import contradictions, outside, too_close, too_short

BEGAN = "2026-05-01T00:00:00.000000Z"
MS = 1_000_000
HONEST: dict[str, Any] = {
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


def lines(
    *stamps: str,
    workload: Workload = Workload.AB,
    rate_rps: int = 0,
    validity: Validity = Validity.VALID,
    **changes: Any,
) -> Any:
    """A journal with the same repetition at each of some times."""
    spec = RequestsSpec(
        workload=workload, object_octets=1000, clients=2, asked_requests=100, rate_rps=rate_rps, number=1
    )
    body = REQUESTS.body_of(spec, RequestsResult(**(HONEST | changes)), {})
    executions = [
        SimpleNamespace(seq=seq, at=at, body=body, validity=validity)
        for seq, at in enumerate(stamps, start=1)
    ]
    begins = dict(enumerate((BEGAN, *stamps), start=1))
    return SimpleNamespace(executions=executions, begins=begins, findings=(), line_rate_bps=None)


def wrong(workload: Workload = Workload.AB, **changes: Any) -> list[str]:
    told = PHYSICS.executions(lines("2026-05-01T00:00:01.5Z", workload=workload, **changes))
    return [where for where, _, _ in (*too_short(told), *contradictions(told))]


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


def test_what_an_incomplete_repetition_counted_is_held_as_well() -> None:
    """The share of requests that failed is of such repetitions, too."""
    assert wrong(validity=Validity.INCOMPLETE, failed=1) == []
    assert wrong(validity=Validity.INCOMPLETE, failed=101)


def test_lines_that_are_too_close_and_outside_of_the_run() -> None:
    close = lines(*(f"2026-05-01T00:00:00.{n:06d}Z" for n in range(5)))
    assert len(list(too_close(PHYSICS.executions(close)))) == 5
    one = lines("2026-05-01T00:00:01Z", "2026-05-01T00:00:01.2Z", "2026-05-01T00:00:03Z")
    assert list(too_close(PHYSICS.executions(one))) == []  # a clock that was set
    late = PHYSICS.executions(lines("2026-05-01T00:00:01Z"))
    assert len(list(outside(late, BEGAN, BEGAN))) == 1
    assert len(list(outside(late, "2019-05-01T00:00:00Z", None))) == 1


@pytest.mark.parametrize(("rate_bps", "count"), [(None, 0), (10_000_000, 0), (1_000_000, 1)])
def test_no_repetition_moves_more_than_the_medium_carries(rate_bps: int | None, count: int) -> None:
    evidence = lines("2026-05-01T00:00:01Z")
    evidence.line_rate_bps = rate_bps
    assert len(list(within_line_rate.check(evidence))) == count


@pytest.mark.parametrize(("took_s", "count"), [(5, 0), (3, 1)])
def test_transactions_have_the_clients_whole_time_for_their_octets(took_s: int, count: int) -> None:
    """Those due in the sustain phase may be answered after it, and held connections ask before it."""
    octets = 4_000_000
    phase = Sustained(
        interval_ns=1000 * MS,
        requests_per_connection=1,
        due_connections=4_000,
        opened=4_000,
        tried=4_000,
        body_octets=octets,
        completed=(1_000, 1_000),
        open_ns=(MS, MS),
        objects=((1000, 4_000),),
    )
    evidence = lines(
        "2026-05-01T00:00:09Z",
        workload=Workload.TRANSACTIONS,
        rate_rps=2_000,
        sustain=phase,
        elapsed_ns=2_000 * MS,
        process_ns=took_s * 1000 * MS,
        body_octets=octets,
    )
    evidence.line_rate_bps = 8_000_000
    assert len(list(within_line_rate.check(evidence))) == count

"""Sustain phases of made functions, and the search over them: what a client would have counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.http import made as cells

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.requests import rate_search
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.kinds.requests.sustained import Sustained
from bmwg.methodology.records import OutcomeType

SECOND_NS = 1_000_000_000


def phase(**changes: Any) -> Sustained:
    """A sustain phase of 10 s at 1,000 transactions a second that meets all criteria."""
    fields: dict[str, Any] = {
        "interval_ns": SECOND_NS,
        "requests_per_connection": 1,
        "due_connections": 10_000,
        "opened": 10_000,
        "tried": 10_000,
        "body_octets": 10_000_000,
        "objects": ((1000, 10_000),),
        "completed": (1_000,) * 10,
        "open_ns": (20 * SECOND_NS,) * 10,
    }
    return Sustained(**{**fields, **changes})


def modelled(
    of: Any,
    limit: int,
    tires_after_s: float = 1e9,
    client: int = 1 << 30,
    broken: int = 0,
    client_cpu: int = 1 << 30,
    pauses: frozenset[int] = frozenset(),
) -> list[Tried[RequestsResult]]:
    """Search over a function that carries `limit`, or 0.9 of it for longer; return what was recorded.

    The client offers no more than `client` requests a second, and at the load `broken` one of them fails. At
    `client_cpu` its CPU is full, and it reads no more answers. In the trials `pauses` the machine
    stands still, and half is carried.
    """
    recorded: list[Tried[RequestsResult]] = []

    def measure(spec: RequestsSpec) -> Tried[RequestsResult]:
        carried = limit if spec.duration_s < tires_after_s else limit * 9 // 10
        carried = min(spec.load, carried) // 2 if len(recorded) + 1 in pauses else carried
        seconds = int(spec.duration_s)
        if spec.held_connections:
            least = min(spec.held_connections, carried)
            told = phase(held_connections=spec.held_connections, least_open=least)
        else:
            done = min(spec.rate_rps, carried, client_cpu)
            told = phase(
                due_connections=spec.rate_rps * seconds,
                opened=spec.rate_rps * seconds,
                tried=spec.rate_rps * seconds,
                completed=(done,) * seconds,
                open_ns=(5 * SECOND_NS,) * seconds,
                client_ns=done * SECOND_NS * seconds // client_cpu,
                failures={"status 503": 1} if spec.rate_rps == broken else {},
                first_octet_ns={"min": 1, "mean": 2, "p50": 2, "p90": 3, "p99": 4, "max": spec.rate_rps},
            )
        unsent = max(0, spec.rate_rps - client) * seconds
        result = RequestsResult(
            asked_requests=told.tried,
            requests=told.tried,
            failed=told.failed,
            probes=cells.RIGHT,
            sustain=told,
            unsent_requests=unsent,
        )
        recorded.append(REQUESTS.tried(len(recorded) + 1, spec, result, "d1"))
        return recorded[-1]

    rate_search.search(measure, of.spec)
    return recorded


SETTINGS = {
    "min_rps": 100,
    "max_rps": 1000,
    "duration_s": 3,
    "relative_width": 0.02,
    "max_latency_ms": 2000,
    "max_repeats": 1,
    "ramp_s": 1.0,
    "sustain_s": 10,
}


def planned(**settings: Any) -> Any:
    """Return a planned cell of connections per second."""
    search = {**SETTINGS, **settings}
    spec = cells.spec(
        experiment="connections_per_second",
        workload=Workload.TRANSACTIONS,
        function="nginx",
        late_ms=2000,
        ramp_s=search["ramp_s"],
        search=search,
    )
    metric = "concurrent_connections" if settings.get("holds") else "connection_rate"
    return replace(cells.planned(spec), metric=metric)


def values(of: Any, recorded: list[Tried[RequestsResult]]) -> dict[str, float]:
    """Return the numbers of the answer, by the last part of their names."""
    found = REQUESTS.answered(of, recorded)
    assert found.type is OutcomeType.MEASURED, found.reason
    return {one.metric.removeprefix(f"{of.metric}."): one.number for one in found.values}

"""What a load of TRex comes to as a repetition, and what a search makes of a generator at its own limit."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.http import made as cells

from bmwg.drivers.traffic.trex.astf_counts import HttpReading, SideCounts
from bmwg.drivers.traffic.trex.astf_load import HttpExchange, HttpLoad
from bmwg.drivers.traffic.trex.astf_sent import HttpSent
from bmwg.drivers.workload import probe
from bmwg.drivers.workload import trex_astf as astf
from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.requests import profile, rate, rate_search
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.schemas.validation import problems_of

SETTINGS = {
    "min_rps": 10,
    "max_rps": 1000,
    "duration_s": 2,
    "relative_width": 0.1,
    "max_latency_ms": 500,
    "max_repeats": 1,
}
PLANNED = cells.planned(cells.spec(experiment="request_rate", workload=Workload.TREX_ASTF, search=SETTINGS))
LOAD = HttpLoad(
    exchanges=(HttpExchange(request=b"GET / HTTP/1.1\r\n\r\n", response_octets=1200, times=2),),
    port=3128,
    connections=100,
    connections_per_s=50.0,
    late_s=0.5,
    clients=("198.18.64.1", "198.18.64.9"),
    servers=("198.18.1.1", "198.18.1.1"),
)


def side(**counts: int) -> SideCounts:
    zero = {name: 0 for name in SideCounts.__dataclass_fields__ if name != "errors"}
    return SideCounts(**{**zero, **counts})


def sent(**counts: int) -> HttpSent:
    whole = {"begun": 100, "established": 100, "closed": 100, "complete": 200, "received_octets": 240_000}
    reading = HttpReading(clients=side(**(whole | counts)), servers=side())
    return HttpSent(load=LOAD, reading=reading, beginning_ns=(1_990_000_000, 2_010_000_000), waited_ns=4)


def test_a_load_without_loss_is_a_whole_repetition() -> None:
    found = astf.counted_of(sent(), object_octets=1000)
    assert (found.asked_requests, found.requests, found.failed) == (200, 200, 0)
    assert found.body_octets == 200 * 1000
    assert found.unsent_requests == 0
    assert found.faults == ()
    assert found.generator["connections_established"] == 100


def test_late_answers_are_failed_ones_and_said_apart() -> None:
    found = astf.counted_of(sent(late=3), object_octets=1000)
    assert found.failed == 3
    assert found.generator["late_answers"] == 3


def test_a_lost_server_is_a_fault_and_no_count() -> None:
    found = astf.counted_of(HttpSent(load=LOAD, reading=None, fault="TRex was lost"), object_octets=1000)
    assert found.faults == ("TRex was lost",)
    assert found.requests == 0


def test_a_repetition_of_trex_is_kept_whole_in_the_journal() -> None:
    one = replace(astf.counted_of(sent(), object_octets=1000), probes=((200, True),))
    body = REQUESTS.body_of(replace(PLANNED.spec, rate_rps=100, number=1), one, {})
    whole = {"spec": body.spec, "result": json.loads(json.dumps(body.result))}
    assert problems_of(whole, REQUESTS.schema) == []
    assert whole["result"]["generator"] == one.generator
    assert whole["result"]["unsent_requests"] == one.unsent_requests


def made(proxy_rps: int, trex_rps: int) -> list[Tried[RequestsResult]]:
    """Search over a proxy that loses above one rate with a generator that is short above another."""
    recorded: list[Tried[RequestsResult]] = []

    def measure(spec: RequestsSpec) -> Tried[RequestsResult]:
        due = spec.intended
        one = RequestsResult(
            asked_requests=due,
            requests=due,
            failed=max(0, due - round(proxy_rps * spec.duration_s)),
            unsent_requests=5 if spec.rate_rps > trex_rps else 0,
            probes=cells.RIGHT,
        )
        recorded.append(REQUESTS.tried(len(recorded) + 1, spec, one, "d1"))
        return recorded[-1]

    rate_search.search(measure, PLANNED.spec)
    return recorded


def test_a_generator_above_the_proxy_does_not_hide_its_limit() -> None:
    found = REQUESTS.answered(PLANNED, made(proxy_rps=300, trex_rps=600))
    assert found.type is OutcomeType.MEASURED
    assert 250 < found.values[0].number <= 300


def test_a_generator_below_the_proxy_is_said_and_no_number_of_the_proxy() -> None:
    found = REQUESTS.answered(PLANNED, made(proxy_rps=600, trex_rps=300))
    assert found.type is OutcomeType.TESTER_LIMITED
    assert found.values == ()
    assert "no request was lost up to" in found.reason
    assert "frames" not in found.reason


def test_a_short_repetition_is_never_a_bound() -> None:
    recorded = made(proxy_rps=600, trex_rps=300)
    short = next(one for one in recorded if one.result.unsent_requests)
    assert rate.judged(1, short.result, short.spec).validity is Validity.SENT_SHORT


def test_the_profile_asks_for_trex_on_every_form() -> None:
    plan = profile.load("trex").plan()
    assert {planned.spec.workload for planned in plan} == {Workload.TREX_ASTF}
    assert all(not planned.spec.cache for planned in plan)  # a cache writes heads of changing length
    assert Workload.TREX_ASTF.is_open_loop
    assert not Workload.AB.is_open_loop


def test_a_machine_without_trex_is_told_so_with_the_line_that_mends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("BMWG_TREX_DIR", raising=False)
    lack = astf.lacking()
    assert lack is not None
    assert "BMWG_TREX_DIR" in lack.mend


def test_the_request_is_one_that_proxies_take() -> None:
    url = "http://198.18.2.2:80/1000.bin"
    lines = astf.request_of(url, last=False).split(b"\r\n")
    assert lines[0] == b"GET http://198.18.2.2:80/1000.bin HTTP/1.1"
    assert b"Host: 198.18.2.2:80" in lines
    assert lines[-2:] == [b"", b""]
    assert b"Connection: close" not in lines
    assert b"Connection: close" in astf.request_of(url, last=True).split(b"\r\n")


ANSWERS = [
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 43, ""),
    (b"HTTP/1.1 200 OK\r\ncontent-length:5\r\nX: y\r\n\r\nhello", 200, 48, ""),
    (b"HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", 503, 40, ""),
    (b"HTTP/1.1 200 OK\r\n\r\nhello", 0, 0, "no Content-Length"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", 200, 0, "ended after 43"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhello", 200, 0, "43 octets came, of 40"),
    (b"", 0, 0, "ended after 0"),
]


@pytest.mark.parametrize(("answer", "status", "octets", "fault"), ANSWERS)
def test_the_octets_of_an_answer_are_measured(answer: bytes, status: int, octets: int, fault: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            taken, _ = server.accept()
            with taken:
                taken.recv(1000)
                taken.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        found = probe.exchange(address="127.0.0.1", port=port, request="GET / HTTP/1.1\r\n\r\n")
        thread.join(10)
    assert (found["status"], found["octets"]) == (status, octets)
    assert fault in found["fault"]
    assert bool(fault) == bool(found["fault"])


class Answering:
    """The clients' node of a row whose proxy gives answers of these lengths."""

    def __init__(self, *octets: int) -> None:
        self.client = self
        self.octets = list(octets)

    def call(self, function: str, **arguments: object) -> dict[str, object]:
        return {"status": 200, "octets": self.octets.pop(0), "head_octets": 100, "fault": ""}


def settled(*octets: int) -> int:
    clients = astf.AstfClients(Answering(*octets), Path("/nonexistent"))  # type: ignore[arg-type]
    return clients._settled("198.18.1.1", 3128, b"GET")


def test_the_length_of_an_answer_is_one_that_two_in_a_row_have() -> None:
    assert settled(1318, 1316, 1316) == 1316
    assert settled(1316, 1316) == 1316
    with pytest.raises(DriverError, match="PROBE-03"):
        settled(1, 2, 3, 4, 5)


def test_an_answer_that_does_not_end_meets_its_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = probe.exchange(address="127.0.0.1", port=port, request="GET /\r\n\r\n", within_s=0.2)
    assert found["octets"] == 0
    assert found["fault"]

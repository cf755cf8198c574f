"""netperf's keys: what is read of them, and that nothing else becomes a number."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bmwg.drivers.workload.netperf import Netperf, client, read, require_version
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams.kind import STREAMS
from bmwg.methodology.kinds.streams.records import Crossing, Exchange, StreamsSpec, Transport, Way
from bmwg.methodology.records import Validity
from bmwg.reports.kinds.streams.physics import PHYSICS

DATA = Path(__file__).parents[2] / "data" / "workloads"


def spec(**changes) -> StreamsSpec:
    """What the kept outputs were made with: netperf 2.7.0 over loopback."""
    told = {
        "workload": "netperf",
        "transport": Transport.TCP,
        "exchange": Exchange.BULK,
        "way": Way.FORWARD,
        "parallel": 1,
        "message_octets": 131072,
        "window_octets": 20100,
        "load_bps": 0,
        "duration_s": 1.0,
        "omit_s": 0,
    }
    return StreamsSpec(**{**told, **changes})


UDP = spec(transport=Transport.UDP, message_octets=3100, window_octets=0)
TRIPS = spec(exchange=Exchange.PING_PONG, message_octets=64, window_octets=0)


def output(name: str) -> str:
    """An output of netperf 2.7.0, as it wrote it."""
    return (DATA / f"netperf-2.7.0-{name}.txt").read_text()


def ran(text: str, **changes):
    return {"output": text, "errors": "", "status": 0, "fault": "", "process_ns": 1_100_000_000, **changes}


def test_a_transfer_gives_what_arrived_and_the_buffers_as_asked_and_as_in_force() -> None:
    found = read(ran(output("tcp")), spec())
    told = dict(re.findall(r"^([A-Z_]+)=(.*)$", output("tcp"), re.M))
    assert found.received_octets == int(told["REMOTE_BYTES_RECVD"]) > 0
    assert found.received_octets > int(told["LOCAL_BYTES_SENT"])  # the write that the end cut off
    assert found.sent_octets == found.received_octets
    assert found.effective["send_buffer_asked_octets"] == 20100
    assert found.effective["send_buffer_octets"] == 40200  # Linux doubles
    assert found.retransmits is not None


def test_more_than_one_write_beyond_what_was_sent_stays_a_contradiction() -> None:
    found = read(ran(re.sub(r"LOCAL_BYTES_SENT=.*", "LOCAL_BYTES_SENT=131072", output("tcp"))), spec())
    crossed = (Crossing(at="a", octets=found.received_octets + 1, frames=1),)
    assert STREAMS.assessed(spec(), replace(found, crossings=crossed)).validity is Validity.INCONSISTENT


def test_a_size_below_the_kernels_least_is_told_as_raised() -> None:
    found = read(ran(output("tcp-least")), spec(window_octets=100))
    assert found.effective["send_buffer_asked_octets"] == 100
    assert found.effective["send_buffer_octets"] == 4608


def test_nothing_that_arrived_is_no_measurement_and_no_zero() -> None:
    """As netperf itself told it over loopback once, with a buffer of 100 octets asked for."""
    text = re.sub(r"(LOCAL_BYTES_SENT|REMOTE_BYTES_RECVD)=.*", r"\1=0", output("tcp-least"))
    asked = spec(window_octets=100)
    found = read(ran(text), asked)
    judged = STREAMS.assessed(asked, replace(found, crossings=(Crossing(at="a", octets=0, frames=0),)))
    assert judged.validity is Validity.INCOMPLETE
    assert "nothing arrived" in judged.reason


def test_datagrams_that_arrived_are_what_the_receiver_counted() -> None:
    found = read(ran(output("udp")), UDP)
    assert found.sent_octets == found.sent_messages * 3100
    assert found.received_octets == found.received_messages * 3100
    assert 0 <= (found.lost_ratio or 0) < 1
    assert found.retransmits is None


def test_round_trips_are_counted_and_timed() -> None:
    found = read(ran(output("tcp-rr")), TRIPS)
    assert found.round_trips > 0
    assert found.round_trip_ns["min"] <= found.round_trip_ns["p50"] <= found.round_trip_ns["max"]
    assert found.mean_round_trip_ns * found.round_trips <= found.elapsed_ns * 1.02


@pytest.mark.parametrize(("trips", "unanswered"), [(522, 0), (520, 0), (400, 1), (3, 1)])
def test_a_client_that_stood_until_its_end_had_one_request_without_an_answer(trips, unanswered) -> None:
    """It was a valid execution that told none, and `verify` said that its times cannot be."""
    text = re.sub(r"(LOCAL_BYTES_SENT|REMOTE_BYTES_RECVD)=.*", rf"\1={trips * 64}", output("tcp-rr"))
    asked = replace(TRIPS, transport=Transport.UDP)
    found = read(ran(text.replace("PROTOCOL=TCP", "PROTOCOL=UDP")), asked)
    assert found.lost_messages == unanswered
    assert found.round_trips == trips - unanswered
    crossed = (Crossing(at="a", octets=found.received_octets, frames=trips),)
    assert STREAMS.assessed(asked, replace(found, crossings=crossed)).validity is Validity.VALID
    (busy,) = (one for one in PHYSICS.counts(asked, found) if one.what == "time of all round trips, ns")
    assert (busy.least or 0) <= busy.found <= (busy.most or 0)


@pytest.mark.parametrize(
    "broken",
    [
        output("tcp")[: len(output("tcp")) // 2],
        "",
        output("tcp").replace("LSS_SIZE_END=", "LSS_SIZE_NOW="),
        re.sub(r"REMOTE_BYTES_RECVD=.*", "REMOTE_BYTES_RECVD=many", output("tcp")),
        re.sub(r"REMOTE_BYTES_RECVD=.*", "REMOTE_BYTES_RECVD=-5", output("tcp")),
        re.sub(r"ELAPSED_TIME=.*", "ELAPSED_TIME=0.00", output("tcp")),
        re.sub(r"PROTOCOL=.*", "PROTOCOL=UDP", output("tcp")),
        re.sub(r"LOCAL_SEND_SIZE=.*", "LOCAL_SEND_SIZE=64", output("tcp")),
        re.sub(r"LSS_SIZE_REQ=.*", "LSS_SIZE_REQ=100", output("tcp")),
    ],
    ids=["truncated", "empty", "renamed", "words", "negative", "no-time", "protocol", "message", "buffer"],
)
def test_an_output_that_is_not_as_the_version_writes_it_is_refused(broken) -> None:
    with pytest.raises(DriverError, match="NETP-02"):
        read(ran(broken), spec())


def test_datagrams_that_do_not_come_out_even_are_refused() -> None:
    with pytest.raises(DriverError, match="NETP-02"):
        read(ran(re.sub(r"REMOTE_BYTES_RECVD=.*", "REMOTE_BYTES_RECVD=3101", output("udp"))), UDP)


def test_a_failure_is_a_fault_in_the_programs_words() -> None:
    found = read(ran("", status=1, errors="establish control: are you sure there is a netserver"), spec())
    assert "netserver" in found.faults[0]
    assert read(ran("", fault="netperf did not end within 3 s"), spec()).faults


def test_another_version_is_refused_by_name() -> None:
    assert require_version("Netperf version 2.7.0\n") == "2.7.0"
    for other in ("Netperf version 2.6.0", "", "sh: netperf: not found"):
        with pytest.raises(TestbedError, match="NETP-01"):
            require_version(other)


@pytest.mark.parametrize(
    "asked",
    [
        spec(way=Way.REVERSE),
        spec(parallel=2),
        spec(load_bps=1),
        spec(omit_s=1),
        spec(duration_s=0.5),
    ],
)
def test_what_it_does_not_do_is_refused_before_anything_is_sent(asked) -> None:
    with pytest.raises(ConfigError, match="LOAD-03"):
        Netperf([]).run(asked)


def test_requests_over_udp_may_take_a_route_and_have_the_answers_size() -> None:
    command = client(replace(TRIPS, transport=Transport.UDP), "198.18.0.2", "198.18.0.3")
    assert command[command.index("-T") + 1] == "UDP"
    assert command[command.index("-R") + 1] == "1"
    assert command[command.index("-r") + 1] == "64,64"
    assert "-R" not in client(TRIPS, "a", "b")


def test_the_command_asks_for_the_sockets_size_alone_of_the_sender() -> None:
    command = client(spec(), "198.18.0.2", "198.18.0.3")
    assert command[command.index("-s") + 1] == "20100"
    assert "-S" not in command
    assert "-r" not in client(UDP, "a", "b")  # no option of a one-way test

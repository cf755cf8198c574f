"""iperf3's report: what is read of it, and that nothing else becomes a number."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from bmwg.drivers.workload.iperf3 import client, read
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.kinds.streams.records import Exchange, StreamsSpec, Transport, Way

DATA = Path(__file__).parents[2] / "data" / "workloads"


def spec(transport: str = "tcp", **changes) -> StreamsSpec:
    """What the kept reports were made with."""
    told = {
        "workload": "iperf3",
        "transport": Transport(transport),
        "exchange": Exchange.BULK,
        "way": Way.FORWARD,
        "parallel": 1,
        "message_octets": 131072 if transport == "tcp" else 1400,
        "window_octets": 0,
        "load_bps": 0 if transport == "tcp" else 100_000_000,
        "duration_s": 1.0,
        "omit_s": 1 if transport == "tcp" else 0,
    }
    return StreamsSpec(**{**told, **changes})


def report(name: str) -> dict:
    """A report of iperf3 3.12, as it wrote it."""
    return json.loads((DATA / f"iperf3-3.12-{name}.json").read_text())


def ran(told, **changes):
    text = told if isinstance(told, str) else json.dumps(told)
    return {"output": text, "errors": "", "status": 0, "fault": "", "process_ns": 2_100_000_000, **changes}


def test_a_tcp_report_gives_what_arrived_at_the_receiver() -> None:
    told = report("tcp")
    found = read(ran(told), spec())
    assert found.faults == ()
    assert found.received_octets == told["end"]["sum_received"]["bytes"] > 0
    assert found.sent_octets == told["end"]["sum_sent"]["bytes"]
    assert found.retransmits == told["end"]["sum_sent"]["retransmits"]
    assert found.elapsed_ns == pytest.approx(1e9, rel=0.1)
    assert found.goodput_bps == pytest.approx(told["end"]["sum_received"]["bits_per_second"], rel=1e-6)
    assert found.effective["version"] == "iperf 3.12"
    assert found.effective["sender_tcp_congestion"]


def test_a_udp_report_gives_what_the_receiver_counted_and_not_what_it_calls_lost() -> None:
    told = report("udp")
    found = read(ran(told), spec("udp"))
    assert found.sent_messages == told["end"]["sum_sent"]["packets"] == 8921
    assert found.received_octets == told["end"]["sum_received"]["bytes"]
    assert found.received_messages == 7603
    assert told["end"]["sum"]["lost_packets"] == 465  # gaps only: 1318 were not read
    assert found.missing_messages == 465
    assert found.lost_ratio == pytest.approx(1318 / 8921)
    assert found.retransmits is None
    told["end"]["sum_received"]["bytes"] += 1  # no whole datagram
    with pytest.raises(DriverError, match="IPERF-02"):
        read(ran(told), spec("udp"))


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_every_field_that_is_absent_is_a_named_error_and_never_a_zero(transport: str) -> None:
    whole = report(transport)
    sums = ("sum_sent", "sum_received")
    places = [("start", "version"), ("start", "test_start"), ("end",), *(("end", name) for name in sums)]
    places += [("end", *place) for place in KEYS[transport]]
    for place in places:
        told = copy.deepcopy(whole)
        inner = told
        for key in place[:-1]:
            inner = inner[key]
        del inner[place[-1]]
        with pytest.raises(DriverError, match="IPERF-02"):
            read(ran(told), spec(transport))


RECEIVED = [("sum_received", "bytes"), ("sum_received", "seconds")]
KEYS = {"tcp": [("sum_sent", "bytes"), *RECEIVED], "udp": [("sum_sent", "packets"), *RECEIVED]}


@pytest.mark.parametrize("value", ["many", None, -1, 1.5, True, {}])
def test_a_count_that_is_none_is_a_named_error(value) -> None:
    told = report("tcp")
    told["end"]["sum_received"]["bytes"] = value
    with pytest.raises(DriverError, match="IPERF-02"):
        read(ran(told), spec())


@pytest.mark.parametrize("value", [0, -1.0, "1", None, float("inf"), True])
def test_a_time_that_is_none_is_a_named_error(value) -> None:
    told = report("tcp")
    told["end"]["sum_received"]["seconds"] = value
    with pytest.raises(DriverError, match="IPERF-02"):
        read(ran(told), spec())


@pytest.mark.parametrize("version", ["iperf 2.1.8", "iperf 3.1", "iperf 3.11", "iperf 3.99", "", "netperf"])
def test_another_version_is_refused_by_name(version: str) -> None:
    told = report("tcp")
    told["start"]["version"] = version
    with pytest.raises(TestbedError, match="IPERF-01"):
        read(ran(told), spec())


def test_a_test_that_iperf3_did_otherwise_than_asked_is_refused() -> None:
    for change in ({"way": Way.REVERSE}, {"parallel": 4}, {"message_octets": 1000}, {"omit_s": 0}):
        with pytest.raises(DriverError, match="IPERF-02"):
            read(ran(report("tcp")), spec(**change))


def test_a_report_that_ends_early_is_a_fault_of_its_execution() -> None:
    text = json.dumps(report("tcp"))
    for octets in (0, 1, 100, len(text) - 1):
        found = read(ran(text[:octets], status=1), spec())
        assert "ends early" in found.faults[0]
        assert found.received_octets == 0
        with pytest.raises(DriverError, match="IPERF-02"):  # it says that all was well
            read(ran(text[:octets]), spec())


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"error": "error - the server has terminated"}, "terminated"),
        ({"start": {}, "error": "unable to connect to server: Connection refused"}, "refused"),
    ],
)
def test_what_iperf3_calls_an_error_is_a_fault_in_its_words(told, said) -> None:
    found = read(ran(told, status=1), spec())
    assert said in found.faults[0]
    assert found.received_octets == 0


def test_a_program_that_did_not_end_is_a_fault() -> None:
    found = read(ran("", status=None, fault="iperf3 did not end within 12 s"), spec())
    assert found.faults == ("iperf3 did not end within 12 s",)


def test_the_command_says_all_that_the_spec_asks_for() -> None:
    words = client(
        spec("udp", parallel=2, way=Way.REVERSE, window_octets=65536, load_bps=10_000_000), "a", "b"
    )
    told = dict(zip(words, [*words[1:], ""], strict=True))
    assert told["--client"] == "b"
    assert told["--bitrate"] == "5000000"  # of each of two streams
    assert told["--parallel"] == "2"
    assert told["--window"] == "65536"
    assert told["--length"] == "1400"
    assert "--reverse" in words
    assert "--udp" in words
    assert "--window" not in client(spec(), "a", "b")
    assert "--bitrate" not in client(spec(), "a", "b")

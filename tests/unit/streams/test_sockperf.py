"""sockperf's report: what is read of it, and that nothing else becomes a number."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bmwg.drivers.workload.sockperf import Sockperf, read
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams.records import Exchange, StreamsSpec, Transport, Way
from bmwg.reports.kinds.streams.physics import PHYSICS

TEXT = (Path(__file__).parents[2] / "data" / "workloads" / "sockperf-3.7-tcp.txt").read_text()
SPEC = StreamsSpec(
    workload="sockperf",
    transport=Transport.TCP,
    exchange=Exchange.PING_PONG,
    way=Way.FORWARD,
    parallel=1,
    message_octets=64,
    window_octets=0,
    load_bps=0,
    duration_s=1.0,
    omit_s=0,
)


def ran(text: str, **changes):
    return {"output": text, "errors": "", "status": 0, "fault": "", "process_ns": 1_500_000_000, **changes}


def test_a_report_gives_whole_round_trips_in_nanoseconds() -> None:
    found = read(ran(TEXT), SPEC)
    assert found.faults == ()
    assert found.round_trips == found.received_messages == 8317
    assert found.mean_round_trip_ns == 64_893
    assert found.round_trip_ns["p50"] == 14_170
    assert found.round_trip_ns["p99.9"] == 11_996_286
    assert found.round_trip_ns["max"] == 18_934_093
    assert found.elapsed_ns == 540_000_000
    assert found.received_octets == 8317 * 64
    assert found.effective["version"] == "3.7"


@pytest.mark.parametrize("line", ["Valid Duration", "avg-rtt", "dropped messages", "percentile 50", "<MAX>"])
def test_a_line_that_is_absent_is_a_named_error_and_never_a_zero(line: str) -> None:
    text = "\n".join(one for one in TEXT.splitlines() if line not in one)
    with pytest.raises(DriverError, match="SOCK-02"):
        read(ran(text), SPEC)


def test_a_report_of_half_round_trips_is_not_taken_for_whole_ones() -> None:
    with pytest.raises(DriverError, match="SOCK-02"):
        read(ran(TEXT.replace("avg-rtt", "avg-latency")), SPEC)


@pytest.mark.parametrize("version", ["#3.1-", "#2.8", "4.0"])
def test_another_version_is_refused_by_name(version: str) -> None:
    with pytest.raises(TestbedError, match="SOCK-01"):
        read(ran(TEXT.replace("#3.7-", version)), SPEC)


def test_what_ended_badly_is_a_fault() -> None:
    assert "status 1" in read(ran("", status=1, errors="refused"), SPEC).faults[0]
    assert read(ran("", status=None, fault="late"), SPEC).faults == ("late",)


@pytest.mark.parametrize("change", [{"exchange": Exchange.BULK}, {"parallel": 2}, {"message_octets": 4}])
def test_what_sockperf_cannot_do_is_refused_before_anything_is_sent(change) -> None:
    with pytest.raises(ConfigError, match="LOAD-03"):
        Sockperf([]).run(replace(SPEC, **change))


@pytest.mark.parametrize(
    ("quicker", "changes", "possible"),
    [
        (1, {}, True),
        (3, {}, False),
        (3, {"sent_messages": 8318}, True),  # the client waited for one that never came
    ],
)
def test_round_trips_that_follow_each_other_fill_the_time(quicker, changes, possible) -> None:
    """Times divided by three, percentiles too, leave two thirds of the time with nothing on its way."""
    found = read(ran(TEXT), SPEC)
    told = {name: one // quicker for name, one in found.round_trip_ns.items()}
    mean_ns = found.mean_round_trip_ns // quicker
    said = replace(found, mean_round_trip_ns=mean_ns, round_trip_ns=told, **changes)
    (count,) = (one for one in PHYSICS.counts(SPEC, said) if one.what == "time of all round trips, ns")
    assert ((count.least or 0) <= count.found <= (count.most or 0)) is possible

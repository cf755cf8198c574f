"""iperf3 as the workload of streams: bulk transfers over TCP and UDP, read from its JSON report.

A server that serves one test stands in one pod for each execution, the client in the other; what arrived is
what the receiving end counted. Ids: IPERF-01 another version, IPERF-02 a report that is not as that version
writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from bmwg.drivers.workload.of_streams import OfStreams, StreamsWorkload
from bmwg.drivers.workload.printed import count
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult, StreamsSpec, Transport, Way

PORT = 5201
_MINOR_VERSIONS = range(
    12, 20
)  # choice: from 3.12 on, which was tried; earlier ones do not tell what UDP received
_VERSION = re.compile(r"iperf 3\.(\d+)")
_START_S = 10.0  # choice: the server's start, its end, and the connection between
_IDLE_S = 60  # a server whose client never came ends by itself


class Iperf3(OfStreams):
    """iperf3, one client and one server for each execution."""

    program: ClassVar[str] = "iperf3"

    def run(self, spec: StreamsSpec, /) -> StreamsResult:
        """Run one test and read what both ends counted.

        Raises ConfigError LOAD-03, what `serving` raises, TestbedError IPERF-01, DriverError IPERF-02.
        """
        if spec.exchange is not Exchange.BULK:
            raise ConfigError(
                "LOAD-03",
                "workload iperf3; nothing was sent",
                expected=f"exchange {Exchange.BULK}",
                found=str(spec.exchange),
            )
        asking, answering = self.attached
        server = ["iperf3", "--server", "--one-off", "--bind", answering.address, "--port", str(PORT)]
        server += ["--idle-timeout", str(_IDLE_S)]
        within_s = spec.omit_s + spec.duration_s + _START_S
        with self.serving(answering, server, port=PORT, transport="tcp"):
            ran = self.asked(asking, client(spec, asking.address, answering.address), within_s)
        return read(ran, spec)


def client(spec: StreamsSpec, mine: str, other: str) -> list[str]:
    """Return the client's command of a test."""
    command = ["iperf3", "--client", other, "--bind", mine, "--port", str(PORT), "--json"]
    command += ["--connect-timeout", "5000", "--time", f"{spec.duration_s:g}", "--omit", str(spec.omit_s)]
    command += ["--parallel", str(spec.parallel), "--length", str(spec.message_octets)]
    if spec.transport is Transport.UDP:
        # 0: as fast as it goes; else of one stream
        command += ["--udp", "--bitrate", str(spec.load_bps // spec.parallel)]
    elif spec.load_bps:
        command += ["--bitrate", str(spec.load_bps // spec.parallel)]
    command += ["--window", str(spec.window_octets)] if spec.window_octets else []
    return [*command, *(["--reverse"] if spec.way is Way.REVERSE else [])]


def read(ran: Mapping[str, Any], spec: StreamsSpec) -> StreamsResult:
    """Read what a client ended with; a test that iperf3 itself calls failed is a fault.

    Raises TestbedError IPERF-01, DriverError IPERF-02 for a report that cannot be believed.
    """
    process_ns = int(ran["process_ns"])
    if ran["fault"]:
        return StreamsResult(process_ns=process_ns, faults=(ran["fault"],))
    text = ran["output"]
    try:
        report = json.loads(text)
    except ValueError as error:
        words = " ".join((ran["errors"] or text).split())[-200:]
        what = f"a report of {len(text)} characters that ends early"
        fault = f"iperf3: exit status {ran['status']}, {what}: {words}"
        if ran["status"] == 0:
            raise _unreadable(f"{len(text)} characters that are no JSON: {error}") from error
        return StreamsResult(process_ns=process_ns, faults=(fault,))
    if not isinstance(report, dict):
        raise _unreadable(f"a {type(report).__name__}")
    if "error" in report:
        return StreamsResult(process_ns=process_ns, faults=(f"iperf3: {report['error']}",))
    if ran["status"] != 0:
        return StreamsResult(process_ns=process_ns, faults=(f"iperf3: exit status {ran['status']}",))
    try:
        _require_version(report["start"]["version"])
        _require_asked(report["start"]["test_start"], spec)
        counted = _tcp(report["end"]) if spec.transport is Transport.TCP else _udp(report["end"], spec)
        return StreamsResult(**counted, process_ns=process_ns, effective=_effective(report))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise _unreadable(f"{type(error).__name__}: {error}") from error


def _unreadable(found: str) -> DriverError:
    return DriverError(
        "IPERF-02",
        "iperf3: its JSON report",
        expected="counts of both ends, as versions 3.12 to 3.19 write them",
        found=found[:200],
        hint="another iperf3 may have been installed; nothing was concluded",
    )


def _require_version(told: str) -> None:
    match = _VERSION.match(told)
    if match is None or int(match[1]) not in _MINOR_VERSIONS:
        raise TestbedError(
            "IPERF-01",
            "iperf3: its version",
            expected=f"3.{_MINOR_VERSIONS.start} to 3.{_MINOR_VERSIONS.stop - 1}",
            found=str(told)[:80],
            hint="sh setup/install.sh workloads installs the distribution's",
        )


def _require_asked(told: Mapping[str, Any], spec: StreamsSpec) -> None:
    """ValueError unless iperf3 says that it ran what it was asked for."""
    wanted = {
        "protocol": spec.transport.value.upper(),
        "num_streams": spec.parallel,
        "blksize": spec.message_octets,
        "omit": spec.omit_s,
        "reverse": int(spec.way is Way.REVERSE),
    }
    differs = [f"{name} {told[name]}, asked {value}" for name, value in wanted.items() if told[name] != value]
    if differs:
        raise ValueError("; ".join(differs))


def _tcp(end: Mapping[str, Any]) -> dict[str, Any]:
    sent, received = end["sum_sent"], end["sum_received"]
    return {
        "sent_octets": count(sent["bytes"]),
        "received_octets": count(received["bytes"]),
        "retransmits": count(sent["retransmits"]),
        "elapsed_ns": _nanoseconds(received["seconds"]),
    }


def _udp(end: Mapping[str, Any], spec: StreamsSpec) -> dict[str, Any]:
    """Datagrams that arrived are those that the receiver itself counted the octets of.

    `lost_packets` are gaps in what it saw, and missing: datagrams that were still on their way or unread
    when it stopped, or lost after the last that it saw, are no gap. It is below 0 where some came twice.
    """
    sent, octets = count(end["sum_sent"]["packets"]), count(end["sum_received"]["bytes"])
    received, rest = divmod(octets, spec.message_octets)
    if rest or received > sent:
        raise ValueError(f"{octets} octets of {sent} datagrams of {spec.message_octets} octets")
    return {
        "sent_messages": sent,
        "received_messages": received,
        "reordered_messages": sum(count(stream["udp"]["out_of_order"]) for stream in end["streams"]),
        "missing_messages": sum(count(max(0, stream["udp"]["lost_packets"])) for stream in end["streams"]),
        "sent_octets": sent * spec.message_octets,
        "received_octets": octets,
        "elapsed_ns": _nanoseconds(end["sum_received"]["seconds"]),
    }


def _effective(report: Mapping[str, Any]) -> dict[str, int | str]:
    """Return settings as they were in force, as far as this version tells them."""
    start, end = report["start"], report["end"]
    found: dict[str, int | str] = {"version": str(start["version"])[:80]}
    named = {
        "maximum_segment_octets": "tcp_mss_default",
        "maximum_segment_octets_in_use": "tcp_mss",
        "send_buffer_octets": "sndbuf_actual",
        "receive_buffer_octets": "rcvbuf_actual",
    }
    found |= {name: count(start[key]) for name, key in named.items() if key in start}
    for name in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        if name in end:
            found[name] = str(end[name])[:80]
    cpu = end.get("cpu_utilization_percent", {})
    for name, key in (("asking_cpu_permille", "host_total"), ("answering_cpu_permille", "remote_total")):
        if key in cpu:
            found[name] = round(float(cpu[key]) * 10)
    return found


def _nanoseconds(value: Any) -> int:
    """Return seconds as nanoseconds; ValueError for what is no time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e7:
        raise ValueError(f"expected seconds, found {value!r}")
    return round(value * 1e9)


_: type[StreamsWorkload] = Iperf3

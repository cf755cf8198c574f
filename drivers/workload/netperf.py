"""netperf as the workload of streams: one-way transfers and round trips, read from the keys it is asked for.

It tells the socket buffers as the kernels have them beside what was asked, and counts at both ends. Only its
omni test tells keys; the classic tests of document 004 are these by other words. Ids: NETP-01
another version, NETP-02 an output that is not as that version writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import Missing, PodEnd
from bmwg.drivers.containers import pod_programs
from bmwg.drivers.workload.of_streams import OfStreams, StreamsWorkload
from bmwg.drivers.workload.printed import count, nanoseconds
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult, StreamsSpec, Transport, Way

CONTROL_PORT, DATA_PORT = 12865, 12866  # document 004: the same for each test
MEND = (
    "netperf is in the component non-free of Debian: add it to a source of apt, then apt-get install netperf"
)
_VERSION = re.compile(r"Netperf version (2\.7\.\d+)")  # 2.7.0 is what was tried
_START_S = 10.0
_NS_PER_US = 1000
_STOOD_RATIO = 0.05  # choice: of a test's time; what its round trips leave of it is 0.01 and less
_KEYS = (
    "PROTOCOL",
    "DIRECTION",
    "LSS_SIZE_REQ",
    "LSS_SIZE_END",
    "RSR_SIZE_END",
    "LOCAL_SEND_SIZE",
    "LOCAL_BYTES_SENT",
    "REMOTE_BYTES_RECVD",
    "LOCAL_SEND_CALLS",
    "LOCAL_TRANSPORT_RETRANS",
    "ELAPSED_TIME",
    "MEAN_LATENCY",
    "MIN_LATENCY",
    "P50_LATENCY",
    "P90_LATENCY",
    "P99_LATENCY",
    "MAX_LATENCY",
)
_LINE = re.compile(r"^([A-Z0-9_]+)=(.*)$", re.M)


class Netperf(OfStreams):
    """netperf, a netserver for each execution."""

    program: ClassVar[str] = "netperf"

    def probe(self) -> Missing | None:
        """Tell whether both programs are on the nodes."""
        for node in self._nodes:
            for name in ("netperf", "netserver"):
                if node.call(pod_programs.missing, program=name):
                    return Missing(what=name, reason=f"not on node {node.name}", mend=MEND)
        return None

    def attach(self, ends: Sequence[PodEnd], /) -> None:
        """Use these ends from now on. Raises ConfigError LOAD-01, TestbedError NETP-01."""
        super().attach(ends)
        told = self.asked(ends[0], ["netperf", "-V"], 5.0)
        self._version = require_version(str(told["output"]) + str(told["errors"]))

    def describe(self) -> Mapping[str, Any]:
        """The program, as the nodes tell its version; `--version` is no option of it."""
        told = {node.name: node.call(version) for node in self._nodes}
        return {"program": self.program, "versions": told}

    def run(self, spec: StreamsSpec, /) -> StreamsResult:
        """Run one test and read what both ends counted.

        Raises ConfigError LOAD-03, what `serving` raises, DriverError NETP-02.
        """
        if wrong := _cannot(spec):
            raise ConfigError(
                "LOAD-03", "workload netperf; nothing was sent", expected=wrong[0], found=wrong[1]
            )
        asking, answering = self.attached
        server = ["netserver", "-D", "-4", "-L", answering.address, "-p", str(CONTROL_PORT)]
        with self.serving(answering, server, port=CONTROL_PORT, transport="tcp"):
            ran = self.asked(
                asking, client(spec, asking.address, answering.address), spec.duration_s + _START_S
            )
        found = read(ran, spec)
        return found if found.faults else _with_version(found, self._version)


def version() -> str:
    """Node function: the line that netperf says of its version; empty without one."""
    from bmwg.drivers.nodes import bounded

    try:
        done = bounded.run(["netperf", "-V"], deadline_s=5.0)
    except OSError:
        return ""
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def require_version(told: str) -> str:
    """Return the version told. Raises TestbedError NETP-01 for one that nobody has tried."""
    match = _VERSION.search(told)
    if match is None:
        raise TestbedError(
            "NETP-01", "netperf: its version", expected="2.7", found=told.strip()[:80] or "none", hint=MEND
        )
    return match[1]


def client(spec: StreamsSpec, mine: str, other: str) -> list[str]:
    """Return the client's command of a test."""
    command = ["netperf", "-4", "-H", other, "-L", mine, "-p", str(CONTROL_PORT), "-t", "omni"]
    command += ["-l", f"{spec.duration_s:g}", *(["-j"] if spec.exchange is Exchange.PING_PONG else []), "--"]
    command += ["-T", spec.transport.value.upper(), "-P", f",{DATA_PORT}", "-k", ",".join(_KEYS)]
    command += ["-R", "1"] if spec.transport is Transport.UDP else []  # else datagrams take no route at all
    if spec.exchange is Exchange.PING_PONG:
        return [*command, "-d", "rr", "-r", f"{spec.message_octets},{spec.message_octets}"]
    command += ["-d", "send", "-m", str(spec.message_octets)]
    return [*command, *(["-s", str(spec.window_octets)] if spec.window_octets else [])]


def _cannot(spec: StreamsSpec) -> tuple[str, str] | None:
    """Return what this driver can do and was not asked for, with what it was."""
    if spec.way is not Way.FORWARD or spec.parallel != 1 or spec.load_bps or spec.omit_s:
        return "one stream forward, as fast as it goes, all of it counted", str(spec.as_builtins())
    if not float(spec.duration_s).is_integer():
        return "whole seconds", f"{spec.duration_s:g} s"
    return None


def read(ran: Mapping[str, Any], spec: StreamsSpec) -> StreamsResult:
    """Read what a client ended with. Raises DriverError NETP-02 for an output that cannot be believed."""
    process_ns, text = int(ran["process_ns"]), str(ran["output"])
    if ran["fault"]:
        return StreamsResult(process_ns=process_ns, faults=(ran["fault"],))
    if ran["status"] != 0:
        words = " ".join((ran["errors"] or text).split())[-200:]
        return StreamsResult(
            process_ns=process_ns, faults=(f"netperf: exit status {ran['status']}: {words}",)
        )
    told = dict(_LINE.findall(text))
    if lacking := [key for key in _KEYS if key not in told]:
        raise _unreadable(f"no key {', '.join(lacking)}")
    try:
        return StreamsResult(
            **(_round_trips if spec.exchange is Exchange.PING_PONG else _one_way)(told, spec),
            elapsed_ns=nanoseconds(told["ELAPSED_TIME"]),
            process_ns=process_ns,
        )
    except ValueError as error:
        raise _unreadable(str(error)) from error


def _one_way(told: Mapping[str, str], spec: StreamsSpec) -> dict[str, Any]:
    _require(told, "Send", spec)
    if int(told["LOCAL_SEND_SIZE"]) != spec.message_octets:
        raise ValueError(f"messages of {told['LOCAL_SEND_SIZE']} octets, asked {spec.message_octets}")
    if spec.window_octets and int(told["LSS_SIZE_REQ"]) != spec.window_octets:
        raise ValueError(f"a buffer of {told['LSS_SIZE_REQ']} octets, asked {spec.window_octets}")
    sent, received = _count(told["LOCAL_BYTES_SENT"]), _count(told["REMOTE_BYTES_RECVD"])
    if spec.transport is Transport.TCP and sent < received <= sent + spec.message_octets:
        sent = received  # netperf does not count a write that the test's end cut off, of which parts arrived
    resent = int(told["LOCAL_TRANSPORT_RETRANS"])
    found: dict[str, Any] = {
        "sent_octets": sent,
        "received_octets": received,
        "retransmits": None if resent < 0 or spec.transport is Transport.UDP else resent,
        "effective": {
            "send_buffer_asked_octets": spec.window_octets,
            "send_buffer_octets": _count(told["LSS_SIZE_END"]),
            "receive_buffer_octets": _count(told["RSR_SIZE_END"]),
        },
    }
    if spec.transport is Transport.UDP:
        (messages, rest), (arrived, over) = (
            divmod(sent, spec.message_octets),
            divmod(received, spec.message_octets),
        )
        if rest or over or arrived > messages:
            raise ValueError(
                f"{sent} octets sent and {received} received in messages of {spec.message_octets}"
            )
        found |= {"sent_messages": messages, "received_messages": arrived}
    return found


def _round_trips(told: Mapping[str, str], spec: StreamsSpec) -> dict[str, Any]:
    _require(told, "Send|Recv", spec)
    trips, rest = divmod(_count(told["LOCAL_BYTES_SENT"]), spec.message_octets)
    back = _count(told["REMOTE_BYTES_RECVD"]) // spec.message_octets
    if rest or back > trips:
        raise ValueError(f"{told['LOCAL_BYTES_SENT']} octets in requests of {spec.message_octets}")
    latencies = {name: told[f"{name.upper()}_LATENCY"] for name in ("p50", "p90", "p99", "min", "max")}
    times = {name: _count(value) * _NS_PER_US for name, value in latencies.items()}
    mean_ns = round(float(told["MEAN_LATENCY"]) * _NS_PER_US)
    elapsed_ns = nanoseconds(told["ELAPSED_TIME"])
    stood_ns = elapsed_ns - trips * mean_ns
    if trips and back == trips and stood_ns > max(times["max"], _STOOD_RATIO * elapsed_ns):
        back -= 1  # the last answer was lost: the client waits for it until the test's end, and tells none
    return {
        "sent_octets": trips * spec.message_octets,
        "received_octets": back * spec.message_octets,
        "sent_messages": trips,
        "received_messages": back,
        "round_trips": back,
        "mean_round_trip_ns": mean_ns,
        "round_trip_ns": times,
    }


def _require(told: Mapping[str, str], direction: str, spec: StreamsSpec) -> None:
    """ValueError unless netperf says that it ran what it was asked for."""
    asked = (spec.transport.value.upper(), direction)
    if (told["PROTOCOL"], told["DIRECTION"]) != asked:
        raise ValueError(f"a test of {told['PROTOCOL']} {told['DIRECTION']}, asked {' '.join(asked)}")


def _count(text: str) -> int:
    return count(int(text))


def _with_version(found: StreamsResult, told: str) -> StreamsResult:
    return replace(found, effective={"version": f"netperf {told}", **found.effective})


def _unreadable(found: str) -> DriverError:
    return DriverError(
        "NETP-02",
        "netperf: its output",
        expected="the keys that it was asked for, as version 2.7 writes them",
        found=found[:200],
        hint="another netperf may have been installed; nothing was concluded",
    )


_: type[StreamsWorkload] = Netperf

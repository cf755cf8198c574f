"""sockperf as the workload of streams: messages there and back, one after the other, read from its report.

It tells each round trip's time (`--full-rtt`) as percentiles. Ids: SOCK-01 another version, SOCK-02 a report
that is not as that version writes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from bmwg.drivers.workload.of_streams import OfStreams, StreamsWorkload
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.kinds.streams.records import Exchange, StreamsResult, StreamsSpec, Transport

PORT = 11111
_LEAST_MESSAGE_OCTETS = 14  # sockperf's own head of a message
_VERSIONS = re.compile(r"== version #3\.(\d+)")
_MINOR_VERSIONS = range(6, 11)  # 3.7 is what was tried
_START_S = 10.0
_NS_PER_US = 1000
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_VALID = re.compile(
    rf"^sockperf: \[Valid Duration\] RunTime={_NUMBER} sec; SentMessages=(\d+); ReceivedMessages=(\d+)", re.M
)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MEAN = re.compile(rf"^sockperf: ====> avg-rtt={_NUMBER}", re.M)
_ODD = re.compile(
    r"^sockperf: # dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)",
    re.M,
)
_PERCENTILE = re.compile(rf"^sockperf: ---> percentile {_NUMBER} =\s*{_NUMBER}", re.M)
_EXTREME = re.compile(rf"^sockperf: ---> <(MIN|MAX)> observation =\s*{_NUMBER}", re.M)
_NAMES = {"50.000": "p50", "90.000": "p90", "99.000": "p99", "99.900": "p99.9", "99.990": "p99.99"}


class Sockperf(OfStreams):
    """sockperf in ping-pong, one client and one server for each execution."""

    program: ClassVar[str] = "sockperf"

    def run(self, spec: StreamsSpec, /) -> StreamsResult:
        """Run one test and read its report.

        Raises ConfigError LOAD-03, what `serving` raises, TestbedError SOCK-01, DriverError SOCK-02.
        """
        wrong = _cannot(spec)
        if wrong:
            raise ConfigError(
                "LOAD-03", "workload sockperf; nothing was sent", expected=wrong[0], found=wrong[1]
            )
        asking, answering = self.attached
        transport = spec.transport.value
        tcp = ["--tcp"] if spec.transport is Transport.TCP else []
        server = ["sockperf", "server", "--ip", answering.address, "--port", str(PORT), *tcp]
        ask = ["sockperf", "ping-pong", "--ip", answering.address, "--port", str(PORT), *tcp, "--full-rtt"]
        ask += ["--time", f"{spec.duration_s:g}", "--msg-size", str(spec.message_octets)]
        with self.serving(answering, server, port=PORT, transport=transport):
            ran = self.asked(asking, ask, spec.duration_s + _START_S)
        return read(ran, spec)


def _cannot(spec: StreamsSpec) -> tuple[str, str] | None:
    """Return what sockperf can do and was not asked for, with what it was."""
    if spec.exchange is not Exchange.PING_PONG:
        return f"exchange {Exchange.PING_PONG}", str(spec.exchange)
    if spec.parallel != 1 or spec.load_bps or spec.window_octets or spec.omit_s:
        return "one stream as fast as it goes, with the system's buffers", str(spec.as_builtins())
    if spec.message_octets < _LEAST_MESSAGE_OCTETS:
        return f"message_octets {_LEAST_MESSAGE_OCTETS} at least", str(spec.message_octets)
    return None


def read(ran: Mapping[str, Any], spec: StreamsSpec) -> StreamsResult:
    """Read what a client ended with. Raises TestbedError SOCK-01, DriverError SOCK-02."""
    process_ns, text = int(ran["process_ns"]), _COLOURS.sub("", str(ran["output"]))
    if ran["fault"]:
        return StreamsResult(process_ns=process_ns, faults=(ran["fault"],))
    if ran["status"] != 0:
        words = " ".join((ran["errors"] or text).split())[-200:]
        fault = f"sockperf: exit status {ran['status']}: {words}"
        return StreamsResult(process_ns=process_ns, faults=(fault,))
    version = _VERSIONS.search(text)
    if version is None or int(version[1]) not in _MINOR_VERSIONS:
        raise TestbedError(
            "SOCK-01",
            "sockperf: its version",
            expected=f"3.{_MINOR_VERSIONS.start} to 3.{_MINOR_VERSIONS.stop - 1}",
            found=version[0] if version else "none told",
            hint="sh setup/install.sh workloads installs the distribution's",
        )
    valid, mean, odd = _VALID.search(text), _MEAN.search(text), _ODD.search(text)
    if valid is None or mean is None or odd is None:
        lacking = [name for name, one in (("counts", valid), ("mean", mean), ("losses", odd)) if one is None]
        raise _unreadable(f"no line of {', '.join(lacking)}")
    sent, received = int(valid[2]), int(valid[3])
    if received > sent:
        raise _unreadable(f"{received} messages came back, {sent} were sent")
    times = {
        _NAMES[share]: _nanoseconds(value) for share, value in _PERCENTILE.findall(text) if share in _NAMES
    }
    times |= {name.lower(): _nanoseconds(value) for name, value in _EXTREME.findall(text)}
    if not {"p50", "p99", "max"} <= times.keys():
        raise _unreadable(f"percentiles {', '.join(times) or 'none'}")
    return StreamsResult(
        sent_messages=sent,
        received_messages=received,
        sent_octets=sent * spec.message_octets,
        received_octets=received * spec.message_octets,
        reordered_messages=int(odd[3]),
        elapsed_ns=round(float(valid[1]) * 1e9),
        process_ns=process_ns,
        round_trips=received,
        mean_round_trip_ns=_nanoseconds(mean[1]),
        round_trip_ns=times,
        effective={"version": version[0].removeprefix("== version #")},
    )


def _unreadable(found: str) -> DriverError:
    return DriverError(
        "SOCK-02",
        "sockperf: its report",
        expected="counts, mean and percentiles of round trips, as versions 3.6 to 3.10 write them",
        found=found[:200],
        hint="another sockperf may have been installed; nothing was concluded",
    )


def _nanoseconds(microseconds: str) -> int:
    return round(float(microseconds) * _NS_PER_US)


_: type[StreamsWorkload] = Sockperf

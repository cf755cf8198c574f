"""A generator that speaks the Open Traffic Generator API (OTG) as a TrafficDriver, by way of snappi.

Its versions are asked of an implementation. Latency is not: OTG has minimum, mean and maximum of it alone.
Ids: OTG-01 snappi is not there, OTG-02 options, OTG-03 not reached, OTG-04 refused, OTG-05 a trial beyond it,
OTG-06 no ports.
"""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficDriver, TrafficLimits
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.traffic.of_frames import BY_FRAMES, OfFrames
from bmwg.drivers.traffic.trex.frames import FIRST_SOURCE_PORT, MAX_FLOWS, header_octets
from bmwg.methodology.answers.latency import STORE_AND_FORWARD
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.records import (
    FCS_OCTETS,
    Direction,
    FrameFormat,
    StreamCounts,
    TrialResult,
    TrialSpec,
)
from bmwg.methodology.trial.capabilities import Capability, refuse_beyond
from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS, MIN_FRAME_OCTETS

REPLY_S = 3.0
POLL_S = 0.05
TRIAL_MARGIN_S = 5.0
LEAST_LEARNING_FRAMES = 10
LEARNING_FPS = 200.0
_ABLE = frozenset({Capability.IPV4_UDP, Capability.IPV6_UDP, Capability.VLAN, Capability.BOTH_DIRECTIONS})
_OPTIONS = ("location", "port_0", "port_1", "verify", "mac_0", "mac_1")


@dataclass(frozen=True, slots=True, kw_only=True)
class OtgConfig:
    """Where the implementation listens, how it calls its two ports, and whether its certificate is checked.

    `macs` are the ports' own addresses (OTG has no way to ask for them).
    """

    location: str
    ports: tuple[str, str]
    macs: tuple[str, str]
    verify: bool = True
    drain_quiet_s: float = 0.05
    drain_limit_s: float = 2.0


def read_options(options: Mapping[str, Any], where: str, drain_s: float) -> OtgConfig:
    """Read `tester.options`; ConfigError OTG-02."""
    strange = sorted(set(options) - set(_OPTIONS))
    absent = [name for name in _OPTIONS if name != "verify" and not isinstance(options.get(name), str)]
    if strange or absent or not isinstance(options.get("verify", True), bool):
        raise ConfigError(
            "OTG-02",
            f"{where}: tester.options of driver otg; nothing was started",
            expected=f"{', '.join(_OPTIONS)} (verify is true or false and may be left out)",
            found=f"unknown: {', '.join(strange) or '-'}; missing or no text: {', '.join(absent) or '-'}",
        )
    return OtgConfig(
        location=options["location"],
        ports=(options["port_0"], options["port_1"]),
        macs=(options["mac_0"], options["mac_1"]),
        verify=options.get("verify", True),
        drain_quiet_s=max(drain_s, 0.02),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """How long flows sent, as polls saw it: from one that saw them send to the last that did, and at most."""

    least_ns: int
    most_ns: int


class OtgTraffic(OfFrames):
    """TrafficDriver over an OTG implementation."""

    one_place: ClassVar[bool] = True

    def __init__(self, config: OtgConfig) -> None:
        self.config = config
        self._api: Any = None
        self._ports: tuple[TesterPort, TesterPort] | None = None
        self._versions: dict[str, JsonValue] = {}

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> OtgTraffic:
        """Make the driver that a testbed file asks for."""
        return cls(read_options(testbed.tester.options, testbed.file, drain_s))

    def __enter__(self) -> OtgTraffic:
        try:
            import snappi
        except ImportError as error:
            raise TestbedError(
                "OTG-01",
                "driver otg: snappi; nothing was started",
                expected="to be installed",
                found=str(error),
                hint="pip install 'bmwg-toolkit[otg]'",
            ) from error
        self._api = snappi.api(location=self.config.location, verify=self.config.verify)
        _bounded(self._api)
        with self._refusals("OTG-03", "is asked for its version"):
            version = self._api.get_version()
        self._versions = {
            "api_spec": version.api_spec_version,
            "implementation": version.app_version,
            "sdk": version.sdk_version,
            "snappi": str(getattr(self._api, "_version_meta", version).sdk_version),
        }
        return self

    def __exit__(self, *exc: object) -> None:
        if self._api is not None and self._ports is not None:
            with contextlib.suppress(Exception):
                self._transmit("stop")
        self._api = self._ports = None

    @contextlib.contextmanager
    def _refusals(self, error_id: str, what: str) -> Iterator[None]:
        """Turn what snappi raises into an error by name; snappi raises plain Exception on purpose."""
        try:
            yield
        except (ConfigError, DriverError, TestbedError):
            raise
        except Exception as error:
            text = " ".join(str(error).split())
            raise TestbedError(
                error_id,
                f"OTG implementation at {self.config.location}: {what}; no traffic was sent",
                expected="an answer",
                found=text[:500] or type(error).__name__,
            ) from error

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        """Configure the two ports; OTG-03, OTG-04."""
        self._ports = self.two(ports)
        probe = TrialSpec(frame_octets=128, load_fps=10, duration_s=1.0, direction=Direction.BOTH)
        self._configure(probe, 1, 1.0)
        return TrafficLimits(
            min_frame_octets=MIN_FRAME_OCTETS, max_frame_octets=MAX_FRAME_OCTETS, capabilities=_ABLE
        )

    def detach(self) -> None:
        """Forget the ports; their configuration is replaced by the next one."""
        self._ports = None

    def learn(self, spec: TrialSpec, /) -> None:
        """Send learning frames in both directions, at least ten and one a flow, and forget them."""
        self._checked(spec)
        count = max(LEAST_LEARNING_FRAMES, spec.flows)
        load_fps = max(LEARNING_FPS, count / 2.0)
        both = TrialSpec(
            frame_octets=spec.frame_octets,
            load_fps=spec.load_fps,
            duration_s=spec.duration_s,
            direction=Direction.BOTH,
            frame_format=spec.frame_format,
            flows=spec.flows,
            vlan_id=spec.vlan_id,
        )
        self._configure(both, count, load_fps)
        self._send(count / load_fps)

    def _checked(self, spec: TrialSpec) -> tuple[TesterPort, TesterPort]:
        if self._ports is None or self._api is None:
            raise DriverError("OTG-06", "driver otg: no ports are attached", hint="attach() comes first")
        refuse_beyond(spec, _ABLE, "otg")
        if spec.flows > MAX_FLOWS:
            raise ConfigError(
                "OTG-05",
                "driver otg: test frames; no traffic was sent",
                expected=f"1..{MAX_FLOWS} flows",
                found=f"{spec.flows} flows",
            )
        least = least_octets(spec.frame_format, tagged=spec.vlan_id is not None)
        if not least <= spec.frame_octets <= MAX_FRAME_OCTETS:
            raise ConfigError(
                "OTG-05",
                "driver otg: test frames; no traffic was sent",
                expected=f"{least}..{MAX_FRAME_OCTETS} octets",
                found=f"{spec.frame_octets} octets",
                hint="of fewer than its headers have, an implementation would send larger frames",
            )
        return self._ports

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Send one trial and count it; one that is lost, or contradicts itself, gives a fault."""
        self._checked(spec)
        began_ns = time.monotonic_ns()
        self._configure(spec, spec.intended_frames, float(spec.load_fps))
        directions = 2 if spec.direction is Direction.BOTH else 1
        try:
            metrics, seen = self._send(spec.duration_s)
            streams = tuple(_stream(spec, metric, seen) for metric in metrics)
            fault = None if len(streams) == directions else f"{len(streams)} flows were counted"
        except (TestbedError, ValueError) as error:
            streams, fault = (), str(error).splitlines()[0]
        if fault is not None:
            empty = StreamCounts(intended_frames=spec.intended_frames, sent_frames=0, received_frames=0)
            streams = (empty,) * directions
        return TrialResult(
            spec=spec, streams=streams, wall_time_ns=time.monotonic_ns() - began_ns, fault=fault
        )

    def _configure(self, spec: TrialSpec, count: int, load_fps: float) -> None:
        config = self._api.config()
        for name, location in zip(("p0", "p1"), self.config.ports, strict=True):
            config.ports.port(name=name, location=location)
        sides = {Direction.FORWARD: (0,), Direction.REVERSE: (1,)}.get(spec.direction, (0, 1))
        for side in sides:
            self._flow(config, spec, side, count, load_fps)
        with self._refusals("OTG-04", "takes a configuration"):
            self._api.set_config(config)

    def _flow(self, config: Any, spec: TrialSpec, side: int, count: int, load_fps: float) -> None:
        assert self._ports is not None
        mine, other = self._ports[side], self._ports[1 - side]
        flow = config.flows.flow(name=("forward", "reverse")[side])[-1]
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_names = f"p{side}", [f"p{1 - side}"]
        flow.size.fixed = spec.frame_octets
        flow.rate.pps = max(1, round(load_fps))
        flow.duration.fixed_packets.packets = count
        flow.metrics.enable = True
        ethernet = flow.packet.ethernet()[-1]
        ethernet.src.value = self.config.macs[side]
        ethernet.dst.value = mine.peer_mac or self.config.macs[1 - side]
        if spec.vlan_id is not None:
            flow.packet.vlan()[-1].id.value = spec.vlan_id
        if spec.frame_format is FrameFormat.IPV4_UDP:
            ip = flow.packet.ipv4()[-1]
            ip.src.value, ip.dst.value = _plain(mine.ipv4), _plain(other.ipv4)
        else:
            ip = flow.packet.ipv6()[-1]
            ip.src.value, ip.dst.value = _plain(mine.ipv6), _plain(other.ipv6)
        udp = flow.packet.udp()[-1]
        udp.dst_port.value = 7
        udp.src_port.increment.start, udp.src_port.increment.step = FIRST_SOURCE_PORT, 1
        udp.src_port.increment.count = spec.flows

    def _transmit(self, state: str) -> None:
        control = self._api.control_state()
        control.traffic.flow_transmit.state = state
        with self._refusals("OTG-03", f"is told to {state}"):
            self._api.set_control_state(control)

    def _metrics(self) -> list[Any]:
        request = self._api.metrics_request()
        request.flow.flow_names = []
        with self._refusals("OTG-03", "is asked for its counters"):
            return sorted(self._api.get_metrics(request).flow_metrics, key=lambda metric: str(metric.name))

    def _send(self, duration_s: float) -> tuple[list[Any], Seen]:
        """Start, wait until all flows stopped, then until their counters stand still.

        A wait that is broken off, Ctrl-C among it, ends the flows: they would outlast the run.
        """
        try:
            return self._sent(duration_s)
        except BaseException:
            with contextlib.suppress(TestbedError):
                self._transmit("stop")
            raise

    def _sent(self, duration_s: float) -> tuple[list[Any], Seen]:
        began_ns = time.monotonic_ns()
        first_ns = last_ns = None
        self._transmit("start")
        longest_ns = time.monotonic_ns() - began_ns + round((2 * duration_s + TRIAL_MARGIN_S) * 1e9)
        while True:
            asked_ns = time.monotonic_ns()
            stopped = all(metric.transmit == "stopped" for metric in self._metrics())
            answered_ns = time.monotonic_ns()
            if stopped:
                break
            first_ns, last_ns = first_ns or answered_ns, asked_ns
            if answered_ns - began_ns > longest_ns:
                self._transmit("stop")
                break
            time.sleep(POLL_S)
        least_ns = last_ns - first_ns if first_ns and last_ns else 0
        seen = Seen(least_ns=max(0, least_ns), most_ns=time.monotonic_ns() - began_ns)
        before = self._metrics()
        quiet_s = waited_s = 0.0
        while quiet_s < self.config.drain_quiet_s and waited_s < self.config.drain_limit_s:
            pause_s = min(POLL_S, self.config.drain_quiet_s)
            time.sleep(pause_s)
            waited_s += pause_s
            after = self._metrics()
            moved = [(m.frames_tx, m.frames_rx) for m in after] != [
                (m.frames_tx, m.frames_rx) for m in before
            ]
            quiet_s, before = (0.0 if moved else quiet_s + pause_s), after
        return before, seen

    def describe(self) -> Mapping[str, JsonValue]:
        """Versions as the implementation states them, and what it was found to take."""
        return {
            "driver": "otg",
            "simulated": False,
            "latency_way": "one-way",
            **BY_FRAMES,
            "counting": {
                "duplicate_frames": "not told apart: each copy is a received frame",
                "reordered_frames": "received, and not told apart",
                "effective_duration_ns": "as asked for, unless polls show a longer or a shorter time",
            },
            "versions": dict(self._versions),
            "verifies": ["flow"],
            "latency_definition": STORE_AND_FORWARD,  # no answer is of it: there is no distribution
            "ports": [{"name": port.name, "device": port.device} for port in self._ports or ()],
        }


def least_octets(frame_format: FrameFormat, *, tagged: bool) -> int:
    """Smallest frame, FCS included, that holds its headers."""
    return max(MIN_FRAME_OCTETS, header_octets(frame_format, tagged=tagged) + FCS_OCTETS)


def _bounded(api: Any) -> None:
    """Put a deadline on each request: snappi's own transport has none."""
    session = api._transport._session
    plain_request = session.request

    def request(*arguments: Any, **named: Any) -> Any:
        return plain_request(*arguments, **{"timeout": REPLY_S, **named})

    session.request = request


def _count(metric: Any, name: str) -> int:
    value = getattr(metric, name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} of flow {metric.name} is {value!r}, no count")
    return value


def _stream(spec: TrialSpec, metric: Any, seen: Seen) -> StreamCounts:
    """One flow's counts. Its time stamps are of frames that were received, and say nothing of its sending."""
    asked_ns = round(spec.duration_s * 1e9)
    return StreamCounts(
        intended_frames=spec.intended_frames,
        sent_frames=_count(metric, "frames_tx"),
        received_frames=_count(metric, "frames_rx"),
        effective_duration_ns=min(max(asked_ns, seen.least_ns), seen.most_ns),
    )


def _plain(text: str | None) -> str:
    if text is None:
        raise ConfigError("OTG-05", "driver otg: addresses", expected="one on both ports", found="none")
    return str(ipaddress.ip_interface(text).ip)


_: type[TrafficDriver] = OtgTraffic

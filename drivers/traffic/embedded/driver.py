"""The embedded tester as a TrafficDriver: ports and trials; the process itself is process.py's."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.drivers.api import JsonValue, TesterPort, TrafficLimits
from bmwg.drivers.testbed import Testbed
from bmwg.drivers.traffic.embedded.build import source_digest
from bmwg.drivers.traffic.embedded.ports import (
    DEFAULT_MTU,
    NETDEV_KINDS,
    check_interface,
    check_port,
    limits_of,
    min_frame_octets,
    request_for,
    ring_for,
)
from bmwg.drivers.traffic.embedded.process import EmbeddedConfig, TesterProcess
from bmwg.drivers.traffic.embedded.protocol import RefusalError, nonsense, read_stream, whole
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError, ToolkitError
from bmwg.methodology.records import (
    Direction,
    FrameFormat,
    HostDisturbance,
    StreamCounts,
    TrialResult,
    TrialSpec,
)

__all__ = ["EmbeddedConfig", "EmbeddedTraffic"]

ATTACH_DEADLINE_S = 30.0
TRIAL_MARGIN_S = 15.0  # beyond trial and drain, before a silent tester is taken for hung
POOL_FRAMES = 8192
MAX_FLOWS = 16352  # UDP source ports from 0xc020 up (rfc2544 appendix C.2.6.4)
MAX_TRIAL_NUMBER = 32767  # 15 bits of the signature; a frame of the trial 32,767 before cannot be on its way
FORMAT_NUMBER = {FrameFormat.ETHERNET: 0, FrameFormat.IPV4_UDP: 1, FrameFormat.IPV6_UDP: 2}


class EmbeddedTraffic:
    """TrafficDriver over the embedded tester. One instance, one process, used from one thread."""

    def __init__(self, config: EmbeddedConfig) -> None:
        self.config = config
        self._process = TesterProcess(config)
        self._ports: tuple[TesterPort, TesterPort] | None = None
        self._limits: TrafficLimits | None = None
        self._mtus: list[int] = []
        self._slot_octets = 0
        self._queue_refused = False  # the kernel refused frames of a queue: it gets a new one
        self._instance = 0
        self._trial_number = 0
        self._hello: Mapping[str, Any] = {}

    def __enter__(self) -> EmbeddedTraffic:
        self._hello = self._process.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.stop()
        self._ports = self._limits = None

    @property
    def pid(self) -> int | None:
        """Process id of the tester while it runs."""
        return self._process.pid

    # -- ports --------------------------------------------------------------------------------

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> EmbeddedTraffic:
        """Make the tester that a testbed file asks for; counters must stand still for `drain_s` seconds."""
        return cls(
            EmbeddedConfig(
                cpus=testbed.tester.cpus,
                watch_cpus=testbed.dut.cpus,
                run_dir=run_dir,
                lab_ports=frozenset(testbed.lab_ports),
                drain_quiet_s=drain_s,
                pci=testbed.tester.io == "pci",
            )
        )

    def attach(self, ports: tuple[TesterPort, TesterPort], /) -> TrafficLimits:
        """Bind two ports and resolve their next hops; sends nothing but ARP and ND.

        Refusals are those of ports.py; TestbedError TST-11 (DPDK cannot open it), TST-09 (no next hop).
        """
        self.detach()
        for port in ports:
            check_port(port, self.config.lab_ports)
        self._mtus = [
            check_interface(port, self.config.lab_ports) if port.io in NETDEV_KINDS else DEFAULT_MTU
            for port in ports
        ]
        self._plug(ports, frame_octets=64)
        try:
            self._resolve(ports)
        except ToolkitError:
            self._unplug()
            raise
        self._ports = ports
        self._limits = limits_of(ports, self._mtus)
        return self._limits

    def _plug(self, ports: tuple[TesterPort, TesterPort], *, frame_octets: int) -> None:
        requests = []
        # Jumbo buffers are four times as large: fewer of them keep the memory flat.
        pool_frames = POOL_FRAMES if max(self._mtus) <= 3500 else POOL_FRAMES // 4
        for port, mtu in zip(ports, self._mtus, strict=True):
            self._instance += 1
            requests.append(
                request_for(port, self._instance, mtu=mtu, frame_octets=frame_octets, pool_frames=pool_frames)
            )
        try:
            reply = self._process.request("attach", {"ports": requests}, deadline_s=ATTACH_DEADLINE_S)
        except RefusalError as refusal:
            raise TestbedError(
                "TST-11",
                f"tester ports {ports[0].name}, {ports[1].name}: {refusal.text}; no traffic was sent",
                expected=f"devices that DPDK can open ({ports[0].io}, {ports[1].io})",
                found=refusal.code,
                hint=f"the tester's log says more: {self._process.log_path}",
            ) from refusal
        self._mtus = [whole(entry, "mtu") for entry in reply]
        self._slot_octets = ring_for(frame_octets).slot_octets

    def _resolve(self, ports: tuple[TesterPort, TesterPort]) -> None:
        deadline_s = self.config.resolve_deadline_s
        try:
            self._process.request("resolve", {"deadline_s": deadline_s}, deadline_s=deadline_s + 5.0)
        except RefusalError as refusal:
            name, _, family = refusal.text.partition(" ")
            port = next((port for port in ports if port.name == name), ports[0])
            gateway = port.gateway_ipv6 if family == "ipv6" else port.gateway_ipv4
            raise TestbedError(
                "TST-09",
                f"tester port {port.name} ({port.device}): next hop {gateway}; no test traffic was sent",
                expected=f"an answer to {'ND' if family == 'ipv6' else 'ARP'} within {deadline_s:.1f} s",
                found="none",
                hint="is the device under test up, and is this address configured on its side?",
            ) from refusal

    def detach(self) -> None:
        """Let go of both ports; their interfaces are as they were before."""
        if self._ports is not None:
            self._ports = self._limits = None
            self._unplug()

    def _unplug(self) -> None:
        if self._process.broken is None:
            self._process.request("detach", {}, deadline_s=ATTACH_DEADLINE_S)

    # -- trials --------------------------------------------------------------------------------

    def _check(self, spec: TrialSpec) -> tuple[TesterPort, TesterPort]:
        """Refuse what the ports cannot carry: TST-15, TST-16 (size), TST-17 (flows, addresses)."""
        if self._ports is None or self._limits is None:
            raise DriverError("TST-15", "embedded tester: no ports are attached", hint="attach() comes first")
        tagged = spec.vlan_id is not None
        least = max(self._limits.min_frame_octets, min_frame_octets(spec.frame_format, tagged))
        if not least <= spec.frame_octets <= self._limits.max_frame_octets:
            raise ConfigError(
                "TST-16",
                f"size of {'tagged ' if tagged else ''}{spec.frame_format} frames on {self._ports[0].io}; "
                "no traffic was sent",
                expected=f"{least}..{self._limits.max_frame_octets} octets",
                found=str(spec.frame_octets),
                hint="the lower limit is headers and signature, the upper the MTU of interface and device",
            )
        most_flows = 1 if spec.frame_format is FrameFormat.ETHERNET else MAX_FLOWS
        if spec.flows > most_flows:
            raise ConfigError(
                "TST-17",
                f"flows of {spec.frame_format} frames; no traffic was sent",
                expected=f"1..{most_flows}",
                found=str(spec.flows),
            )
        for port in self._ports:
            family = {FrameFormat.IPV4_UDP: port.ipv4, FrameFormat.IPV6_UDP: port.ipv6}
            if family.get(spec.frame_format, "none needed") is None:
                raise ConfigError(
                    "TST-17",
                    f"{spec.frame_format} frames; no traffic was sent",
                    expected="such an address on both ports",
                    found=f"none on {port.name}",
                )
        return self._ports

    def _fit_rings(self, ports: tuple[TesterPort, TesterPort], frame_octets: int) -> None:
        """Plug anew where a packet socket's ring needs slots of another size, or a queue has gone bad.

        Seen about once in 400 trials on Linux 6.18 with DPDK 22.11: after a stall the kernel refuses most
        descriptors of an AF_XDP queue from then on. The trial in which it began is not valid.
        """
        other_slots = ring_for(frame_octets).slot_octets != self._slot_octets
        if self._queue_refused:  # a new queue of the same process is refused too
            self._process.stop()
            self._process = TesterProcess(self.config)
            self._hello = self._process.start()
        if self._queue_refused or (other_slots and any(port.io == "af_packet" for port in ports)):
            self._plug(ports, frame_octets=frame_octets)
            self._resolve(ports)
            self._queue_refused = False

    def _order(self, spec: TrialSpec, intended: int, load_fps: float, direction: Direction) -> dict[str, Any]:
        self._trial_number = self._trial_number % MAX_TRIAL_NUMBER + 1
        return {
            "number": self._trial_number,
            "frame_octets": spec.frame_octets,
            "vlan": spec.vlan_id or 0,
            "flows": spec.flows,
            "format": FORMAT_NUMBER[spec.frame_format],
            "intended": intended,
            "load_fps": load_fps,
            "forward": direction in (Direction.FORWARD, Direction.BOTH),
            "reverse": direction in (Direction.REVERSE, Direction.BOTH),
            "burst_limit": self.config.burst_frames,
            "drain_quiet_s": self.config.drain_quiet_s,
            "drain_limit_s": self.config.drain_limit_s,
        }

    def learn(self, spec: TrialSpec, /) -> None:
        """Send learning frames from both ports (rfc2544-23), at least ten and one a flow, and forget them.

        DriverError TST-12 or TST-13 when the tester dies or hangs.
        """
        self._fit_rings(self._check(spec), spec.frame_octets)
        frames = max(10, spec.flows)
        load_fps = max(200.0, frames / 2.0)
        self._trial(self._order(spec, frames, load_fps, Direction.BOTH), frames / load_fps)

    def run_trial(self, spec: TrialSpec, /) -> TrialResult:
        """Send one trial and count it; a tester that dies or hangs gives a result with `fault`."""
        ports = self._check(spec)
        self._fit_rings(ports, spec.frame_octets)
        order = self._order(spec, spec.intended_frames, float(spec.load_fps), spec.direction)
        steal_before_ns = read_steal_ns()
        began_ns = time.monotonic_ns()
        try:
            reply = self._trial(order, spec.duration_s)
        except DriverError as error:
            if error.error_id not in ("TST-12", "TST-13"):
                raise
            return _faulty(spec, str(error.found), time.monotonic_ns() - began_ns)
        result = read_result(spec, tuple(port.name for port in ports), reply, steal_before_ns)
        self._queue_refused = any(
            value for key, value in result.auxiliary if key.endswith(".queue_tx_refused")
        )
        return result

    def _trial(self, order: Mapping[str, Any], duration_s: float) -> Mapping[str, Any]:
        deadline_s = duration_s + self.config.drain_limit_s + TRIAL_MARGIN_S
        try:
            reply = self._process.request("trial", order, deadline_s=deadline_s)
        except RefusalError as refusal:
            raise DriverError(
                "TST-18", f"embedded tester: {refusal.text}; no traffic was sent", found=refusal.code
            ) from refusal
        except BaseException:
            # Ctrl-C while it sends: request and reply are out of step, so this tester ends here.
            if self._process.broken is None:
                self._process.broken = "a trial was interrupted"
                self._process.kill()
            raise
        if not isinstance(reply, dict):
            raise nonsense("trial", reply)
        return reply

    def describe(self) -> Mapping[str, JsonValue]:
        """Name, versions and settings, for the platform record."""
        return {
            "driver": "embedded",
            "simulated": False,
            "dpdk": self._hello.get("dpdk"),
            "protocol": self._hello.get("protocol"),
            "tsc_hz": self._hello.get("tsc_hz"),
            "source_sha256": source_digest(),
            "cpus": list(self.config.cpus),
            "watch_cpus": list(self.config.watch_cpus),
            "burst_frames": self.config.burst_frames,
            "memory_mib": self.config.memory_mib,
            "drain_quiet_s": self.config.drain_quiet_s,
            "drain_limit_s": self.config.drain_limit_s,
            "max_flows": MAX_FLOWS,
            "ports": [
                {"name": port.name, "io": port.io, "device": port.device} for port in self._ports or ()
            ],
        }


def _faulty(spec: TrialSpec, reason: str, wall_time_ns: int) -> TrialResult:
    directions = 2 if spec.direction is Direction.BOTH else 1
    empty = StreamCounts(intended_frames=spec.intended_frames, sent_frames=0, received_frames=0)
    return TrialResult(spec=spec, streams=(empty,) * directions, wall_time_ns=wall_time_ns, fault=reason)


def read_result(
    spec: TrialSpec, ports: Sequence[str], reply: Any, steal_before_ns: Mapping[int, int]
) -> TrialResult:
    """The tester's counts as a record, `ports` by name.

    DriverError TST-14 when they contradict each other or are not what the protocol knows.
    """
    try:
        return _result_of(spec, ports, reply, steal_before_ns)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise nonsense(f"a trial's reply ({type(error).__name__}: {str(error)[:80]})", reply) from error


def _result_of(
    spec: TrialSpec, ports: Sequence[str], reply: Mapping[str, Any], steal_before_ns: Mapping[int, int]
) -> TrialResult:
    gap_ns = whole(reply, "largest_gap_ns")
    streams = []
    auxiliary: dict[str, int] = {}
    pairs = zip(reply["port_counters_before"], reply["port_counters"], strict=True)
    counted = [_counted(before, after) for before, after in pairs]
    ends = zip(("forward", "reverse"), reply["streams"], counted, reversed(counted), strict=True)
    for name, entry, sender, receiver in ends:
        if entry is None:
            continue
        stream = read_stream(entry, largest_gap_ns=gap_ns)
        held = _held_frames(stream, sender)
        auxiliary[f"{name}.held_frames"] = held
        streams.append(
            replace(
                stream,
                sent_frames=stream.sent_frames - held,
                tester_dropped_frames=receiver.get("queue_rx_dropped", 0) + sender.get("queue_tx_refused", 0),
            )
        )
        for key in ("stale_frames", "beyond_window_frames", "backpressure_bursts"):
            auxiliary[f"{name}.{key}"] = whole(entry, key)
    for port, counters, unassigned in zip(ports, counted, reply["unassigned_frames"], strict=True):
        auxiliary[f"{port}.unassigned_frames"] = whole({"unassigned_frames": unassigned}, "unassigned_frames")
        auxiliary |= {f"{port}.{key}": value for key, value in counters.items()}
    for key in ("gaps_over_1ms", "loop_passes", "no_buffer_events"):
        auxiliary[key] = whole(reply, key)
    steal_ns = {cpu: ns - steal_before_ns.get(cpu, ns) for cpu, ns in sorted(read_steal_ns().items())}
    return TrialResult(
        spec=spec,
        streams=tuple(streams),
        wall_time_ns=whole(reply, "wall_time_ns"),
        disturbance=HostDisturbance(
            steal_ns=tuple(steal_ns.items()),
            largest_stall_ns=tuple(
                (dog["cpu"], whole(dog, "largest_stall_ns")) for dog in reply["watchdogs"]
            ),
        ),
        fault="the trial was interrupted" if reply["aborted"] else None,
        auxiliary=tuple(sorted(auxiliary.items())),
    )


def _counted(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, int]:
    """What an interface counted during the trial; empty for a device that is no interface."""
    if before is None or after is None:
        return {}
    return {key: whole(after, key) - whole(before, key) for key in after}


def _held_frames(stream: StreamCounts, counted: Mapping[str, int]) -> int:
    """Frames that the device took and the interface never saw: they were not sent, and nobody lost them."""
    if "tx_packets" not in counted:
        return 0
    seen = counted["tx_packets"] + counted["tx_dropped"]
    return min(max(0, stream.sent_frames - seen), stream.sent_frames - stream.received_frames)


def read_steal_ns() -> dict[int, int]:
    """Time that the hypervisor took from each CPU since boot, in ns (/proc/stat, 10 ms grain)."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    steal: dict[int, int] = {}
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu" and len(words) > 8:
            steal[int(words[0][3:])] = int(words[8]) * tick_ns
    return steal

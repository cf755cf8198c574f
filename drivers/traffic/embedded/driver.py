"""The embedded tester as a TrafficDriver: ports and trials; the process itself is process.py's."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficLimits
from bmwg.drivers.api.workload import Takes
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.testbed.medium import medium_of
from bmwg.drivers.traffic.embedded import lanes, pattern, pci
from bmwg.drivers.traffic.embedded.build import source_digest
from bmwg.drivers.traffic.embedded.destinations import LEARNING_FRAMES, SEED, drawn
from bmwg.drivers.traffic.embedded.extras import ROUTES, extras, states
from bmwg.drivers.traffic.embedded.ports import (
    DEFAULT_MTU,
    NETDEV_KINDS,
    PCI,
    check_interface,
    check_ports,
    limits_of,
    request_for,
    ring_for,
)
from bmwg.drivers.traffic.embedded.process import EmbeddedConfig, TesterProcess
from bmwg.drivers.traffic.embedded.protocol import RefusalError, nonsense, whole
from bmwg.drivers.traffic.embedded.result import (
    beyond_stamps,
    faulty,
    plain,
    read_result,
    read_steal_ns,
    with_count,
)
from bmwg.drivers.traffic.embedded.rss import Rss, queues_of, steered
from bmwg.drivers.traffic.embedded.trial_fit import check_trial, max_flows, most_octets, tagged, tags_8021q
from bmwg.drivers.traffic.embedded.xdp import refused
from bmwg.drivers.traffic.of_frames import OfFrames
from bmwg.methodology.answers.latency import SOFTWARE_STAMPS, STORE_AND_FORWARD
from bmwg.methodology.benchmarks.back_to_back import listening_s
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError
from bmwg.methodology.records import Direction, FrameFormat, TrialResult, TrialSpec
from bmwg.methodology.trial.pattern import LEAST_PORTS, MOST_PORTS, PHASE_SEED

__all__ = ["EmbeddedConfig", "EmbeddedTraffic"]

ATTACH_DEADLINE_S = 30.0
LATE_S = 50e-6  # beyond its load's time, in which the last frames of a trial may leave
BURST_LATE_S = 2e-3  # a burst leaves whole, or its lateness shows that it was none
TRIAL_MARGIN_S = 15.0  # beyond trial and drain, before a silent tester is taken for hung
POOL_FRAMES = 8192
MAX_TRIAL_NUMBER = 32767  # 15 bits of the signature; a frame of the trial 32,767 before cannot be on its way
FORMAT_NUMBER = {FrameFormat.ETHERNET: 0, FrameFormat.IPV4_UDP: 1, FrameFormat.IPV6_UDP: 2}


class EmbeddedTraffic(OfFrames):
    """TrafficDriver over the embedded tester. One instance, one process, used from one thread."""

    takes: ClassVar[Takes] = Takes(least=LEAST_PORTS, most=MOST_PORTS)

    def __init__(self, config: EmbeddedConfig) -> None:
        self.config = config
        self._process = TesterProcess(config)
        self._ports: tuple[TesterPort, ...] | None = None
        self._limits: TrafficLimits | None = None
        self._mtus: list[int] = []
        self._links_mbps: list[int] = []  # of PCI ports; 0: not told
        self._queues: tuple[Rss | None, ...] = (None, None)  # how each port spreads frames over its queues
        self._slot_octets = 0
        self._gateway_mac = ""
        self._queue_refused = False  # the kernel refused frames of a queue: it gets a new one
        self._ring_holds = False  # frames of the last trial stand in a packet socket's ring
        self._instance = 0
        self._trial_number = 0
        self._updates = 0  # routing updates sent so far
        self._draws = random.SystemRandom()  # each trial draws its destinations anew
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
    def pci_memory_mib(cls, testbed: Testbed, /) -> int | None:
        """Say what all lanes need together, whose buffers are in hugepages. Raises ConfigError TST-27."""
        return lanes.needed_mib(testbed)

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> EmbeddedTraffic:
        """Make the tester that a testbed file asks for; counters must stand still for `drain_s` seconds."""
        tester = testbed.tester
        settings = lanes.read_settings(tester.options, tester.cpus, testbed.file)
        cpus = tester.cpus[: settings.lanes]
        descriptors = settings.descriptors or lanes.DESCRIPTORS
        return cls(
            EmbeddedConfig(
                cpus=cpus,
                descriptors=descriptors,
                memory_mib=lanes.needed_mib(testbed),
                watch_cpus=testbed.dut.cpus if testbed.dut_cpus_here else (),
                run_dir=run_dir,
                lab_ports=frozenset(testbed.lab_ports),
                drain_quiet_s=drain_s,
                pci=tester.io == PCI,
                line_rate_bps=medium_of(testbed).line_rate_bps,
                mac_step=settings.mac_step,
            )
        )

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        """Bind two to eight ports and resolve their next hops; sends nothing but ARP and ND.

        Refusals are those of ports.py, pci.py and xdp.py; TestbedError TST-11 (DPDK cannot open it), TST-09
        (no next hop).
        """
        self.detach()
        self.takes.refuse("embedded", ports)
        check_ports(ports, self.config.lab_ports)
        lanes.check_kinds(ports, len(self.config.cpus))
        lanes.check_nodes(ports, self.config.cpus)
        self._mtus = [
            check_interface(port, self.config.lab_ports)
            if port.io in NETDEV_KINDS
            else port.mtu_octets or DEFAULT_MTU
            for port in ports
        ]
        self._plug(ports, frame_octets=64)
        try:
            pci.require_line_rate(ports, self._links_mbps, self.config.line_rate_bps)
            self._resolve(ports)
        except ToolkitError:
            self._unplug()
            raise
        self._ports = ports
        self._limits = limits_of(ports, self._mtus, lanes.capabilities_of(len(self.config.cpus), ports))
        return self._limits

    def _plug(self, ports: tuple[TesterPort, ...], *, frame_octets: int) -> None:
        requests = []
        # Jumbo buffers are four times as large: fewer of them keep the memory flat.
        pool_frames = max(POOL_FRAMES, 4 * self.config.descriptors)
        if max(self._mtus) > 3500:
            pool_frames //= 4
        for port, mtu in zip(ports, self._mtus, strict=True):
            self._instance += 1
            requests.append(
                request_for(
                    port,
                    self._instance,
                    mtu=mtu,
                    frame_octets=frame_octets,
                    pool_frames=pool_frames,
                    lanes=len(self.config.cpus),
                    descriptors=self.config.descriptors,
                )
            )
        try:
            order = {
                "ports": requests,
                "lanes": len(self.config.cpus),
                "link_deadline_s": pci.LINK_DEADLINE_S,
            }
            reply = self._process.request("attach", order, deadline_s=ATTACH_DEADLINE_S)
        except RefusalError as refusal:
            if refusal.code == pci.NO_LINK:
                raise pci.linkless(ports, refusal.text) from refusal
            named = refused(refusal, ports) or lanes.refused(refusal, ports, len(self.config.cpus))
            if named is not None:
                raise named from refusal
            raise TestbedError(
                "TST-11",
                f"tester ports {', '.join(port.name for port in ports)}: {refusal.text}; no traffic was sent",
                expected=f"devices that DPDK can open ({', '.join(port.io for port in ports)})",
                found=refusal.code,
                hint=f"the tester's log says more: {self._process.log_path}",
            ) from refusal
        self._mtus = [whole(entry, "mtu") for entry in reply]
        self._links_mbps = [whole(entry, "link_mbps") for entry in reply]
        self._queues = queues_of(reply)
        self._slot_octets = ring_for(frame_octets).slot_octets

    def _resolve(self, ports: tuple[TesterPort, ...]) -> None:
        deadline_s = self.config.resolve_deadline_s
        try:
            ends = self._process.request("resolve", {"deadline_s": deadline_s}, deadline_s=deadline_s + 5.0)
            self._gateway_mac = ports[0].peer_mac or str(ends[0]["gateway_ipv4_mac"])
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

    def _check(self, spec: TrialSpec) -> tuple[TesterPort, ...]:
        """Refuse what the ports cannot carry: TST-15, and those of trial_fit.py."""
        if self._ports is None or self._limits is None:
            raise DriverError("TST-15", "embedded tester: no ports are attached", hint="attach() comes first")
        check_trial(spec, self._ports, self._limits)
        return self._ports

    def _fit_rings(self, ports: tuple[TesterPort, ...], frame_octets: int) -> None:
        """Plug anew where a packet socket's ring needs other slots or still holds frames, or a queue is bad.

        A ring holds what the device behind it had no room for: a NIC of a guest has little. The kernel goes
        on only when somebody sends, so these frames would go before those of the next trial.
        Seen about once in 400 trials on Linux 6.18 with DPDK 22.11: after a stall the kernel refuses most
        descriptors of an AF_XDP queue from then on. The trial in which it began is not valid.
        """
        other_slots = ring_for(frame_octets).slot_octets != self._slot_octets
        if self._queue_refused:  # a new queue of the same process is refused too
            self._process.stop()
            self._process = TesterProcess(self.config)
            self._hello = self._process.start()
        stale = other_slots or self._ring_holds
        if self._queue_refused or (stale and any(port.io == "af_packet" for port in ports)):
            self._plug(ports, frame_octets=frame_octets)
            self._resolve(ports)
            self._queue_refused = self._ring_holds = False

    def _order(self, spec: TrialSpec, intended: int, load_fps: float, direction: Direction) -> dict[str, Any]:
        self._trial_number = self._trial_number % MAX_TRIAL_NUMBER + 1
        ports = self._ports
        seed = self._draws.getrandbits(62)  # of networks, or of rhythms: no trial has both
        quiet_s, limit_s = self.config.drain_quiet_s, self.config.drain_limit_s
        if spec.burst:
            quiet_s, limit_s = listening_s(spec, quiet_s)
        return {
            "number": self._trial_number,
            "frame_octets": spec.frame_octets,
            **tags_8021q(spec),
            "flows": spec.flows,
            "format": FORMAT_NUMBER[spec.frame_format],
            "intended": intended,
            "load_fps": load_fps,
            "forward": direction in (Direction.FORWARD, Direction.BOTH),
            "reverse": direction in (Direction.REVERSE, Direction.BOTH),
            "burst_limit": self.config.burst_frames,
            "drain_quiet_s": quiet_s,
            "drain_limit_s": limit_s,
            "first": spec.first_frames if spec.then_load_fps else intended,
            "then_load_fps": float(spec.then_load_fps or 0),
            "late_s": BURST_LATE_S if spec.burst else LATE_S,
            "loss_times": spec.loss_times,
            "broadcast_every": spec.broadcast_every or 0,
            "extras": extras(spec.modifier, ports[0], self._gateway_mac, self._updates) if ports else [],
            **tagged(spec),
            "mix": list(spec.mix_octets),
            **drawn(spec, ports, seed),
            "burst_frames": spec.burst_frames or 0,
            "burst_fps": float(spec.burst_fps or 0),
            "source_ports": self._source_ports(spec),
            "pattern": pattern.order_of(spec, len(ports or ()), seed, self.config.mac_step),
        }

    def _source_ports(self, spec: TrialSpec) -> list[list[list[int]]] | None:
        """Source ports by which each lane's frames come to its own queue; None: they come where they come."""
        several, plain_ip = len(self.config.cpus) > 1, spec.destination_networks == 1
        if not (self._ports and several and plain_ip) or spec.frame_format is FrameFormat.ETHERNET:
            return None
        ipv4 = spec.frame_format is FrameFormat.IPV4_UDP
        addresses = [(port.ipv4 if ipv4 else port.ipv6) or "" for port in self._ports]
        ends = list(zip(addresses, self._queues, strict=True))
        return steered(ends, lanes=len(self.config.cpus), flows=spec.flows)

    def learn(self, spec: TrialSpec, /) -> None:
        """Send learning frames from both ports (rfc2544-23), at least ten and one a flow, and forget them.

        DriverError TST-12 or TST-13 when the tester dies or hangs.
        """
        self._fit_rings(self._check(spec), most_octets(spec))
        spec = plain(spec)
        addresses = spec.pattern.sources if spec.pattern else 1
        frames = max(10, spec.flows, LEARNING_FRAMES * spec.destination_networks, addresses)
        load_fps = max(200.0, frames / 2.0)
        self._trial(self._order(spec, frames, load_fps, Direction.BOTH), frames / load_fps)

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Send one trial and count it; a tester that dies or hangs gives a result with `fault`."""
        ports = self._check(spec)
        self._fit_rings(ports, most_octets(spec))
        order = self._order(spec, spec.intended_frames, float(spec.load_fps), spec.direction)
        steal_before_ns, began_ns = read_steal_ns(), time.monotonic_ns()
        try:
            reply = self._trial(order, spec.total_s)
        except DriverError as error:
            if error.error_id not in ("TST-12", "TST-13"):
                raise
            return faulty(spec, str(error.found), time.monotonic_ns() - began_ns)
        result = self._with_updates(self._with_links(read_result(spec, ports, reply, steal_before_ns)), reply)
        if not result.fault:
            lost = pci.lost_link(ports, self._links_mbps, reply["link_mbps"])
            result = replace(result, fault=lost or beyond_stamps(result, ports, float(self._hello["tsc_hz"])))
        if spec.destination_networks > 1:
            result = with_count(result, SEED, order["seed"])
        if spec.pattern and (len(spec.pattern.senders) > 1 or spec.pattern.draws_pairs):
            result = with_count(result, PHASE_SEED, order["pattern"]["seed"])
        left = {key.rpartition(".")[2] for key, value in result.auxiliary if value}
        self._queue_refused, self._ring_holds = "queue_tx_refused" in left, "held_frames" in left
        return result

    def _trial(self, order: Mapping[str, Any], duration_s: float) -> Mapping[str, Any]:
        deadline_s = duration_s + float(order["drain_limit_s"]) + TRIAL_MARGIN_S
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

    def _with_links(self, result: TrialResult) -> TrialResult:
        """Tell the MTU of each port's link, octets."""
        links = zip(self._ports or (), self._mtus, strict=False)
        told = {f"{port.name}.mtu_octets": mtu for port, mtu in links}
        return replace(result, auxiliary=tuple(sorted((*result.auxiliary, *told.items()))))

    def _with_updates(self, result: TrialResult, reply: Any) -> TrialResult:
        """Tell the states of a trial's routing updates; the next trial's go on from there."""
        if result.spec.modifier != ROUTES:
            return result
        told = states(sent := [int(extra["sent_frames"]) for extra in reply["extras"]], self._updates)
        self._updates += sum(sent)
        return replace(result, auxiliary=tuple(sorted((*result.auxiliary, *told.items()))))

    def describe(self) -> Mapping[str, JsonValue]:
        """Name, versions and settings, for the platform record."""
        return {
            "driver": "embedded",
            "simulated": False,
            "latency_way": "one-way",
            **pattern.described(self.config.mac_step),
            "counting": {
                "duplicate_frames": "beside the received ones, which hold the first copy of each; never lost",
                "reordered_frames": "received, and counted beside (RFC 4737 3.3); never lost"
                + ("; of one lane's frames in one queue" if len(self.config.cpus) > 1 else ""),
            },
            "dpdk": self._hello.get("dpdk"),
            "protocol": self._hello.get("protocol"),
            "tsc_hz": self._hello.get("tsc_hz"),
            "source_sha256": source_digest(),
            "cpus": list(self.config.cpus),
            "watch_cpus": list(self.config.watch_cpus),
            "burst_frames": self.config.burst_frames,
            "lanes": len(self.config.cpus),
            "descriptors": self.config.descriptors,
            "memory_mib": self.config.memory_mib,
            "hugepages": self.config.pci,
            "drain_quiet_s": self.config.drain_quiet_s,
            "drain_limit_s": self.config.drain_limit_s,
            "max_flows": max_flows(len(self.config.cpus)),
            "verifies": ["signature", "sequence", "length", "payload"],
            "latency_definition": STORE_AND_FORWARD,
            "latency_stamps": SOFTWARE_STAMPS,
            "answers_resolution": ["arp", "nd"],
            "test_frame": self._hello.get("test_frame"),
            "ports": [{"name": p.name, "io": p.io, "device": p.device} for p in self._ports or ()],
        }

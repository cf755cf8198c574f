"""TRex as a TrafficDriver: server, client and watch put together; one trial is trial.py's.

A server that the run starts lives in the network namespace of its two ports, and so do its remote calls: two
runs on one machine never meet. A server that stands already is attached to; its ports are acquired and
released, and ports of somebody else are refused by name. Ids: TREX-16 a trial TRex cannot send.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import IO, ClassVar

from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficDriver, TrafficLimits
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.traffic.embedded.ports import ETHERNET_OCTETS, check_interface, check_port
from bmwg.drivers.traffic.embedded.result import read_steal_ns
from bmwg.drivers.traffic.of_frames import BY_FRAMES, OfFrames
from bmwg.drivers.traffic.trex import frames
from bmwg.drivers.traffic.trex.channel import Client, ClientProcess, RefusedError
from bmwg.drivers.traffic.trex.config import TrexConfig, config_of
from bmwg.drivers.traffic.trex.connection import Connection, plain
from bmwg.drivers.traffic.trex.server import Server, require_one_place
from bmwg.drivers.traffic.trex.trial import TrialRunner, Wait, streams_of
from bmwg.drivers.traffic.watchdog.process import Watch, disturbance
from bmwg.methodology.answers.latency import SOFTWARE_STAMPS, STORE_AND_FORWARD
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.records import FCS_OCTETS, FrameFormat, TrialResult, TrialSpec
from bmwg.methodology.trial.capabilities import Capability, refuse_beyond
from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS

_ABLE = frozenset(
    {
        Capability.IPV4_UDP,
        Capability.IPV6_UDP,  # TRex counts streams by IP
        Capability.VLAN,
        Capability.BOTH_DIRECTIONS,
        Capability.MIX,
        Capability.LATENCY,
    }
)

ClientFactory = Callable[[TrexConfig, str | None, IO[bytes]], Client]


def start_client(config: TrexConfig, netns: str | None, log: IO[bytes]) -> Client:
    """The real client, in its own process."""
    return ClientProcess(config.client, netns=netns, log=log)


class TrexTraffic(OfFrames):
    """TrafficDriver over TRex stateless. One instance, one server, used from one thread."""

    one_place: ClassVar[bool] = True

    def __init__(self, config: TrexConfig, make_client: ClientFactory = start_client) -> None:
        self.config = config
        self._make_client = make_client
        self._stack = ExitStack()
        self._server: Server | None = None
        self._watch: Watch | None = None
        self._runner: TrialRunner | None = None
        self._ports: tuple[TesterPort, TesterPort] | None = None
        self._limits: TrafficLimits | None = None
        self._versions: dict[str, JsonValue] = {}
        self._log: IO[bytes] | None = None

    @classmethod
    def pci_memory_mib(cls, _: Testbed, /) -> int | None:
        """Ask for no memory: it sees to its own."""
        return 0

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> TrexTraffic:
        """Make the driver that a testbed file asks for; TREX-01, TREX-02, TREX-03."""
        return cls(config_of(testbed, run_dir, drain_s))

    def __enter__(self) -> TrexTraffic:
        self.config.run_dir.mkdir(parents=True, exist_ok=True)
        self._log = (self.config.run_dir / "trex-client.log").open("ab")
        return self

    def __exit__(self, *exc: object) -> None:
        self._end()
        if self._log is not None:
            self._log.close()
            self._log = None

    @property
    def server_pid(self) -> int | None:
        """Process id of the server, or rather of what starts it; None when it was attached to."""
        return self._server.pid if self._server else None

    # -- ports --------------------------------------------------------------------------------

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        """Start or reach a server on two ports, acquire them and resolve the next hops."""
        self.detach()
        if self._log is None:
            raise DriverError("TREX-05", "driver trex: attach before the driver was entered")
        pair = self.two(ports)
        mtus = [self._checked(port) for port in pair]
        try:
            with ExitStack() as stack:
                self._open(pair, stack)
                self._stack = stack.pop_all()
        except BaseException:
            self._end()
            raise
        self._ports = pair
        most = min(min(mtus) + ETHERNET_OCTETS + FCS_OCTETS, MAX_FRAME_OCTETS)
        if ports[0].io == "af_packet":
            most = min(most, self.config.options.slot_octets - 64)
        self._limits = TrafficLimits(
            min_frame_octets=64,
            max_frame_octets=most,
            capabilities=_ABLE,
        )
        return self._limits

    def _checked(self, port: TesterPort) -> int:
        """Refuse a port as the embedded tester does; its MTU (octets)."""
        check_port(port, self.config.lab_ports)
        if port.io == "af_packet":
            return check_interface(port, self.config.lab_ports)
        return 1500

    def _open(self, ports: tuple[TesterPort, TesterPort], stack: ExitStack) -> None:
        assert self._log is not None
        options = self.config.options
        netns = ports[0].netns if options.mode == "start" and ports[0].io == "af_packet" else None
        if options.mode == "start":
            require_one_place(ports)
            self._server = Server(self.config, ports)
            stack.callback(self._server.stop)
        client = self._make_client(self.config, netns, self._log)
        stack.callback(client.close)
        connection = Connection(self.config, client)
        connection.open(self._server)
        stack.callback(connection.leave)
        self._versions = connection.versions
        connection.acquire()
        ways = connection.ways(ports)
        wait = Wait(
            reply_s=options.reply_s,
            quiet_s=self.config.drain_quiet_s,
            limit_s=self.config.drain_limit_s,
            server_pid=self.server_pid,
        )
        self._runner = TrialRunner(client, options.ports, ways, wait, line_bps=connection.line_bps)
        interfaces = [port.device for port in ports] if ports[0].io == "af_packet" else []
        cpus = (*self.config.cpus, *self.config.watch_cpus) if options.mode == "start" else ()
        place = ports[0].netns if interfaces else None
        self._watch = Watch(cpus, netns=place, interfaces=interfaces, log=self._log)
        stack.callback(self._watch.close)

    def detach(self) -> None:
        """Let go of both ports; a server that we started ends, for its ports are fixed at its start."""
        if self._ports is not None:
            self._end()

    def _end(self) -> None:
        self._ports = self._limits = self._runner = None
        self._stack.close()
        self._stack = ExitStack()
        self._server = self._watch = None

    # -- trials --------------------------------------------------------------------------------

    def _checked_spec(self, spec: TrialSpec) -> tuple[TrialRunner, tuple[TesterPort, TesterPort]]:
        """Refuse by name what TRex cannot send (TREX-16); the runner with the addresses of the family."""
        if self._runner is None or self._ports is None or self._limits is None:
            raise DriverError("TREX-05", "driver trex: no ports are attached", hint="attach() comes first")
        refuse_beyond(spec, _ABLE, "trex")
        least = frames.min_frame_octets(spec.frame_format, tagged=spec.vlan_id is not None)
        smallest = min(spec.mix_octets or (spec.frame_octets,))
        if smallest < least or spec.frame_octets > self._limits.max_frame_octets:
            wanted = f"{least}..{self._limits.max_frame_octets} octets"
            hint = "headers and the sixteen octets that TRex writes into each frame; the interface's MTU"
            raise _unsendable("size", wanted, f"{smallest}..{spec.frame_octets}", hint)
        if spec.flows > frames.MAX_FLOWS:
            raise _unsendable("flows", f"1..{frames.MAX_FLOWS}", str(spec.flows))
        addresses = [
            port.ipv4 if spec.frame_format is FrameFormat.IPV4_UDP else port.ipv6 for port in self._ports
        ]
        if None in addresses:
            raise _unsendable("addresses", f"{spec.frame_format} on both ports", "a port without one")
        bare = [plain(address) for address in addresses]
        first, second = (
            replace(way, source_ip=bare[side], destination_ip=bare[1 - side])
            for side, way in enumerate(self._runner.ways)
        )
        self._runner.ways = (first, second)
        return self._runner, self._ports

    def learn(self, spec: TrialSpec, /) -> None:
        """Send learning frames from both ports and forget them; DriverError TREX-05 when TRex is lost."""
        runner, _ = self._checked_spec(spec)
        try:
            runner.learn(spec)
        except RefusedError as error:
            raise DriverError("TREX-06", "TRex: learning frames", found=error.text) from error

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Send one trial and count it; a TRex that dies, hangs or contradicts itself gives a `fault`."""
        runner, ports = self._checked_spec(spec)
        assert self._watch is not None
        steal_before_ns = read_steal_ns()
        began_ns = time.monotonic_ns()
        sent = runner.send(spec, self._watch)
        sight = sent.sight or self._watch.read()
        wall_ns = time.monotonic_ns() - began_ns
        if sent.fault is None and self._server is not None and (ended := self._server.ended):
            sent = replace(sent, fault=f"TRex's server ended: {ended}", reading=None)
        devices = [port.device for port in ports]
        result = streams_of(spec, sent, devices, sight, self.config.cpus)
        return replace(
            result,
            wall_time_ns=wall_ns,
            disturbance=disturbance(sight, steal_before_ns, read_steal_ns(), self.config.watch_cpus),
            auxiliary=(*result.auxiliary, ("sending_ns", sent.sending_ns)),
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """Name, versions and settings, for the platform record."""
        options = self.config.options
        return {
            "driver": "trex",
            "simulated": False,
            "latency_way": "one-way",
            **BY_FRAMES,
            "counting": {
                "duplicate_frames": "taken off the received ones, by TRex's own count",
                "reordered_frames": "received, and counted beside by TRex",
            },
            "mode": options.mode,
            "versions": dict(self._versions) or self._found_version(),
            "cpus": list(self.config.cpus),
            "watch_cpus": list(self.config.watch_cpus),
            "ring_frames": options.ring_frames,
            "slot_octets": options.slot_octets,
            "nice": options.nice,
            "verifies": ["signature", "sequence"],
            "latency_definition": STORE_AND_FORWARD,
            "latency_stamps": SOFTWARE_STAMPS,
            "drain_quiet_s": self.config.drain_quiet_s,
            "drain_limit_s": self.config.drain_limit_s,
            "latency": "whole microseconds, three digits; the mean is that of the buckets' middles",
            "mix": "each size is a stream of its own at its share of the load, in no fixed order",
            "ports": [
                {"name": port.name, "io": port.io, "device": port.device} for port in self._ports or ()
            ],
        }

    def _found_version(self) -> dict[str, JsonValue]:
        """What the folder says of itself before a server runs."""
        for place in (self.config.folder / "VERSION", self.config.folder.parent / "VERSION"):
            if place.is_file():
                return {"folder": place.read_text(encoding="ascii", errors="replace").strip()}
        return {"folder": None, "reason": "no file VERSION; the server says it when it runs"}


def _unsendable(what: str, expected: str, found: str, hint: str = "") -> ConfigError:
    return ConfigError(
        "TREX-16",
        f"driver trex: {what} of test frames; no traffic was sent",
        expected=expected,
        found=found,
        hint=hint,
    )


_: type[TrafficDriver] = TrexTraffic

"""MoonGen as a TrafficDriver: one run of our Lua script a trial, its results read from a file as JSON.

MoonGen needs NICs under DPDK and hugepages; its ports are numbers in DPDK's order. It counts all that its
ports carry: nothing else may send there.
Ids: MOON-01 no MoonGen, MOON-02 options, MOON-03 it fails, MOON-04 nonsense, MOON-05 a trial beyond
it, MOON-06 no ports, MOON-07 next hop.
"""

from __future__ import annotations

import ipaddress
import json
import math
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficDriver, TrafficLimits
from bmwg.drivers.nodes import bounded
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.traffic.of_frames import BY_FRAMES, OfFrames
from bmwg.drivers.traffic.trex.frames import MAX_FLOWS
from bmwg.methodology.answers.latency import STORE_AND_FORWARD
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.capabilities import Capability, refuse_beyond

SCRIPT = Path(__file__).with_name("trial.lua")
START_S = 60.0  # DPDK, links: MoonGen starts anew for each trial
MAX_FRAME_OCTETS = 1518
RING_FRAMES = 1024  # transmit descriptors that libmoon asks for where a script names none, as ours does
_ABLE = frozenset({Capability.IPV4_UDP, Capability.BOTH_DIRECTIONS})
_TEXT = ("dir", "mac_0", "mac_1")
_SWITCHES = ("hardware_stamps", "software_pacing")
_OPTIONS = (*_TEXT, *_SWITCHES, "port_0", "port_1", "burst")


@dataclass(frozen=True, slots=True, kw_only=True)
class MoonGenConfig:
    """`folder` holds the program; `ports` are DPDK's numbers, `macs` their addresses."""

    folder: Path
    ports: tuple[int, int]
    macs: tuple[str, str]
    run_dir: Path
    software_pacing: bool = False
    burst: int = 32
    drain_s: float = 0.05

    @property
    def program(self) -> Path:
        """MoonGen's program, as its own build leaves it."""
        return self.folder / "build" / "MoonGen"


def read_options(options: Mapping[str, Any], where: str, run_dir: Path, drain_s: float) -> MoonGenConfig:
    """Read `tester.options`; ConfigError MOON-02, TestbedError MOON-01."""
    wrong = [f"{name} is unknown" for name in sorted(set(options) - set(_OPTIONS))]
    wrong += [f"{name} is no text" for name in _TEXT if not isinstance(options.get(name), str)]
    wrong += [f"{name} is no switch" for name in _SWITCHES if not isinstance(options.get(name, False), bool)]
    if options.get("hardware_stamps") is True:
        wrong.append("hardware_stamps adds frames to the load, and no answer has what they tell")
    numbers = {"port_0": options.get("port_0", 0), "port_1": options.get("port_1", 1)}
    numbers["burst"] = options.get("burst", 32)
    wrong += [
        f"{name} is no number" for name, value in numbers.items() if type(value) is not int or value < 0
    ]
    if wrong:
        raise ConfigError(
            "MOON-02",
            f"{where}: tester.options of driver moongen; nothing was started",
            expected=f"{', '.join(_OPTIONS)}",
            found="; ".join(wrong),
        )
    config = MoonGenConfig(
        folder=Path(options["dir"]),
        ports=(numbers["port_0"], numbers["port_1"]),
        macs=(options["mac_0"], options["mac_1"]),
        run_dir=run_dir,
        software_pacing=options.get("software_pacing", False),
        burst=max(1, numbers["burst"]),
        drain_s=max(drain_s, 0.05),
    )
    if not config.program.is_file():
        raise TestbedError(
            "MOON-01",
            "driver moongen; nothing was started",
            expected=f"the program {config.program}",
            found="no such file",
        )
    return config


class MoonGenTraffic(OfFrames):
    """TrafficDriver over MoonGen; a process for each trial."""

    one_place: ClassVar[bool] = True
    renews_links: ClassVar[bool] = True  # DPDK starts the NICs in each trial's own process

    def __init__(self, config: MoonGenConfig) -> None:
        self.config = config
        self._ports: tuple[TesterPort, TesterPort] | None = None
        self._version: str | None = None

    @classmethod
    def pci_memory_mib(cls, _: Testbed, /) -> int | None:
        """Ask for no memory: it sees to its own."""
        return 0

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> MoonGenTraffic:
        """Make the driver that a testbed file asks for."""
        return cls(read_options(testbed.tester.options, testbed.file, run_dir, drain_s))

    def __enter__(self) -> MoonGenTraffic:
        self.config.run_dir.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, *exc: object) -> None:
        self._ports = None

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        """Take the two ports; MoonGen resolves no next hops, so their MAC must be known (MOON-07)."""
        pair = self.two(ports)
        for port in pair:
            if port.peer_mac is None and (port.gateway_ipv4 or port.gateway_ipv6):
                raise TestbedError(
                    "MOON-07",
                    f"tester port {port.name}; no traffic was sent",
                    expected="the MAC address of its next hop",
                    found=f"only its IP address {port.gateway_ipv4 or port.gateway_ipv6}",
                )
        self._ports = pair
        return TrafficLimits(
            min_frame_octets=64,
            max_frame_octets=MAX_FRAME_OCTETS,
            capabilities=_ABLE,
        )

    def detach(self) -> None:
        """Forget the ports: between trials no MoonGen runs."""
        self._ports = None

    def learn(self, spec: TrialSpec, /) -> None:
        """Send learning frames in both directions, at least ten and one a flow, and forget them."""
        count = max(10, spec.flows)
        load_fps = max(200, count // 2)
        short = replace(spec, direction=Direction.BOTH, load_fps=load_fps, duration_s=count / load_fps)
        self._run(short)

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """Send one trial and count it; a MoonGen that dies, hangs or answers nonsense gives a fault."""
        self._checked(spec)
        began_ns = time.monotonic_ns()
        directions = {Direction.FORWARD: (0,), Direction.REVERSE: (1,)}.get(spec.direction, (0, 1))
        try:
            found = self._run(spec)
            streams = tuple(_stream(spec, found, side) for side in directions)
            fault = None
        except DriverError as error:
            empty = StreamCounts(intended_frames=spec.intended_frames, sent_frames=0, received_frames=0)
            streams, fault = (empty,) * len(directions), f"{error.what}: {error.found}"
        return TrialResult(
            spec=spec, streams=streams, wall_time_ns=time.monotonic_ns() - began_ns, fault=fault
        )

    def _checked(self, spec: TrialSpec) -> tuple[TesterPort, TesterPort]:
        if self._ports is None:
            raise DriverError("MOON-06", "driver moongen: no ports are attached", hint="attach() comes first")
        refuse_beyond(spec, _ABLE, "moongen")
        if spec.frame_octets > MAX_FRAME_OCTETS or spec.flows > MAX_FLOWS:
            raise ConfigError(
                "MOON-05",
                "driver moongen: test frames; no traffic was sent",
                expected=f"at most {MAX_FRAME_OCTETS} octets, {MAX_FLOWS} flows",
                found=f"{spec.frame_octets} octets, {spec.flows} flows",
            )
        return self._ports

    def _order(self, spec: TrialSpec) -> dict[str, object]:
        ports = self._checked(spec)
        order: dict[str, object] = {
            "frame_octets": spec.frame_octets,
            "load_fps": spec.load_fps,
            "frames": spec.intended_frames,
            "flows": spec.flows,
            "burst": self.config.burst,
            "software_pacing": int(self.config.software_pacing),
            "drain_ms": math.ceil(self.config.drain_s * 1000),
            "send_0": int(spec.direction is not Direction.REVERSE),
            "send_1": int(spec.direction is not Direction.FORWARD),
        }
        for side, port in enumerate(ports):
            order[f"port_{side}"] = self.config.ports[side]
            order[f"mac_{side}"] = self.config.macs[side]
            order[f"next_{side}"] = port.peer_mac or self.config.macs[1 - side]
            order[f"ipv4_{side}"] = str(ipaddress.ip_interface(port.ipv4 or "198.18.0.0/32").ip)
        return order

    def _run(self, spec: TrialSpec) -> Mapping[str, Any]:
        with tempfile.TemporaryDirectory(dir=self.config.run_dir, prefix="moongen-") as folder:
            order, result = Path(folder, "order"), Path(folder, "result")
            lines = [f"{key} {value}\n" for key, value in self._order(spec).items()]
            order.write_text("".join(lines), encoding="ascii")
            deadline_s = START_S + 2 * spec.duration_s + self.config.drain_s
            argv = [str(self.config.program), str(SCRIPT), str(order), str(result)]
            try:
                done = bounded.run(argv, deadline_s=deadline_s, cwd=self.config.folder)
            except subprocess.TimeoutExpired as error:
                raise DriverError("MOON-03", "MoonGen", found=f"no end within {deadline_s:.0f} s") from error
            except (OSError, subprocess.SubprocessError) as error:
                raise DriverError("MOON-03", "MoonGen", found=str(error)) from error
            if done.returncode or not result.is_file():
                tail = " | ".join((done.stdout + done.stderr).strip().splitlines()[-5:])
                raise DriverError("MOON-03", "MoonGen", found=f"exit status {done.returncode}: {tail}")
            return _read(result.read_text(encoding="utf-8"))

    def describe(self) -> Mapping[str, JsonValue]:
        """Program, script and settings."""
        return {
            "driver": "moongen",
            "simulated": False,
            "latency_way": "one-way",
            **BY_FRAMES,
            "counting": {
                "duplicate_frames": "not told apart: each copy is a received frame",
                "reordered_frames": "received, and not told apart",
                "effective_duration_ns": "until the card has the last frame, and as asked for where its ring"
                " may have held the rest of that time back",
            },
            "program": str(self.config.program),
            "hardware_stamps": False,
            "verifies": [],
            "latency_definition": STORE_AND_FORWARD,  # no answer is of it
            "software_pacing": self.config.software_pacing,
            "ports": list(self.config.ports),
        }


def _read(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise DriverError("MOON-04", "MoonGen's result", found=repr(text[:200])) from error
    if not isinstance(found, dict) or not isinstance(found.get("ports"), dict):
        raise DriverError("MOON-04", "MoonGen's result", found=repr(text[:200]))
    return found


def _count(found: Mapping[str, Any], *path: str) -> int:
    value = below(found, *path)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise DriverError("MOON-04", "MoonGen's result", found=f"{'.'.join(path)} is {value!r}, no count")
    return int(value)


def _stream(spec: TrialSpec, found: Mapping[str, Any], side: int) -> StreamCounts:
    """One direction from its sender and the receiving port.

    The sender is done when the card's ring has the last frame. All have left a full ring's time later at
    most, by the rate that was asked for; where that is the time asked for, it stands (docs/adr/0618).
    """
    took = below(found, "senders", str(side), "took_s")
    if not isinstance(took, int | float) or not math.isfinite(took) or took < 0:
        raise DriverError("MOON-04", "MoonGen's result", found=f"took_s is {took!r}")
    held_s = RING_FRAMES / spec.load_fps
    return StreamCounts(
        intended_frames=spec.intended_frames,
        sent_frames=_count(found, "senders", str(side), "sent"),
        received_frames=_count(found, "ports", str(1 - side), "rx"),
        effective_duration_ns=round(min(max(took, spec.duration_s), took + held_s) * 1e9),
    )


_: type[TrafficDriver] = MoonGenTraffic

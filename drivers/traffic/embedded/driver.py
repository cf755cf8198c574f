"""The embedded tester as a TrafficDriver: starts the C program, commands it trial by trial, ends it by its pid."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

from bmwg.drivers.api import JsonValue, TesterPort, TrafficLimits
from bmwg.drivers.traffic.embedded.build import ensure_built, source_digest
from bmwg.drivers.traffic.embedded.ports import (
    NETDEV_KINDS,
    check_interface,
    check_port,
    limits_of,
    min_frame_octets,
    request_for,
    ring_for,
)
from bmwg.drivers.traffic.embedded.protocol import (
    Channel,
    Refusal,
    TesterGone,
    TesterLate,
    nonsense,
    read_stream,
    whole,
)
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError, ToolkitError
from bmwg.methodology.records import (
    Direction,
    FrameFormat,
    HostDisturbance,
    StreamCounts,
    TrialResult,
    TrialSpec,
)

START_DEADLINE_S = 30.0
ATTACH_DEADLINE_S = 30.0
TRIAL_MARGIN_S = 15.0  # beyond trial and drain, before a silent tester is taken for hung
STOP_DEADLINE_S = 3.0
MAX_FLOWS = 16352  # UDP source ports from 0xc020 up (rfc2544 appendix C.2.6.4)
FORMAT_NUMBER = {FrameFormat.ETHERNET: 0, FrameFormat.IPV4_UDP: 1, FrameFormat.IPV6_UDP: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedConfig:
    """How the tester is run.

    `cpus` holds the one CPU of its lcore; `watch_cpus` get a watchdog each; `run_dir` receives the program's log;
    `lab_ports` are interfaces of the initial namespace or PCI addresses that traffic may use. `burst_frames` is the
    most that leave at once when the sender woke late. `memory_mib` is DPDK's heap.
    """

    cpus: tuple[int, ...] = (0,)
    watch_cpus: tuple[int, ...] = ()
    run_dir: Path = Path("/run/bmwg")
    lab_ports: frozenset[str] = frozenset()
    burst_frames: int = 32
    memory_mib: int = 160
    drain_quiet_s: float = 0.05
    drain_limit_s: float = 2.0  # rfc2544-23: residual frames within two seconds
    resolve_deadline_s: float = 5.0
    pci: bool = False
    binary: Path | None = field(default=None)

    def __post_init__(self) -> None:
        """Refuse what the machine cannot be."""
        online = os.sched_getaffinity(0) | set(range(os.cpu_count() or 1))
        for what, cpus in (("cpus", self.cpus), ("watch_cpus", self.watch_cpus)):
            strange = [cpu for cpu in cpus if cpu not in online]
            if strange:
                raise ConfigError(
                    "TST-23", f"tester {what}", expected=f"CPUs of {sorted(online)}", found=str(strange)
                )
        if len(self.cpus) != 1:
            raise ConfigError(
                "TST-23",
                "tester cpus",
                expected="one CPU (one lcore serves both ports)",
                found=str(self.cpus),
            )
        if not 1 <= self.burst_frames <= 64:
            raise ConfigError("TST-23", "tester burst_frames", expected="1..64", found=str(self.burst_frames))


class EmbeddedTraffic:
    """TrafficDriver over the embedded tester. One instance, one process, used from one thread.

    The tester is killed by the kernel when the thread that entered this context ends.
    """

    def __init__(self, config: EmbeddedConfig) -> None:
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._log: IO[bytes] | None = None
        self._ports: tuple[TesterPort, TesterPort] | None = None
        self._ring_octets = 0
        self._limits: TrafficLimits | None = None
        self._instance = 0
        self._trial_number = 0
        self._hello: Mapping[str, Any] = {}
        self._broken: str | None = None

    # -- life -------------------------------------------------------------------------------------------------

    def __enter__(self) -> EmbeddedTraffic:
        if os.geteuid() != 0:
            raise TestbedError(
                "TST-10", "the embedded tester was not started", expected="root", found=f"user {os.geteuid()}"
            )
        binary = self.config.binary or ensure_built()
        self.config.run_dir.mkdir(parents=True, exist_ok=True)
        ours, theirs = socket.socketpair()
        self._log = (self.config.run_dir / f"tester-{os.getpid()}.log").open("ab")
        try:
            self._process = subprocess.Popen(
                self._argv(binary, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                # libxdp's dispatcher would pin programs in a bpf file system and outlive us.
                env={**os.environ, "LIBXDP_SKIP_DISPATCHER": "1"},
            )
        finally:
            theirs.close()
        self._channel = Channel(ours)
        try:
            self._hello = self._request("hello", {}, deadline_s=START_DEADLINE_S)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _argv(self, binary: Path, fd: int) -> list[str]:
        eal = ["--no-huge", "--no-shconf", "-m", str(self.config.memory_mib), "--no-telemetry"]
        eal += ["--lcores", f"0@{self.config.cpus[0]}", "--log-level", "warning"]
        if not self.config.pci:
            eal.append("--no-pci")
        return [str(binary), str(fd), str(os.getpid()), json.dumps(list(self.config.watch_cpus)), *eal]

    def __exit__(self, *exc: object) -> None:
        channel, self._channel = self._channel, None
        process, self._process = self._process, None
        log, self._log = self._log, None
        if channel is not None:
            channel.close()
        if process is not None:
            try:
                process.wait(STOP_DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if log is not None:
            log.close()
        self._ports = self._limits = None

    @property
    def pid(self) -> int | None:
        """Process id of the tester while it runs."""
        return self._process.pid if self._process else None

    # -- talk -------------------------------------------------------------------------------------------------

    def _request(self, command: str, arguments: Mapping[str, Any], *, deadline_s: float) -> Any:
        if self._broken is not None or self._channel is None:
            raise DriverError(
                "TST-12",
                f"embedded tester: {command}; no traffic was sent",
                expected="a running tester",
                found=self._broken or "it was never started",
                hint="start a new tester; a dead one is not revived within a run",
            )
        try:
            return self._channel.request(command, arguments, deadline_s=deadline_s)
        except TesterGone as error:
            self._fail(f"the tester died during {command} ({self._end_of_process()})", "TST-12", error)
        except TesterLate as error:
            self._kill()
            self._fail(f"no answer to {command} within {deadline_s:.1f} s", "TST-13", error)

    def _fail(self, found: str, error_id: str, cause: Exception) -> NoReturn:
        self._broken = found
        raise DriverError(
            error_id,
            "embedded tester",
            expected="an answer",
            found=found,
            hint=f"its log: {self._log_path()}",
        ) from cause

    def _log_path(self) -> str:
        return str(self._log.name) if self._log else str(self.config.run_dir)

    def _end_of_process(self) -> str:
        if self._process is None:
            return "not running"
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_DEADLINE_S)
        code = self._process.returncode
        if code is None:
            return "channel closed, process still there"
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    # -- ports ------------------------------------------------------------------------------------------------

    def attach(self, ports: tuple[TesterPort, TesterPort], /) -> TrafficLimits:
        """Bind two ports and resolve their next hops. Sends nothing but ARP and ND; see ports.py for refusals."""
        self.detach()
        mtus: list[int | None] = []
        for port in ports:
            check_port(port, self.config.lab_ports)
            mtus.append(check_interface(port, self.config.lab_ports) if port.io in NETDEV_KINDS else None)
        self._plug(ports, frame_octets=64)
        try:
            self._resolve(ports)
        except ToolkitError:
            self._unplug()
            raise
        self._ports = ports
        self._limits = limits_of(ports, mtus, self._mtus)
        return self._limits

    def _plug(self, ports: tuple[TesterPort, TesterPort], *, frame_octets: int) -> None:
        requests = []
        for port in ports:
            self._instance += 1
            requests.append(request_for(port, self._instance, frame_octets, pool_frames=8192))
        try:
            reply = self._request("attach", {"ports": requests}, deadline_s=ATTACH_DEADLINE_S)
        except Refusal as refusal:
            raise TestbedError(
                "TST-11",
                f"tester ports {ports[0].name}, {ports[1].name}: {refusal.text}; no traffic was sent",
                expected=f"devices that DPDK can open ({ports[0].io}, {ports[1].io})",
                found=refusal.code,
                hint=f"the tester's log says more: {self._log_path()}",
            ) from refusal
        self._mtus = [whole(entry, "mtu") for entry in reply]
        self._ring_octets = ring_for(frame_octets).slot_octets

    def _resolve(self, ports: tuple[TesterPort, TesterPort]) -> None:
        deadline_s = self.config.resolve_deadline_s
        try:
            self._request("resolve", {"deadline_s": deadline_s}, deadline_s=deadline_s + 5.0)
        except Refusal as refusal:
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
        if self._broken is None:
            self._request("detach", {}, deadline_s=ATTACH_DEADLINE_S)

    # -- trials -----------------------------------------------------------------------------------------------

    def _check(self, spec: TrialSpec) -> None:
        if self._ports is None or self._limits is None:
            raise DriverError("TST-15", "embedded tester: no ports are attached", hint="attach() comes first")
        least = max(
            self._limits.min_frame_octets, min_frame_octets(spec.frame_format, spec.vlan_id is not None)
        )
        if not least <= spec.frame_octets <= self._limits.max_frame_octets:
            raise ConfigError(
                "TST-16",
                f"frame size {spec.frame_octets} octets ({spec.frame_format}"
                f"{', tagged' if spec.vlan_id is not None else ''}) on "
                f"{self._ports[0].io}; no traffic was sent",
                expected=f"{least}..{self._limits.max_frame_octets} octets",
                found=str(spec.frame_octets),
                hint="the upper limit comes from the interface's MTU and the device; the lower from the headers",
            )
        if spec.flows > MAX_FLOWS:
            raise ConfigError(
                "TST-17", "flows; no traffic was sent", expected=f"1..{MAX_FLOWS}", found=str(spec.flows)
            )
        if spec.flows > 1 and spec.frame_format is FrameFormat.ETHERNET:
            raise ConfigError(
                "TST-17", "flows of ethernet frames; no traffic was sent", expected="1", found=str(spec.flows)
            )
        if ring_for(spec.frame_octets).slot_octets != self._ring_octets and any(
            port.io == "af_packet" for port in self._ports
        ):
            self._plug(self._ports, frame_octets=spec.frame_octets)
            self._resolve(self._ports)

    def _order(self, spec: TrialSpec, intended: int, direction: Direction) -> dict[str, Any]:
        self._trial_number = self._trial_number % 32767 + 1
        return {
            "number": self._trial_number,
            "frame_octets": spec.frame_octets,
            "vlan": spec.vlan_id or 0,
            "flows": spec.flows,
            "format": FORMAT_NUMBER[spec.frame_format],
            "intended": intended,
            "load_fps": float(spec.load_fps),
            "duration_s": float(spec.duration_s),
            "forward": direction in (Direction.FORWARD, Direction.BOTH),
            "reverse": direction in (Direction.REVERSE, Direction.BOTH),
            "burst_limit": self.config.burst_frames,
            "drain_quiet_s": self.config.drain_quiet_s,
            "drain_limit_s": self.config.drain_limit_s,
        }

    def learn(self, spec: TrialSpec, /) -> None:
        """Send learning frames from both ports (rfc2544-23), at least ten and one a flow, and forget them."""
        self._check(spec)
        frames = max(10, spec.flows)
        order = self._order(spec, frames, Direction.BOTH) | {"load_fps": max(200.0, frames / 2.0)}
        self._trial_request(order, frames / float(order["load_fps"]))

    def run_trial(self, spec: TrialSpec, /) -> TrialResult:
        """Send one trial and count it. A tester that dies or hangs gives a result with `fault`, never a bound."""
        self._check(spec)
        order = self._order(spec, spec.intended_frames, spec.direction)
        steal_before = read_steal_ns()
        began_ns = time.monotonic_ns()
        try:
            reply = self._trial_request(order, spec.duration_s)
        except DriverError as error:
            return self._faulty(spec, str(error.found), time.monotonic_ns() - began_ns)
        return self._read(spec, reply, steal_before)

    def _trial_request(self, order: Mapping[str, Any], duration_s: float) -> Mapping[str, Any]:
        deadline_s = duration_s + self.config.drain_limit_s + TRIAL_MARGIN_S
        try:
            reply = self._request("trial", order, deadline_s=deadline_s)
        except Refusal as refusal:
            raise ConfigError(
                "TST-18",
                f"the tester refuses the trial: {refusal.text}; no traffic was sent",
                found=refusal.code,
            ) from refusal
        except BaseException:
            # Ctrl-C while it sends: the channel is out of step, so this tester ends here.
            if self._broken is None:
                self._broken = "the trial was interrupted"
                self._kill()
            raise
        if not isinstance(reply, dict):
            raise nonsense("trial", reply)
        return reply

    def _faulty(self, spec: TrialSpec, reason: str, wall_time_ns: int) -> TrialResult:
        directions = 2 if spec.direction is Direction.BOTH else 1
        empty = StreamCounts(intended_frames=spec.intended_frames, sent_frames=0, received_frames=0)
        return TrialResult(spec=spec, streams=(empty,) * directions, wall_time_ns=wall_time_ns, fault=reason)

    def _read(
        self, spec: TrialSpec, reply: Mapping[str, Any], steal_before: Mapping[int, int]
    ) -> TrialResult:
        gap_ns = whole(reply, "largest_gap_ns")
        streams = []
        auxiliary: dict[str, int] = {}
        for name, entry in zip(("forward", "reverse"), reply["streams"], strict=True):
            if entry is None:
                continue
            streams.append(read_stream(entry, largest_gap_ns=gap_ns))
            for key in ("stale_frames", "beyond_window_frames", "backpressure_bursts"):
                auxiliary[f"{name}.{key}"] = whole(entry, key)
        assert self._ports is not None
        for port, counters, unassigned in zip(
            self._ports, reply["port_counters"], reply["unassigned_frames"], strict=True
        ):
            auxiliary[f"{port.name}.unassigned_frames"] = int(unassigned)
            for key, value in (counters or {}).items():
                auxiliary[f"{port.name}.{key}"] = int(value)
        for key in ("gaps_over_1ms", "loop_passes", "no_buffer_events"):
            auxiliary[key] = whole(reply, key)
        steal_after = read_steal_ns()
        disturbance = HostDisturbance(
            steal_ns=tuple((cpu, ns - steal_before.get(cpu, ns)) for cpu, ns in sorted(steal_after.items())),
            largest_stall_ns=tuple(
                (dog["cpu"], whole(dog, "largest_stall_ns")) for dog in reply["watchdogs"]
            ),
        )
        return TrialResult(
            spec=spec,
            streams=tuple(streams),
            wall_time_ns=whole(reply, "wall_time_ns"),
            disturbance=disturbance,
            fault="the trial was interrupted" if reply["aborted"] else None,
            auxiliary=tuple(sorted(auxiliary.items())),
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """Name, version and settings, for the platform record."""
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


def read_steal_ns() -> dict[int, int]:
    """Time that the hypervisor took from each CPU since boot, in ns (/proc/stat, 10 ms grain)."""
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    steal: dict[int, int] = {}
    for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0] != "cpu" and len(words) > 8:
            steal[int(words[0][3:])] = int(words[8]) * tick_ns
    return steal

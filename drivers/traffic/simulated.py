"""A traffic driver without traffic: a seeded model of a DUT with a known knee, to test all above it with.

It says so: `describe()["simulated"]` is true, and what it counts is never a measurement.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.protocols import JsonValue, TesterPort, TrafficLimits
from bmwg.drivers.api.workload import Takes
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.traffic.of_frames import BY_FRAMES, OfFrames, refuse_more_ports
from bmwg.drivers.traffic.simulated_shapes import (
    QUEUE_FRAMES,
    burst_times,
    loss_times,
    passed_frames,
    shown,
    without,
)
from bmwg.drivers.traffic.simulated_switch import PATTERNS, SimulatedSwitch
from bmwg.methodology.answers.latency import STORE_AND_FORWARD
from bmwg.methodology.benchmarks.back_to_back import listening_s
from bmwg.methodology.errors import ConfigError, DriverError
from bmwg.methodology.records import RESIDUAL_WAIT, WIRE, Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial import tagged
from bmwg.methodology.trial.appendix_c import UDP_DATA, echo_frame
from bmwg.methodology.trial.capabilities import EVERYTHING, refuse_beyond
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.destinations import SEED
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.pattern import FIRST_SENT, LEAST_PORTS, MOST_PORTS
from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS, MIN_FRAME_OCTETS, MIN_SENT_OCTETS
from bmwg.schemas.validation import near_hint

ROUTE_UPDATES = "route-updates"  # a modifier of trials
UPDATE_INTERVAL_S = 30.0  # rfc2544-11.3: RIP's own timer


_ABLE = EVERYTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedConfig:
    """The model: all frames up to `knee_fps` pass, of a higher load exactly `knee_fps`.

    `random_loss_ratio` loses frames below the knee too, each by itself. `stall_ratio` is the share of trials
    in which the tester itself stalls for `stall_ns`; a queue of 256 frames then overflows.
    `tester_limit_fps` is the most that the simulated tester can send. Latency is `latency_ns` on an idle DUT
    and grows towards the knee. `verifies`, `latency_definition`, `answers_resolution`, and `test_frame` with
    its `signature` (first octet, length) are what it says of itself, as every tester does. `mtu_octets` are
    those of the two links. `effects` are factors of the knee by parts of a cell's id, joined by `+` where all
    must be there (`ptp`, `chain=a>b`, `ptp+chain=a>b`); `spread` is the standard deviation of the knee's
    logarithm between deployments. With `takes_time` a trial lasts as long as it says. A switch of several
    ports (`SimulatedSwitch`) forwards so much to each, and has `table_entries` addresses.
    """

    knee_fps: int = 1_000_000
    random_loss_ratio: float = 0.0
    stall_ratio: float = 0.0
    stall_ns: int = 5_000_000
    tester_limit_fps: int = 10_000_000
    latency_ns: int = 10_000
    seed: int = 1
    verifies: tuple[str, ...] = ("signature", "sequence", "length", "payload")
    latency_definition: str = STORE_AND_FORWARD
    answers_resolution: tuple[str, ...] = ("arp", "nd")
    test_frame: tuple[int, ...] = tuple(echo_frame(MIN_FRAME_OCTETS))
    signature: tuple[int, int] = (UDP_DATA, 14)
    mtu_octets: tuple[int, int] = (1500, 1500)
    effects: Mapping[str, float] = field(default_factory=dict)
    spread: float = 0.0
    takes_time: bool = False
    table_entries: int = 512

    def __post_init__(self) -> None:
        """Refuse what is no model (TST-30)."""
        for name in ("random_loss_ratio", "stall_ratio"):
            ratio = getattr(self, name)
            if not 0.0 <= ratio <= 1.0:
                raise ConfigError("TST-30", f"simulated tester {name}", expected="0..1", found=str(ratio))
        for name in ("knee_fps", "tester_limit_fps", "latency_ns", "table_entries"):
            value = getattr(self, name)
            if value < 1:
                raise ConfigError(
                    "TST-30", f"simulated tester {name}", expected="at least 1", found=str(value)
                )


class SimulatedTraffic(OfFrames):
    """TrafficDriver that computes what a DUT with a known knee would do. No network, and no clock is read."""

    takes: ClassVar[Takes] = Takes(least=LEAST_PORTS, most=MOST_PORTS)

    def __init__(self, config: SimulatedConfig | None = None, drain_s: float = 0.0) -> None:
        self.config = config or SimulatedConfig()
        self.drain_s = drain_s
        self._random = random.Random(self.config.seed)
        self.updates = 0  # routing updates sent, whose states take turns
        self._ports: tuple[TesterPort, ...] | None = None
        self._switch = SimulatedSwitch(
            table_entries=self.config.table_entries, latency_ns=self.config.latency_ns
        )
        self._knee_fps: float = self.config.knee_fps

    @classmethod
    def for_testbed(cls, testbed: Testbed, run_dir: Path, drain_s: float) -> SimulatedTraffic:
        """Make the model that `tester.options` of a testbed file describes."""
        known = {one.name: one.type for one in fields(SimulatedConfig)}
        for name in testbed.tester.options:
            if name not in known:
                raise ConfigError(
                    "TST-31",
                    f"{testbed.file}: tester.options.{name}; nothing was started",
                    expected=f"one of {', '.join(known)}",
                    found=name,
                    hint=near_hint(name, known),
                )
        return cls(SimulatedConfig(**testbed.tester.options), drain_s)

    def __enter__(self) -> SimulatedTraffic:
        return self

    def __exit__(self, *exc: object) -> None:
        self._ports = None

    def attach(self, ports: tuple[TesterPort, ...], /) -> TrafficLimits:
        """Take note of the ports; every port is fine, for no frame is sent."""
        self.takes.refuse("simulated", ports)
        self._ports = ports
        self._knee_fps = self._knee_of(ports[0].device)
        return TrafficLimits(
            min_frame_octets=MIN_SENT_OCTETS,
            max_frame_octets=MAX_FRAME_OCTETS,
            capabilities=_ABLE,
        )

    def _knee_of(self, cell_id: str) -> float:
        """Return the knee of a deployment: with the factors of its cell, and its own luck."""
        parts = set(cell_id.split("/"))
        factors = [
            factor for names, factor in self.config.effects.items() if parts.issuperset(names.split("+"))
        ]
        luck = random.Random(f"{self.config.seed}/{cell_id}").gauss(0, self.config.spread)
        return self.config.knee_fps * math.prod(factors) * math.exp(luck)

    def detach(self) -> None:
        """Forget the ports."""
        self._ports = None

    def learn(self, spec: TrialSpec, /) -> None:
        """Nothing to learn; DriverError TST-15 without ports."""
        self._attached()

    def _attached(self) -> tuple[TesterPort, ...]:
        if self._ports is None:
            raise DriverError(
                "TST-15", "simulated tester: no ports are attached", hint="attach() comes first"
            )
        return self._ports

    def run(self, spec: TrialSpec, /) -> TrialResult:
        """The counts that the model gives for this trial; the same seed and order give the same counts."""
        refuse_more_ports(spec, self._attached())
        refuse_beyond(spec, _ABLE, "simulated")
        stalled = self._random.random() < self.config.stall_ratio
        directions = 2 if spec.direction is Direction.BOTH else 1
        if spec.pattern is None:
            streams = tuple(self._stream(spec, directions, stalled=stalled) for _ in range(directions))
        else:
            limit_fps = self.config.tester_limit_fps
            streams = self._switch.streams(spec, limit_fps=limit_fps, knee_fps=self._knee_fps)
        listened_s = self._listened_s(spec, directions)
        counts = (
            ("simulated", 1),
            (RESIDUAL_WAIT, round(listened_s * 1e9)),
            *self._updates(spec),
            *self._mtus(),
            *self._begins(spec),
        )
        if spec.destination_networks > 1:
            counts += ((SEED, self._random.getrandbits(62)),)
        took_s = spec.total_s + listened_s
        if self.config.takes_time:
            time.sleep(took_s)
        return TrialResult(
            spec=spec,
            streams=streams,
            wall_time_ns=round(took_s * 1e9),
            disturbance=HostDisturbance(watches=(self._watch(stalled=stalled),)),
            auxiliary=tuple(sorted((*counts, *shown(spec, streams[0].sent_frames, took_s)))),
        )

    def _watch(self, *, stalled: bool) -> CpuWatch:
        """Return what a watchdog on the tester's CPU would have seen: a stall is the CPU's absence."""
        gone_ns = self.config.stall_ns if stalled else 0
        return CpuWatch(cpu=0, tester=True, absences=int(stalled), absent_ns=gone_ns, longest_ns=gone_ns)

    def _listened_s(self, spec: TrialSpec, directions: int) -> float:
        """Return how long it listens after the last frame: after a burst until what is queued has come."""
        if not spec.burst:
            return self.drain_s
        offered_fps = min(spec.load_fps, self.config.tester_limit_fps)
        behind = max(0.0, offered_fps * directions / self.config.knee_fps - 1)
        return listening_s(spec, self.drain_s)[0] + behind * spec.duration_s

    def _mtus(self) -> list[tuple[str, int]]:
        ports = zip(self._ports or (), self.config.mtu_octets, strict=False)
        return [(f"{port.name}.mtu_octets", octets) for port, octets in ports]

    def _begins(self, spec: TrialSpec) -> list[tuple[str, int]]:
        """Return when each sender of a pattern began: with the first frame that was due."""
        if spec.pattern is None:
            return []
        return [(f"{self._attached()[port].name}{FIRST_SENT}", 0) for port in spec.pattern.senders]

    def _updates(self, spec: TrialSpec) -> tuple[tuple[str, int], ...]:
        """Return how many routing updates of each state a trial sent, and which came first."""
        if spec.modifier != ROUTE_UPDATES:
            return ()
        first = 1 + self.updates % 2
        sent = 1 + int(spec.total_s / UPDATE_INTERVAL_S)
        self.updates += sent
        ahead, behind = (sent + 1) // 2, sent // 2
        states = (ahead, behind) if first == 1 else (behind, ahead)
        return (
            ("modifier.first_state", first),
            ("modifier.updates_1_frames", states[0]),
            ("modifier.updates_2_frames", states[1]),
        )

    def _stream(self, spec: TrialSpec, directions: int, *, stalled: bool) -> StreamCounts:
        config = self.config
        intended = spec.intended_frames
        sent = min(intended, max(1, int(config.tester_limit_fps * spec.total_s)))
        offered_fps = min(spec.load_fps, config.tester_limit_fps)
        knee_fps = self._knee_fps / directions
        wired = self._ports is not None and self._ports[0].device == WIRE  # no DUT between the ports
        passed = sent if wired else passed_frames(spec, sent, offered_fps, knee_fps)
        lost = self._binomial(passed, config.random_loss_ratio)
        if stalled:
            burst = int(offered_fps * config.stall_ns / 1e9)
            lost += max(0, min(passed - lost, burst - QUEUE_FRAMES))
        received = passed - lost
        tags_fps = spec.then_load_fps if tagged.in_second_load(spec) else None
        at_tags = min(tags_fps or spec.load_fps, config.tester_limit_fps) / knee_fps
        whole = received == intended or (tagged.in_second_load(spec) and at_tags <= 1)  # recovers at once
        tagged_ns = tuple(self._tagged_ns(spec, 1.0 if whole else received / intended, at_tags))
        to_networks = self._spread(sent, spec.destination_networks)
        return StreamCounts(
            intended_frames=intended,
            sent_frames=sent,
            received_frames=received,
            largest_burst_frames=32 if stalled else 1,
            largest_gap_ns=config.stall_ns if stalled else 20_000,
            largest_lateness_ns=config.stall_ns if stalled else 20_000,
            effective_duration_ns=round(spec.due_s * 1e9),
            losses=loss_times(spec, sent, sent - received),
            latency=self._latency(received, offered_fps / knee_fps),
            tagged_ns=tagged_ns,
            tagged_at_ns=tuple(
                None if took is None else int(sequence * 1e9 / spec.load_fps)
                for sequence, took in zip(spec.tag_frames, tagged_ns, strict=True)
            ),
            sent_by_network=to_networks,
            received_by_network=without(to_networks, sent - received),
            bursts=burst_times(spec),
        )

    def _spread(self, frames: int, networks: int) -> tuple[int, ...]:
        """Draw a network for each frame, all at once; none is counted where there is one."""
        if networks == 1:
            return ()
        counts = []
        for left in range(networks, 0, -1):
            counts.append(self._binomial(frames, 1 / left) if left > 1 else frames)
            frames -= counts[-1]
        return tuple(counts)

    def _tagged_ns(self, spec: TrialSpec, share: float, utilization: float) -> list[int | None]:
        """Latency of the tagged frames, of which a share comes."""
        typical_ns = round(self.config.latency_ns * (1.0 + min(utilization, 1.0)))
        return [
            typical_ns if share == 1.0 or self._random.random() < share else None for _ in spec.tag_frames
        ]

    def _binomial(self, trials: int, ratio: float) -> int:
        """Number of losses, by the normal approximation where exact drawing would take long."""
        if ratio <= 0.0:
            return 0
        mean = trials * ratio
        if trials <= 1000:
            return sum(self._random.random() < ratio for _ in range(trials))
        drawn = round(self._random.gauss(mean, (mean * (1.0 - ratio)) ** 0.5))
        return min(trials, max(0, drawn))

    def _latency(self, frames: int, utilization: float) -> LatencyHistogram:
        if not frames:
            return LatencyHistogram()
        typical_ns = round(self.config.latency_ns * (1.0 + min(utilization, 1.0)))
        slow = frames // 100
        parts = [(typical_ns, frames - slow)] + ([(typical_ns * 3, slow)] if slow else [])
        return LatencyHistogram(
            buckets=tuple((ns, ns, count) for ns, count in parts),
            sum_ns=sum(ns * count for ns, count in parts),
            min_ns=parts[0][0],
            max_ns=parts[-1][0],
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """The model's settings; `simulated` is true."""
        return {
            "driver": "simulated",
            "simulated": True,
            "latency_way": "one-way",
            **BY_FRAMES,
            "patterns": PATTERNS,
            "counting": {
                "duplicate_frames": "the model makes none",
                "reordered_frames": "the model makes none",
            },
            "knee_fps": self.config.knee_fps,
            "random_loss_ratio": self.config.random_loss_ratio,
            "stall_ratio": self.config.stall_ratio,
            "tester_limit_fps": self.config.tester_limit_fps,
            "seed": self.config.seed,
            "effects": dict(self.config.effects),
            "spread": self.config.spread,
            "verifies": list(self.config.verifies),
            "latency_definition": self.config.latency_definition,
            "answers_resolution": list(self.config.answers_resolution),
            "test_frame": {
                "octets": list(self.config.test_frame),
                "signature": list(self.config.signature),
            },
        }

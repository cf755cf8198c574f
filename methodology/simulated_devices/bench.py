"""A bench of models: a device, a tester and a host give judged trials, without a clock."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.simulated_devices.device import Device, Passed, events
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTester:
    """A tester that sends at most `limit_fps` (None: any load); beyond it, it `stretches` or sends short.

    `stalls_per_s` times a second it stops for `stall_ns`, and says so.
    """

    limit_fps: int | None = None
    stretches: bool = False
    stalls_per_s: float = 0.0
    stall_ns: int = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelHost:
    """The machine of the SUT: `stalls_per_s` times a second it is away for `stall_ns`.

    A queue of `queue_frames` catches what arrives meanwhile; the rest is lost. The watchdog shows each stall.
    """

    stalls_per_s: float = 0.0
    stall_ns: int = 5_000_000
    queue_frames: int = 256


@dataclass(kw_only=True)
class ModelBench:
    """Measures trials on models. The same seed gives the same trials, in the same order."""

    device: Device
    seed: int
    tester: ModelTester = field(default_factory=ModelTester)
    host: ModelHost = field(default_factory=ModelHost)
    policy: TrialPolicy = field(default_factory=TrialPolicy)
    reverse: Device | None = None
    traffic_s: float = 0.0
    trials: list[JudgedTrial] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Throw the dice of this bench, one set for each thing that has luck."""
        self._dice = random.Random(f"device {self.seed}")
        self._tester_dice = random.Random(f"tester {self.seed}")
        self._host_dice = random.Random(f"host {self.seed}")

    def measure(self, spec: TrialSpec) -> JudgedTrial:
        """Run one trial and judge it. The way back is of the same device, unless `reverse` says otherwise."""
        self.traffic_s += spec.duration_s
        recorded = RecordedTrial(seq=self.count + 1, result=self._result(spec))
        self.trials.append(judge(recorded, self.policy))
        return self.trials[-1]

    @property
    def count(self) -> int:
        """How many trials were measured."""
        return len(self.trials)

    def _result(self, spec: TrialSpec) -> TrialResult:
        tester, duration_s = self.tester, spec.duration_s
        intended = sent = spec.intended_frames
        if tester.limit_fps is not None and spec.load_fps > tester.limit_fps:
            if tester.stretches:
                duration_s = intended / tester.limit_fps
            else:
                sent = int(tester.limit_fps * duration_s)
        stalled = events(tester.stalls_per_s, duration_s, self._tester_dice) > 0
        stalls = events(self.host.stalls_per_s, duration_s, self._host_dice)
        devices = [self.device]
        if spec.direction is Direction.BOTH:
            devices.append(self.reverse or self.device)
        streams = []
        gone = CpuWatch(cpu=1, tester=True, absences=0, absent_ns=0, longest_ns=0)
        for device in devices:
            passed = device.passes(sent, duration_s, self._dice)
            stalled = stalled or passed.holds_tester
            streams.append(self._stream(spec, passed, sent, duration_s, stalls, stalled=stalled))
        if stalled:
            gone = replace(gone, absences=1, absent_ns=tester.stall_ns, longest_ns=tester.stall_ns)
        watched = HostDisturbance(
            largest_stall_ns=((0, self.host.stall_ns if stalls else 0),), watches=(gone,)
        )
        return TrialResult(
            spec=spec, streams=tuple(streams), wall_time_ns=int(duration_s * _NS), disturbance=watched
        )

    def _stream(
        self, spec: TrialSpec, passed: Passed, sent: int, duration_s: float, stalls: int, *, stalled: bool
    ) -> StreamCounts:
        away = sent / duration_s * self.host.stall_ns / _NS
        lost = stalls * max(0, int(away) - self.host.queue_frames)
        received = max(0, min(passed.received, sent - lost))
        return StreamCounts(
            intended_frames=spec.intended_frames,
            sent_frames=sent,
            received_frames=received,
            duplicate_frames=passed.duplicates,
            reordered_frames=min(passed.reordered, received),
            largest_gap_ns=self.tester.stall_ns if stalled else 0,
            largest_lateness_ns=int((duration_s - spec.duration_s) * _NS),
            effective_duration_ns=int(duration_s * _NS),
        )

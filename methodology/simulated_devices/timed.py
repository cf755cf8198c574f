"""A bench of one device that is known in time: its delays, its recovery, its outage, its drift. No clock.

`Timing` is the truth. What a procedure makes of its trials is held against it in `time_truths`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram, LossRun, LossTimes
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge

_NS = 1_000_000_000
_SUB_BUCKET_BITS = 7  # 128 values are exact, larger ones to 1/64
_GONE_NS = 20_000_000  # how long the tester's CPU is away in a disturbed trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a device does. Frame i of a direction takes `delays_ns[direction][i % length]`, forward first.

    Each trial adds `drift_ns` to every delay. Above `limit_fps` the excess is lost; for `recovery_s` after an
    overload everything is. An act leaves it silent for `outage_s`. Trials are counted from 1: those of
    `lossy_trials` lose `lost_frames` each, in those of `disturbed_trials` the tester's CPU is gone. With
    `strays` each trial of a load loses one frame near its end, whatever the load.
    """

    limit_fps: int
    delays_ns: tuple[tuple[int, ...], ...] = ((10_000,),)
    drift_ns: int = 0
    recovery_s: float = 0.0
    outage_s: float = 0.0
    lossy_trials: frozenset[int] = frozenset()
    lost_frames: int = 0
    disturbed_trials: frozenset[int] = frozenset()
    strays: bool = False

    def delay_ns(self, place: int, frame: int, number: int) -> int:
        """Return the delay of a frame (from 0) of a direction (from 0) in a trial (from 1)."""
        cycle = self.delays_ns[place % len(self.delays_ns)]
        return cycle[frame % len(cycle)] + (number - 1) * self.drift_ns


@dataclass(kw_only=True)
class TimedBench:
    """Measures trials on a timing and judges them by a policy."""

    timing: Timing
    policy: TrialPolicy
    trials: list[JudgedTrial] = field(default_factory=list)

    def trial(self, spec: TrialSpec, phase: str) -> JudgedTrial:
        """Run one trial; the phase changes nothing."""
        number = len(self.trials) + 1
        ways = 2 if spec.direction is Direction.BOTH else 1
        gone_ns = _GONE_NS if number in self.timing.disturbed_trials else 0
        watch = CpuWatch(cpu=0, tester=True, absences=int(gone_ns > 0), absent_ns=gone_ns, longest_ns=gone_ns)
        result = TrialResult(
            spec=spec,
            streams=tuple(self._stream(spec, place, number) for place in range(ways)),
            wall_time_ns=int(spec.total_s * _NS),
            disturbance=HostDisturbance(watches=(watch,)),
        )
        self.trials.append(judge(RecordedTrial(seq=number, result=result), self.policy))
        return self.trials[-1]

    def _stream(self, spec: TrialSpec, place: int, number: int) -> StreamCounts:
        timing, sent = self.timing, spec.intended_frames
        runs = self._lost(spec, number)
        lost = sum(run.frames for run in runs)
        cycle = len(timing.delays_ns[place % len(timing.delays_ns)])
        latency = _histogram(
            [
                (timing.delay_ns(place, residue, number), _received(sent, residue, cycle, runs))
                for residue in range(cycle)
            ]
        )
        delays = [
            None if _is_lost(frame, runs) else timing.delay_ns(place, frame, number)
            for frame in spec.tag_frames
        ]
        return StreamCounts(
            intended_frames=sent,
            sent_frames=sent,
            received_frames=sent - lost,
            effective_duration_ns=int(spec.total_s * _NS),
            latency=latency,
            losses=self._times(spec, runs) if spec.loss_times else None,
            tagged_ns=tuple(delays),
            tagged_at_ns=tuple(frame * _NS // spec.load_fps for frame in spec.tag_frames),
        )

    def _lost(self, spec: TrialSpec, number: int) -> tuple[LossRun, ...]:
        """Return the frames that are lost, in order."""
        timing = self.timing
        found = []
        first = spec.first_frames
        overload = max(0, first - int(timing.limit_fps * spec.duration_s))
        after = 0
        if overload and spec.then_load_fps is not None:
            after = math.ceil(timing.recovery_s * spec.then_load_fps)
        if overload:
            found.append(_run(spec, first - overload, overload + after))
        if spec.act_at_s is not None:
            began = math.ceil(spec.act_at_s * spec.load_fps)
            found.append(_run(spec, began, round(timing.outage_s * spec.load_fps)))
        if number in timing.lossy_trials:
            found.append(_run(spec, 0, timing.lost_frames))
        if timing.strays:
            found.append(_run(spec, spec.intended_frames - spec.intended_frames // 100, 1))
        return tuple(sorted(found, key=lambda run: run.first_frame))

    def _times(self, spec: TrialSpec, runs: Sequence[LossRun]) -> LossTimes:
        first_lost = sum(
            max(0, min(run.first_frame + run.frames, spec.first_frames) - run.first_frame) for run in runs
        )
        last = max((run.first_frame + run.frames - 1 for run in runs), default=None)
        return LossTimes(
            runs=len(runs),
            first_received_frames=spec.first_frames - first_lost,
            longest=tuple(runs),
            reduced_at_ns=int(spec.duration_s * _NS) if spec.then_load_fps is not None else None,
            last_lost_ns=None if last is None else _due_ns(spec, last),
        )


def _due_ns(spec: TrialSpec, frame: int) -> int:
    """Return when a frame is due, ns since the first one was."""
    if frame < spec.first_frames or spec.then_load_fps is None:
        return frame * _NS // spec.load_fps
    return int(spec.duration_s * _NS) + (frame - spec.first_frames) * _NS // spec.then_load_fps


def _run(spec: TrialSpec, first: int, frames: int) -> LossRun:
    before = _due_ns(spec, first - 1) if first > 0 else None
    after = _due_ns(spec, first + frames) if first + frames < spec.intended_frames else None
    return LossRun(first_frame=first, frames=frames, before_ns=before, after_ns=after)


def _is_lost(frame: int, runs: Sequence[LossRun]) -> bool:
    return any(run.first_frame <= frame < run.first_frame + run.frames for run in runs)


def _received(sent: int, residue: int, cycle: int, runs: Sequence[LossRun]) -> int:
    """Count the received frames of one place in the cycle."""

    def below(frame: int) -> int:
        return max(0, -(-(frame - residue) // cycle))

    return below(sent) - sum(below(run.first_frame + run.frames) - below(run.first_frame) for run in runs)


def _histogram(counted: Sequence[tuple[int, int]]) -> LatencyHistogram:
    """Return a log-linear histogram of delays (ns) with their counts."""
    buckets: dict[tuple[int, int], int] = {}
    arrived = [(delay, frames) for delay, frames in counted if frames]
    for delay, frames in arrived:
        shift = max(0, delay.bit_length() - _SUB_BUCKET_BITS)
        low = delay >> shift << shift
        edges = (low, low + (1 << shift) - 1)
        buckets[edges] = buckets.get(edges, 0) + frames
    return LatencyHistogram(
        buckets=tuple((low, high, frames) for (low, high), frames in sorted(buckets.items())),
        sum_ns=sum(delay * frames for delay, frames in arrived),
        min_ns=min((delay for delay, _ in arrived), default=None),
        max_ns=max((delay for delay, _ in arrived), default=None),
    )

"""A bench whose CPUs are away at known times: where each stall lies in a trial, and which frames it costs.

What it imitates: a hypervisor that takes a virtual CPU away, at times that have nothing to do with the load
(`StallLaw`), or, with `above_fps`, that the load itself brings about. A CPU of the SUT that is gone leaves a
queue of `queue_frames` that overflows; one of the tester's leaves frames that leave in a burst when it is
back. With `together` both CPUs go away at the same times, as a guest's do whose hypervisor stops it: nothing
is sent meanwhile, so no queue overflows then, and what follows is the tester's burst. The watchdogs tell each
absence up to one period late. What it does not imitate: jitter of a busy queue, a SUT that is slower after a
stall (cold caches), frames due while the tester catches up.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bmwg.methodology.records import StreamCounts, TrialResult, TrialSpec
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.trial.cpu_watch import CpuWatch, HostDisturbance
from bmwg.methodology.trial.frame_times import LossRun, LossTimes

BURST_FPS = 1_500_000  # at which a tester that was away sends what was due meanwhile
_SUT_PERIOD_NS, _TESTER_PERIOD_NS = 500_000, 1_000_000  # docs/adr/0013, 0261
_TOLD_NS = 100_000  # a shorter absence is not told
_KEPT = 32  # runs of losses that the embedded tester keeps
_NS = 1_000_000_000

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class StallLaw:
    """`per_s` times a second a CPU is away for `shortest_ns` to `longest_ns`, evenly; Poisson in time.

    With `above_fps` only at loads above it: then the load takes the CPU away, and no neighbour.
    """

    per_s: float = 0.0
    shortest_ns: int = 1_000_000
    longest_ns: int = 20_000_000
    above_fps: int = 0

    def times(self, load_fps: int, duration_s: float, dice: random.Random) -> tuple[Interval, ...]:
        """Return begin and end of each stall in a trial, ns."""
        found: list[Interval] = []
        now, end_ns = 0.0, duration_s * _NS
        while self.per_s > 0 and load_fps > self.above_fps:
            now += dice.expovariate(self.per_s) * _NS
            if now >= end_ns:
                break
            length = dice.randint(self.shortest_ns, self.longest_ns)
            found.append((int(now), int(min(now + length, end_ns))))
            now += length
        return tuple(found)


@dataclass(kw_only=True)
class StalledBench(ModelBench):
    """Measures trials on a device of `carries_fps` whose CPUs, and the tester's, go away by two laws."""

    carries_fps: int
    sut: StallLaw = field(default_factory=StallLaw)
    generator: StallLaw = field(default_factory=StallLaw)
    together: StallLaw = field(default_factory=StallLaw)
    queue_frames: int = 256

    def __post_init__(self) -> None:
        """Throw the dice of the hypervisor as well."""
        super().__post_init__()
        self._guest_dice = random.Random(f"guest {self.seed}")

    def _result(self, spec: TrialSpec) -> TrialResult:
        of_sut = self.sut.times(spec.load_fps, spec.duration_s, self._host_dice)
        of_tester = self.generator.times(spec.load_fps, spec.duration_s, self._tester_dice)
        of_both = self.together.times(spec.load_fps, spec.duration_s, self._guest_dice)
        sent = spec.intended_frames
        runs = [*self._overflows(spec, of_sut), *self._catching_up(spec, (*of_tester, *of_both))]
        of_sut, of_tester = _joined(of_sut, of_both), _joined(of_tester, of_both)
        overload = sent - self.device.passes(sent, spec.duration_s, self._dice).received
        received = max(0, sent - overload - sum(run.frames for run in runs))
        kept = sorted(sorted(runs, key=lambda run: run.frames)[-_KEPT:], key=lambda run: run.first_frame)
        gap_ns = max((end - begin for begin, end in of_tester), default=0)
        stream = StreamCounts(
            intended_frames=sent,
            sent_frames=sent,
            received_frames=received,
            largest_gap_ns=gap_ns,
            largest_lateness_ns=gap_ns,
            effective_duration_ns=int(spec.duration_s * _NS),
            losses=LossTimes(runs=len(runs) + overload, first_received_frames=received, longest=tuple(kept)),
        )
        watches = (
            self._watch(0, of_sut, _SUT_PERIOD_NS, tester=False),
            self._watch(1, of_tester, _TESTER_PERIOD_NS, tester=True),
        )
        return TrialResult(
            spec=spec,
            streams=(stream,),
            wall_time_ns=int(spec.duration_s * _NS),
            disturbance=HostDisturbance(largest_stall_ns=((0, watches[0].longest_ns),), watches=watches),
        )

    def _overflows(self, spec: TrialSpec, stalls: Sequence[Interval]) -> list[LossRun]:
        """What the queue of a SUT that is away does not hold: the last frames due in each stall."""
        return _runs(spec, stalls, lambda due: due - self.queue_frames)

    def _catching_up(self, spec: TrialSpec, stalls: Sequence[Interval]) -> list[LossRun]:
        """What the SUT drops of the burst that follows a stall of the tester."""
        share = max(0.0, 1 - self.carries_fps / BURST_FPS)
        return _runs(spec, stalls, lambda due: int(due * share) - self.queue_frames)

    def _watch(self, cpu: int, stalls: Sequence[Interval], period_ns: int, *, tester: bool) -> CpuWatch:
        told = [(begin + int(self._host_dice.random() * period_ns), end) for begin, end in stalls]
        told = [(begin, end) for begin, end in told if end - begin >= _TOLD_NS]
        lengths = [end - begin for begin, end in told]
        return CpuWatch(
            cpu=cpu,
            tester=tester,
            absences=len(told),
            absent_ns=sum(lengths),
            longest_ns=max(lengths, default=0),
            intervals=tuple(told),
        )


def _joined(some: Sequence[Interval], others: Sequence[Interval]) -> tuple[Interval, ...]:
    """Return both in order, those that overlap as one."""
    joined: list[Interval] = []
    for begin, end in sorted((*some, *others)):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return tuple(joined)


def _runs(spec: TrialSpec, stalls: Sequence[Interval], lost_of: Callable[[int], int]) -> list[LossRun]:
    """Return a run of lost frames for each stall that costs any: the last ones due in it."""
    found = []
    for begin, end in stalls:
        last = min(end * spec.load_fps // _NS, spec.intended_frames)
        lost = lost_of(last - begin * spec.load_fps // _NS)
        if lost > 0:
            found.append(LossRun(first_frame=last - lost, frames=lost, before_ns=begin, after_ns=end))
    return found

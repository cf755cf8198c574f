"""Devices with a known truth, as measurers: seeded, deterministic, without a clock."""

import random
from dataclasses import dataclass, field

from bmwg.methodology.records import Cell, StreamCounts, TrialResult
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial, RecordedTrial, TrialPolicy, judge


@dataclass
class Device:
    """Loses everything above `truth_fps`; the options add what real machines do."""

    truth_fps: int
    policy: TrialPolicy = field(default_factory=lambda: TrialPolicy(max_repeats=20))
    seed: int = 0
    tester_fps: int = 10**9  # sends no faster than this
    stall_share: float = 0.0  # trials in which the tester stalls (and frames are lost)
    host_share: float = 0.0  # trials in which the SUT's host stalls (and frames are lost)
    random_loss_share: float = 0.0  # trials that lose a frame for no visible reason
    knee: float = 0.0  # relative width of the zone in which loss is a matter of luck
    trials: list = field(default_factory=list)

    def __post_init__(self):
        self.random = random.Random(self.seed)

    def run(self, spec):
        intended = spec.intended_frames
        sent = min(intended, int(self.tester_fps * spec.duration_s))
        capacity = self.truth_fps * (1 + self.knee * (self.random.random() - 0.5))
        received = min(sent, int(capacity * spec.duration_s))
        gap = 0
        stall_ns = 0
        if self.random.random() < self.stall_share:
            gap, received = 5_000_000, max(0, received - 300)
        if self.random.random() < self.host_share:
            stall_ns, received = 7_000_000, max(0, received - 300)
        if self.random.random() < self.random_loss_share:
            received = max(0, received - 1)
        lateness = 0 if sent == intended else int(1e9 * spec.duration_s / 2)
        stream = StreamCounts(
            intended_frames=intended,
            sent_frames=sent,
            received_frames=received,
            largest_gap_ns=gap,
            largest_lateness_ns=max(gap, lateness),
            effective_duration_ns=int(spec.duration_s * 1e9),
            latency=histogram(received),
            tagged_ns=(1,) * len(spec.tag_frames),
        )
        disturbance = HostDisturbance(largest_stall_ns=((1, stall_ns),))
        return TrialResult(spec=spec, streams=(stream,), wall_time_ns=1, disturbance=disturbance)

    def record(self, spec):
        self.trials.append(self.run(spec))
        return RecordedTrial(seq=len(self.trials), result=self.trials[-1])

    def __call__(self, spec) -> JudgedTrial:
        return judge(self.record(spec), self.policy)


def histogram(frames):
    if not frames:
        return LatencyHistogram()
    return LatencyHistogram(buckets=((1000, 1015, frames),), sum_ns=1007 * frames, min_ns=1001, max_ns=1012)


def by_name(outcome):
    return {value.metric: value.number for value in outcome.values}


CELL = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)

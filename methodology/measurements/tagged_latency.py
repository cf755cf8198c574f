"""Latency by tagged frames at the throughput: RFC 2544 26.2 and RFC 8219 7.2, each a metric of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.answers.latency import RFC2544_METRIC
from bmwg.methodology.benchmarks import tagged_latency
from bmwg.methodology.benchmarks.tagged_latency import RFC8219_TAGS, STREAM_S, STREAMS, StreamsGoal
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, between_two, settings
from bmwg.methodology.measurements.remarks import held_to_load, load_remark, without_plain_load
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

_NAME = "tagged_latency"  # both have the streams of these settings


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedLatency(OneMetric):
    """Streams one after the other, each with `tags` tagged frames from its middle on, 60 s at most."""

    name: str
    tags: int
    metric: str
    needs_throughput: bool = True
    places: tuple[Place, ...] = (SPEED,)

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell of two ports, at the sizes that the profile may list."""
        return between_two(profile, _NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All streams."""
        goal = self._goal(profile, cell, max_load_fps)
        return Cost(trials=goal.streams, traffic_s=goal.streams * goal.stream_s)

    def measure(self, asked: Asked) -> Answered:
        """Send the streams at the highest load without loss (RFC2544-26.2-01)."""
        assert asked.throughput is not None
        if lacks := without_plain_load(asked.cell, asked.throughput, asked.outcome_id, self.metric):
            return Answered(outcomes=(lacks,))
        goal = self._goal(asked.profile, asked.cell, asked.load_fps)
        ended = asked.run(tagged_latency.procedure(goal))
        tags = {trial.seq: tagged_latency.tagged_frames(trial) for trial in ended.trials if trial.valid}
        judge = (
            tagged_latency.rfc2544_outcome
            if self.metric == RFC2544_METRIC
            else tagged_latency.rfc8219_outcome
        )
        outcome = judge(ended, tags, goal, outcome_id=asked.outcome_id)
        outcome = replace(outcome, quality=(*outcome.quality, *load_remark(asked.throughput)))
        outcome = held_to_load(outcome, ended.trials, asked.profile.may_lose())
        return Answered(outcomes=(outcome,), error=ended.error)

    def _goal(self, profile: Profile, cell: Cell, load_fps: int) -> StreamsGoal:
        said = settings(profile, _NAME)
        return StreamsGoal(
            cell=cell,
            throughput_fps=load_fps,
            streams=int(said.get("streams", STREAMS)),
            stream_s=float(said.get("stream_s", STREAM_S)),
            tags=self.tags,
            max_repeats=profile.policy.max_repeats,
        )


MEASUREMENTS = (
    TaggedLatency(name="tagged_latency", tags=1, metric=RFC2544_METRIC),
    TaggedLatency(name="latency_rfc8219", tags=RFC8219_TAGS, metric=tagged_latency.TYPICAL_METRIC),
)

"""Latency of all frames of equal streams at the throughput of the cell."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.answers import latency
from bmwg.methodology.benchmarks import delay_variation
from bmwg.methodology.benchmarks.delay_variation import StreamsGoal
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric
from bmwg.methodology.measurements.remarks import streams_remark, without_plain_load
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.trial.capabilities import Capability, LackingError
from bmwg.methodology.trial.judging import JudgedTrial


@dataclass(frozen=True, slots=True, kw_only=True)
class AllFramesLatency(OneMetric):
    """Streams one after the other, each repeated only while it is not valid."""

    name: str = "latency"
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (SPEED,)
    metric: str = latency.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Cells of two ports, at the frame sizes that the profile lists for latency."""
        return patterns.of(cell.axes) is None and cell.frame_octets in profile.latency.frame_octets

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All streams, of the tester's own latency at each load."""
        settings = profile.latency
        streams = settings.streams * (1 + len(settings.floor_percents) * cell.qualifies_tester)
        return Cost(trials=streams, traffic_s=streams * settings.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Send the streams at the throughput (RFC2544-26.2-01), of a wide interval at its lower end.

        With no device between its ports the tester itself is measured, at a load that devices are nearer to
        (docs/adr/0458), and at further ones, so that a device's lies between two of them (docs/adr/0517).
        """
        assert asked.throughput is not None
        profile, cell = asked.profile, asked.cell
        if lacks := without_plain_load(cell, asked.throughput, asked.outcome_id, latency.METRIC):
            return Answered(outcomes=(lacks,))
        load_fps = asked.streams_fps
        if cell.qualifies_tester:
            load_fps = max(1, asked.load_fps * profile.latency.wire_percent // 100)
        goal = StreamsGoal(
            spec=profile.latency_spec(cell, load_fps),
            streams=profile.latency.streams,
            max_repeats=profile.policy.max_repeats,
        )
        ended = timed_streams(asked, goal)
        outcome = latency.outcome(
            ended,
            goal.spec,
            cell,
            outcome_id=asked.outcome_id,
            may_lose=profile.may_lose(),
            remarks=_remarks(asked),
        )
        if cell.qualifies_tester and outcome.type is OutcomeType.MEASURED:
            return _with_floors(asked, goal, outcome)
        return Answered(outcomes=(outcome,), error=ended.error)


def timed_streams(asked: Asked, goal: StreamsGoal) -> Run[tuple[JudgedTrial, ...]]:
    """Send streams whose frames all have a latency; none by a tester that has no distribution of these."""
    try:
        asked.refuse(goal.spec, Capability.LATENCY)
    except LackingError as error:
        return Run(trials=(), reason=error.what, error=error)
    return asked.run(delay_variation.procedure(goal))


def _with_floors(asked: Asked, goal: StreamsGoal, outcome: Outcome) -> Answered:
    """Send the same streams at further loads, each by its share of what the tester carries."""
    for percent in asked.profile.latency.floor_percents:
        load_fps = max(1, asked.load_fps * percent // 100)
        spec = replace(goal.spec, load_fps=load_fps)
        ended = asked.run(delay_variation.procedure(replace(goal, spec=spec)))
        outcome = latency.with_floor(outcome, ended, load_fps, asked.profile.may_lose())
        if ended.error is not None:
            return Answered(outcomes=(outcome,), error=ended.error)
    return Answered(outcomes=(outcome,))


def _remarks(asked: Asked) -> tuple[str, ...]:
    percent = asked.profile.latency.wire_percent
    if not asked.cell.qualifies_tester or percent == 100:
        assert asked.throughput is not None
        return streams_remark(asked.throughput)
    return (f"the tester's own, at {percent} % of what it carries",)


MEASUREMENTS = (AllFramesLatency(),)

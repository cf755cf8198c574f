"""Delay variation at the throughput.

PDV of all frames of each stream (RFC 8219 7.3.1, RFC 5481 4.2), and IPDV of its last neighbours (RFC 3393,
RFC 5481 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import delay_variation
from bmwg.methodology.benchmarks.delay_variation import (
    PDV_METRIC,
    REPETITIONS,
    SAMPLE_METRIC,
    STREAM_S,
    StreamsGoal,
)
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.latency import timed_streams
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, between_two, settings
from bmwg.methodology.measurements.remarks import held_to_load, load_remark, without_plain_load
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, Outcome
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic

NAME = "delay_variation"
_Ended = Run[tuple[JudgedTrial, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdv(OneMetric):
    """Equal streams one after the other; the answer is the median over them."""

    name: str = NAME
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (SPEED,)
    metric: str = PDV_METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell of two ports, at the sizes that the profile may list."""
        return between_two(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All streams."""
        goal = _goal(profile, cell, max_load_fps)
        return Cost(trials=goal.streams, traffic_s=goal.streams * goal.spec.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Send the streams at the highest load without loss (RFC8219-7.3.1-01)."""
        assert asked.throughput is not None
        if lacks := without_plain_load(asked.cell, asked.throughput, asked.outcome_id, self.metric):
            return Answered(outcomes=(lacks,))
        goal = _goal(asked.profile, asked.cell, asked.load_fps)
        ended, outcome = self._answered(asked, goal, load_remark(asked.throughput))
        outcome = held_to_load(outcome, ended.trials, asked.profile.may_lose())
        return Answered(outcomes=(outcome,), error=ended.error)

    def _answered(self, asked: Asked, goal: StreamsGoal, remarks: tuple[str, ...]) -> tuple[_Ended, Outcome]:
        ended = timed_streams(asked, goal)
        return ended, delay_variation.pdv_outcome(
            ended, goal, asked.cell, outcome_id=asked.outcome_id, remarks=remarks
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ipdv(Pdv):
    """The same streams with their last frames tagged, as trials of their own."""

    name: str = "ipdv"
    reads_latency: bool = False
    metric: str = SAMPLE_METRIC

    def _answered(self, asked: Asked, goal: StreamsGoal, remarks: tuple[str, ...]) -> tuple[_Ended, Outcome]:
        goal = replace(goal, spec=delay_variation.with_last_frames_tagged(goal.spec))
        ended = asked.run(delay_variation.procedure(goal))
        return ended, delay_variation.ipdv_outcome(
            ended, goal, asked.cell, outcome_id=asked.outcome_id, remarks=remarks
        )


def _goal(profile: Profile, cell: Cell, load_fps: int) -> StreamsGoal:
    said = settings(profile, NAME)
    return StreamsGoal(
        spec=Traffic.of(cell).spec(load_fps, float(said.get("stream_s", STREAM_S))),
        streams=int(said.get("streams", REPETITIONS)),
        max_repeats=profile.policy.max_repeats,
    )


MEASUREMENTS = (Pdv(), Ipdv())

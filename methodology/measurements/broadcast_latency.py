"""Latency of single broadcast frames at each port of a switch (RFC 2889 5.10.3, second part)."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.benchmarks import broadcast_latency
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

NAME = "broadcast_latency"


@dataclass(frozen=True, slots=True, kw_only=True)
class BroadcastLatency(OneMetric):
    """Repetitions of one frame, of pattern `broadcast`."""

    name: str = NAME
    reads_latency: bool = True
    places: tuple[Place, ...] = (SPEED,)
    metric: str = broadcast_latency.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Cells of its pattern, at the sizes that the profile may list."""
        found = patterns.of(cell.axes)
        return found is not None and found.broadcast and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All repetitions."""
        goal = _goal(profile, cell)
        return Cost(trials=float(goal.repetitions), traffic_s=goal.repetitions * goal.spec().duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Run the repetitions."""
        goal = _goal(asked.profile, asked.cell)
        ended = asked.run(broadcast_latency.procedure(goal))
        outcome = broadcast_latency.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)


def _goal(profile: Profile, cell: Cell) -> broadcast_latency.BroadcastLatencyGoal:
    said = settings(profile, NAME)
    return broadcast_latency.BroadcastLatencyGoal(
        cell=cell,
        repetitions=int(said.get("repetitions", broadcast_latency.REPETITIONS)),
        max_repeats=profile.policy.max_repeats,
    )


MEASUREMENTS = (BroadcastLatency(),)

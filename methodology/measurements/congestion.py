"""Congestion control of a switch (RFC 2889 5.5), at the highest load that the tester sends."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.benchmarks import congestion
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import RELIABILITY, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

NAME = "congestion_control"


@dataclass(frozen=True, slots=True, kw_only=True)
class CongestionControl(OneMetric):
    """Some equal trials of pattern `congestion`."""

    name: str = NAME
    places: tuple[Place, ...] = (RELIABILITY,)
    metric: str = congestion.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Cells of its pattern, at the sizes that the profile may list."""
        return patterns.kind_of(cell.axes) == patterns.CONGESTION and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All repetitions."""
        goal = _goal(profile, cell, max_load_fps, rated=False)
        return Cost(trials=float(goal.repetitions), traffic_s=goal.repetitions * goal.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Run the repetitions."""
        load_fps = min(asked.max_load_fps, asked.maximum_fps)
        goal = _goal(asked.profile, asked.cell, load_fps, rated=asked.medium_fps is not None)
        ended = asked.run(congestion.procedure(goal))
        outcome = congestion.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)


def _goal(profile: Profile, cell: Cell, load_fps: int, *, rated: bool) -> congestion.CongestionGoal:
    said = settings(profile, NAME)
    return congestion.CongestionGoal(
        cell=cell,
        load_fps=load_fps,
        duration_s=float(said.get("trial_s", congestion.TRIAL_S)),
        repetitions=int(said.get("repetitions", congestion.REPETITIONS)),
        rated=rated,
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )


MEASUREMENTS = (CongestionControl(),)

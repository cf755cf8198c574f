"""Throughput by searches in which the worst, or the best, of N trials at a load decides (LTD 3.2.2.1.13)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import of_n
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, between_two, settings
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

NAME = "of_n"


@dataclass(frozen=True, slots=True, kw_only=True)
class OfN(OneMetric):
    """One search up to the highest load that the tester sends."""

    name: str
    metric: str
    reads_latency: bool = True
    places: tuple[Place, ...] = (replace(SPEED, rows=("RFC8204-5.5-08", "LTD-3.2.2.1.13")),)

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell between two ports but the wire, at the sizes that are listed."""
        return not cell.qualifies_tester and between_two(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All trials at both ends and of each halving."""
        goal = self._goal(profile, cell, max_load_fps)
        ratio = math.log(goal.max_load_fps / goal.min_load_fps)
        halvings = math.ceil(math.log2(max(1.0, ratio / -math.log1p(-goal.width))))
        trials = goal.trials * (2 + halvings)
        return Cost(trials=trials, traffic_s=trials * goal.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Search the cell."""
        highest_fps = min(asked.max_load_fps, asked.maximum_fps)
        goal = replace(self._goal(asked.profile, asked.cell, highest_fps), medium_fps=asked.medium_fps)
        ended = asked.run(of_n.procedure(goal))
        outcome = of_n.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)

    def _goal(self, profile: Profile, cell: Cell, max_load_fps: int) -> of_n.OfNGoal:
        said = settings(profile, NAME)
        return of_n.OfNGoal(
            metric=self.metric,
            cell=cell,
            min_load_fps=min(profile.search.min_load_fps, max_load_fps),
            max_load_fps=max_load_fps,
            trials=int(said.get("trials", of_n.TRIALS)),
            duration_s=float(said.get("trial_s", of_n.TRIAL_S)),
            width=float(said.get("width", of_n.WIDTH)),
            max_repeats=profile.policy.max_repeats,
            short_limit=profile.search.short_limit,
        )


MEASUREMENTS = (
    OfN(name="worst_of_n", metric=of_n.WORST),
    OfN(name="best_of_n", metric=of_n.BEST),
)

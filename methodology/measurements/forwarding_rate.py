"""Forwarding rates at loads above the throughput of the same cell (RFC 2889 5.6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import forwarding_rate
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

NAME = "forwarding_rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardingRate(OneMetric):
    """One ladder from the throughput to the highest load that the tester sends, the maximum offered load."""

    name: str = NAME
    needs_throughput: bool = True
    places: tuple[Place, ...] = (replace(SPEED, rows=("RFC8204-5.5-05", "LTD-3.2.2.1.9")),)
    metric: str = forwarding_rate.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell but the wire and those whose pattern asks for no load, at the sizes that are listed."""
        able = not cell.qualifies_tester and patterns.has_load(cell.axes)
        return able and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All loads, where the throughput is low."""
        said = settings(profile, NAME)
        loads = 1 + 100 // int(said.get("step_percent", forwarding_rate.STEP_PERCENT))
        return Cost(
            trials=float(loads), traffic_s=loads * float(said.get("trial_s", forwarding_rate.TRIAL_S))
        )

    def measure(self, asked: Asked) -> Answered:
        """Go up the ladder."""
        said = settings(asked.profile, NAME)
        highest_fps = max(asked.load_fps, min(asked.max_load_fps, asked.maximum_fps))
        percent = int(said.get("step_percent", forwarding_rate.STEP_PERCENT))
        goal = forwarding_rate.RateGoal(
            cell=asked.cell,
            throughput_fps=asked.load_fps,
            max_load_fps=highest_fps,
            step_fps=max(1, highest_fps * percent // 100),
            duration_s=float(said.get("trial_s", forwarding_rate.TRIAL_S)),
            max_repeats=asked.profile.policy.max_repeats,
            short_limit=asked.profile.search.short_limit,
        )
        ended = asked.run(forwarding_rate.procedure(goal))
        outcome = forwarding_rate.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)


MEASUREMENTS = (ForwardingRate(),)

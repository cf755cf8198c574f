"""Frame loss rate (RFC 2544 26.3) from the highest load of the tester down."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from bmwg.methodology.benchmarks import frame_loss
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import RELIABILITY, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

NAME = "frame_loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameLoss(OneMetric):
    """One ladder; its 100 % is the medium's rate, the tester's qualified load where the medium has none."""

    name: str = NAME
    places: tuple[Place, ...] = (RELIABILITY,)
    metric: str = frame_loss.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell but the wire and those whose pattern asks for no load, at the sizes that are listed."""
        able = not cell.qualifies_tester and patterns.has_load(cell.axes)
        return able and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """At most all loads of the ladder."""
        loads = len(_goal(profile, cell, max_load_fps).loads())
        return Cost(trials=float(loads), traffic_s=loads * profile.trial_duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Go down the ladder."""
        goal = _goal(asked.profile, asked.cell, asked.maximum_fps)
        ended = asked.run(frame_loss.procedure(goal))
        outcome = frame_loss.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)


def _goal(profile: Profile, cell: Cell, max_load_fps: int) -> frame_loss.LossGoal:
    step = settings(profile, NAME).get("step_percent", 10)
    return frame_loss.LossGoal(
        cell=cell,
        max_load_fps=max_load_fps,
        duration_s=profile.trial_duration_s,
        step=Fraction(step, 100),
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )


MEASUREMENTS = (FrameLoss(),)

"""Frames of illegal size at a switch (RFC 2889 5.9), at several loads."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.answers.throughput import not_assessed
from bmwg.methodology.benchmarks import illegal_frames
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import ACCURACY, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.trial.capabilities import LackingError

NAME = "illegal_frames"


@dataclass(frozen=True, slots=True, kw_only=True)
class IllegalFrames(OneMetric):
    """Trials of patterns `undersize` and `oversize`, of legal and of illegal frames in turn."""

    name: str = NAME
    places: tuple[Place, ...] = (replace(ACCURACY, rows=("RFC8204-5.6-01", "LTD-3.2.2.1.11")),)
    metric: str = illegal_frames.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Cells of its patterns, at the sizes that the profile may list."""
        mine = patterns.kind_of(cell.axes) in (patterns.UNDERSIZE, patterns.OVERSIZE)
        return mine and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """Each size at each load."""
        goal = _goal(profile, cell, max_load_fps)
        trials = len(goal.loads()) * (2 + len(goal.illegal_octets))
        return Cost(trials=float(trials), traffic_s=trials * goal.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Run the trials; none where the tester cannot send the frames, or they are not illegal."""
        goal = _goal(asked.profile, asked.cell, min(asked.max_load_fps, asked.maximum_fps))
        if goal.wrong:
            lacks = not_assessed(
                asked.cell, outcome_id=asked.outcome_id, metric=self.metric, reason=goal.wrong
            )
            return Answered(outcomes=(lacks,))
        try:
            asked.refuse(goal.spec(goal.loads()[0], goal.illegal_octets[0]))
        except LackingError as error:
            ended: Run[tuple[illegal_frames.AtLoad, ...]] = Run(trials=(), reason=error.what, error=error)
        else:
            ended = asked.run(illegal_frames.procedure(goal))
        outcome = illegal_frames.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)


def _goal(profile: Profile, cell: Cell, load_fps: int) -> illegal_frames.IllegalGoal:
    said = settings(profile, NAME)
    return illegal_frames.IllegalGoal(
        cell=cell,
        load_fps=load_fps,
        duration_s=float(said.get("trial_s", illegal_frames.TRIAL_S)),
        loads_percent=tuple(said.get("loads_percent", illegal_frames.LOADS_PERCENT)),
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )


MEASUREMENTS = (IllegalFrames(),)

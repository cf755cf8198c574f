"""Latency of first frames of flows, beside later ones (LTD 3.2.2.2.1)."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.benchmarks import first_frames
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.measurements.recovery import has_flows
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, Direction, FrameFormat

NAME = "first_frames"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstFrames(OneMetric):
    """Repetitions with two frames for each of some flows of the cell, one way."""

    name: str = NAME
    metric: str = first_frames.METRIC
    reads_latency: bool = True
    places: tuple[Place, ...] = (
        Place(stage=Stage.ACTIVATION, criterion=Criterion.SPEED, rows=("RFC8204-5.1-02", "LTD-3.2.2.2.1")),
    )

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Switches with a table of flows between two ports, for UDP one way, at the sizes that are listed."""
        able = (
            has_flows(cell)
            and cell.direction is not Direction.BOTH
            and cell.frame_format is FrameFormat.IPV4_UDP
        )
        return able and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All repetitions."""
        goal = self._goal(profile, cell)
        trials = goal.repetitions
        return Cost(trials=trials, traffic_s=trials * goal.spec().duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Run the repetitions."""
        goal = self._goal(asked.profile, asked.cell)
        ended = asked.run(first_frames.procedure(goal))
        found = first_frames.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(found,), error=ended.error)

    def _goal(self, profile: Profile, cell: Cell) -> first_frames.FirstFramesGoal:
        said = settings(profile, NAME)
        return first_frames.FirstFramesGoal(
            cell=cell,
            repetitions=int(said.get("repetitions", first_frames.REPETITIONS)),
            load_fps=int(said.get("load_fps", first_frames.LOAD_FPS)),
            max_repeats=profile.policy.max_repeats,
        )


MEASUREMENTS = (FirstFrames(),)

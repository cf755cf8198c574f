"""Address tables of a switch: caching capacity (RFC 2889 5.7) and learning rate (RFC 2889 5.8).

Each turn begins with an empty table, which the switch comes to by forgetting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.benchmarks import caching_capacity, learning_rate
from bmwg.methodology.benchmarks.address_table import LEAST_TAUGHT_FPS, MOST, OWN, TAUGHT_FPS
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import STARTED, Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import (
    Answered,
    Asked,
    Cost,
    Found,
    OneMetric,
    settings,
    wanted_size,
)
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell
from bmwg.methodology.search.stepwise import Procedure, Run, Step, run_steps
from bmwg.methodology.trial.judging import JudgedTrial

_AGEING_S = 300.0  # of an estimate: the default of switches (IEEE 802.1Q 8.8.3)
_ASSUMED = 4096  # of an estimate: what the table holds


class _OfTables(OneMetric):
    """What both have in common."""

    __slots__ = ()
    name: str

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Cells of their pattern, at the sizes that the profile may list."""
        return patterns.kind_of(cell.axes) == patterns.ADDRESS_TABLE and wanted_size(profile, self.name, cell)


@dataclass(frozen=True, slots=True, kw_only=True)
class CachingCapacity(_OfTables):
    """The most addresses of which the switch knows every one."""

    name: str = "caching_capacity"
    places: tuple[Place, ...] = (
        Place(stage=Stage.ACTIVATION, criterion=Criterion.SCALE, rows=("RFC8204-5.4", "LTD-3.2.2.4.1")),
    )
    metric: str = caching_capacity.METRIC

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """Turns of a table of a usual size, and an ageing time before each."""
        goal = self._goal(profile, cell)
        size = max(2, int(_setting(cell, "table_entries", _ASSUMED)))
        turns = abs(math.log2(size / goal.first)) + math.log2(size)
        return Cost(
            trials=3 * turns,
            traffic_s=turns * 2 * size / goal.taught_fps,
            waits_s=turns * _setting(cell, "ageing_s", _AGEING_S),
        )

    def measure(self, asked: Asked) -> Answered:
        """Search."""
        goal = self._goal(asked.profile, asked.cell)
        ended = _run(asked, caching_capacity.procedure(goal))
        outcome = caching_capacity.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)

    def _goal(self, profile: Profile, cell: Cell) -> caching_capacity.CapacityGoal:
        said = settings(profile, self.name)
        most = int(said.get("most_addresses", MOST))
        return caching_capacity.CapacityGoal(
            cell=cell,
            first=int(said.get("first_addresses", min(caching_capacity.FIRST, most))),
            most=most,
            taught_fps=int(said.get("learning_fps", TAUGHT_FPS)),
            max_repeats=profile.policy.max_repeats,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRate(_OfTables):
    """The highest rate of new addresses of which the switch learns every one."""

    name: str = "learning_rate"
    places: tuple[Place, ...] = (replace(STARTED, rows=("RFC8204-5.1-01", "LTD-3.2.2.4.2")),)
    metric: str = learning_rate.METRIC

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """Turns of a search over all rates, half of them twice, and an ageing time before each."""
        goal = self._goal(profile, cell, max_load_fps)
        turns = 1.5 * (2 + math.log2(1 + math.log(goal.most_fps / goal.least_fps) / goal.width))
        return Cost(
            trials=3 * turns,
            traffic_s=turns * 2 * goal.addresses / goal.asked_fps,
            waits_s=turns * _setting(cell, "ageing_s", _AGEING_S),
        )

    def measure(self, asked: Asked) -> Answered:
        """Search."""
        goal = self._goal(asked.profile, asked.cell, min(asked.max_load_fps, asked.maximum_fps))
        ended = _run(asked, learning_rate.procedure(goal))
        outcome = learning_rate.outcome(ended, goal, outcome_id=asked.outcome_id)
        return Answered(outcomes=(outcome,), error=ended.error)

    def _goal(self, profile: Profile, cell: Cell, most_fps: int) -> learning_rate.LearningGoal:
        said: dict[str, Any] = settings(profile, self.name)
        return learning_rate.LearningGoal(
            cell=cell,
            most_fps=most_fps,
            addresses=int(said.get("addresses", learning_rate.ADDRESSES)),
            least_fps=min(int(said.get("least_fps", LEAST_TAUGHT_FPS)), most_fps),
            asked_fps=min(TAUGHT_FPS, most_fps),
            max_repeats=profile.policy.max_repeats,
        )


def _setting(cell: Cell, name: str, otherwise: float) -> float:
    """Return what a cell varies of its switch."""
    return float(dict(cell.axes).get(f"functions.{cell.function}.{name}", otherwise))


def _run(asked: Asked, procedure: Procedure[Found]) -> Run[Found]:
    """Run turns; before the first trial of each the switch forgets what it knows."""

    def take(step: Step) -> JudgedTrial:
        if step.phase == OWN and not step.attempt:
            asked.forget()
        return asked.trial(step.spec, step.phase)

    return run_steps(procedure, take)


MEASUREMENTS = (CachingCapacity(), LearningRate())

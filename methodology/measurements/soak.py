"""Soak: a share of the throughput for a long time, as trials in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import alarmed_soak, soak
from bmwg.methodology.matrix import RELIABILITY, Place
from bmwg.methodology.measurements.measurement import (
    Answered,
    Asked,
    Cost,
    OneMetric,
    between_two,
    settings,
    wanted_size,
)
from bmwg.methodology.measurements.remarks import load_remark, without_plain_load
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.traffic import Traffic

NAME = "soak"
ALARMED = "soak_ltd"
_MODIFYING = ("nat44",)  # functions that change addresses and ports, and not only what a router does
_MAX_INVALID_RATIO = 0.1  # choice: beyond it the series says too little
_INTERVALS = 60  # choice: an hour of minutes
_LOAD_PERCENT = 90  # choice: below the throughput, so that loss is an event and not overload


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakMeasurement(OneMetric):
    """The series at the throughput of the same cell."""

    name: str = NAME
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (RELIABILITY,)
    metric: str = soak.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell but the wire, at the sizes that the profile may list."""
        return not cell.qualifies_tester and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All intervals; none is repeated."""
        goal = _goal(profile, cell, max_load_fps)
        return Cost(trials=goal.intervals, traffic_s=goal.intervals * goal.spec.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Run the series."""
        goal = _goal(asked.profile, asked.cell, asked.load_fps)
        ended = asked.run(soak.procedure(goal))
        assert asked.throughput is not None
        outcome = soak.outcome(
            ended, goal, asked.cell, outcome_id=asked.outcome_id, remarks=load_remark(asked.throughput)
        )
        return Answered(outcomes=(outcome,), error=ended.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmedSoak(OneMetric):
    """The throughput itself, confirmed by a trial before the series (LTD 3.2.2.1.6).

    `modified`: through a function that modifies headers (LTD 3.2.2.1.7), else through any other.
    """

    name: str = ALARMED
    modified: bool = False
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (
        replace(RELIABILITY, rows=("RFC8204-5.7-01", "LTD-3.2.2.1.6-01")),
        replace(RELIABILITY, part=alarmed_soak.PDV, rows=("RFC8204-5.7-03", "LTD-3.2.2.2.2")),
    )
    metric: str = alarmed_soak.METRIC

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell between two ports but the wire, at the sizes that are listed."""
        able = not cell.qualifies_tester and (cell.function in _MODIFYING) == self.modified
        return able and between_two(profile, ALARMED, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """The confirmation and all intervals."""
        goal = _alarmed_goal(profile, cell, max_load_fps)
        intervals = goal.series.intervals
        return Cost(trials=1 + intervals, traffic_s=goal.confirm_s + intervals * goal.series.spec.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Confirm the throughput and hold it; nothing where it is no plain number."""
        assert asked.throughput is not None
        if lacks := without_plain_load(asked.cell, asked.throughput, asked.outcome_id, self.metric):
            return Answered(outcomes=(lacks,))
        goal = replace(_alarmed_goal(asked.profile, asked.cell, asked.load_fps), metric=self.metric)
        ended = asked.run(alarmed_soak.procedure(goal))
        outcome = alarmed_soak.outcome(
            ended, goal, asked.cell, outcome_id=asked.outcome_id, remarks=load_remark(asked.throughput)
        )
        return Answered(outcomes=(outcome,), error=ended.error)


def _alarmed_goal(profile: Profile, cell: Cell, throughput_fps: int) -> alarmed_soak.AlarmedGoal:
    said = settings(profile, ALARMED)
    interval_s = float(said.get("interval_s", alarmed_soak.INTERVAL_S))
    return alarmed_soak.AlarmedGoal(
        series=soak.SoakGoal(
            spec=Traffic.of(cell).spec(throughput_fps, interval_s),
            intervals=int(said.get("intervals", alarmed_soak.INTERVALS)),
            max_invalid_ratio=float(said.get("max_invalid_ratio", _MAX_INVALID_RATIO)),
        ),
        confirm_s=float(said.get("confirm_s", alarmed_soak.CONFIRM_S)),
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )


def _goal(profile: Profile, cell: Cell, throughput_fps: int) -> soak.SoakGoal:
    said = settings(profile, NAME)
    load = throughput_fps * said.get("load_percent", _LOAD_PERCENT) // 100
    interval_s = float(said.get("interval_s", profile.trial_duration_s))
    return soak.SoakGoal(
        spec=Traffic.of(cell).spec(max(1, load), interval_s),
        intervals=int(said.get("intervals", _INTERVALS)),
        max_invalid_ratio=float(said.get("max_invalid_ratio", _MAX_INVALID_RATIO)),
    )


MEASUREMENTS = (
    SoakMeasurement(),
    AlarmedSoak(),
    AlarmedSoak(
        name="soak_ltd_modified",
        modified=True,
        metric=alarmed_soak.MODIFIED_METRIC,
        places=(replace(RELIABILITY, rows=("RFC8204-5.7-02", "LTD-3.2.2.1.7")),),
    ),
)

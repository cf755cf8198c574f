"""Soak: a share of the throughput for a long time, as trials in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import soak
from bmwg.methodology.matrix import RELIABILITY, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, TrialSpec

NAME = "soak"
_INTERVALS = 60  # choice: an hour of minutes
_LOAD_PERCENT = 90  # choice: below the throughput, so that loss is an event and not overload


@dataclass(frozen=True, slots=True, kw_only=True)
class SoakMeasurement(OneMetric):
    """The series at the throughput of the same cell."""

    name: str = NAME
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (replace(RELIABILITY, rows=("RFC8204-5.7-01", "LTD-3.2.2.1.6-01")),)
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


def _goal(profile: Profile, cell: Cell, throughput_fps: int) -> soak.SoakGoal:
    said = settings(profile, NAME)
    load = throughput_fps * said.get("load_percent", _LOAD_PERCENT) // 100
    return soak.SoakGoal(
        spec=TrialSpec(
            frame_octets=cell.frame_octets,
            load_fps=max(1, load),
            duration_s=float(said.get("interval_s", profile.trial_duration_s)),
            direction=cell.direction,
            frame_format=cell.frame_format,
            flows=cell.flows,
            destination_networks=cell.destination_networks,
            vlan_id=cell.vlan_id,
        ),
        intervals=int(said.get("intervals", _INTERVALS)),
        max_invalid_ratio=float(said.get("max_invalid_ratio", 0.1)),
    )


MEASUREMENTS = (SoakMeasurement(),)

"""Throughput where each flow of the test frames has an entry in the switch's table (LTD 3.2.2.3.1)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import flow_scale
from bmwg.methodology.cells import neighbours, patterns
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements.flow_changes import SWITCHES, without_number
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, wanted_size
from bmwg.methodology.measurements.modifiers import named, search_beside
from bmwg.methodology.measurements.throughput import bisection_trials
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, FrameFormat, OutcomeType

NAME = "flow_scale"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowScale(OneMetric):
    """A bisection (RFC 2544 26.1) with as many entries as the cell has flows."""

    name: str = NAME
    metric: str = flow_scale.METRIC
    needs_throughput: bool = False
    reads_latency: bool = True  # the whole record: its counts beside the frames are the evidence
    places: tuple[Place, ...] = (
        Place(stage=Stage.OPERATION, criterion=Criterion.SCALE, rows=("RFC8204-5.8-01", "LTD-3.2.2.3.1")),
    )

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Switches with a table of flows, for frames that have UDP ports, at the sizes that are listed."""
        able = cell.function in SWITCHES and not {patterns.AXIS, neighbours.AXIS} & dict(cell.axes).keys()
        able = able and cell.frame_format is FrameFormat.IPV4_UDP
        return able and wanted_size(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """As a throughput."""
        trials = float(bisection_trials(profile, max_load_fps))
        return Cost(trials=trials, traffic_s=trials * profile.trial_duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Search with the entries standing; no number where they were not in every trial."""
        flows = asked.cell.flows
        found = search_beside(asked, named(flow_scale.modifier(flows)), self.metric)
        outcome = replace(
            found.outcome,
            requirements=flow_scale.REQUIREMENTS,
            quality=(*found.outcome.quality, f"an entry of its own for each of {flows} flows stood before"),
        )
        other = [
            trial.seq
            for trial in found.trials
            if trial.valid and dict(trial.result.auxiliary).get(flow_scale.MATCHED) != flows
        ]
        if found.error is None and outcome.type is not OutcomeType.INVALID and other:
            outcome = without_number(outcome, f"not {flows} entries stood beside trials {other}")
        return Answered(outcomes=(outcome,), error=found.error)


MEASUREMENTS = (FlowScale(),)

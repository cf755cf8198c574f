"""Latency of all frames of one trial at the throughput of the cell."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology import latency
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, TrialSpec
from bmwg.methodology.trial import RecordedTrial, valid_trial


@dataclass(frozen=True, slots=True, kw_only=True)
class AllFramesLatency:
    """One trial, repeated only while it is not valid."""

    name: str = "latency"
    needs_throughput: bool = True
    reads_latency: bool = True
    families: tuple[str, ...] = (latency.METRIC,)

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """The frame sizes that the profile lists for latency."""
        return cell.frame_octets in profile.latency.frame_octets

    def recorded_as(self, profile: Profile, cell: Cell) -> str:
        """The family of its percentiles."""
        return latency.METRIC

    def metrics(self, profile: Profile, cell: Cell) -> tuple[str, ...]:
        """One outcome holds all percentiles."""
        return (latency.METRIC,)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """One trial."""
        return Cost(trials=1.0, traffic_s=profile.latency.duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Measure at the highest load without loss (RFC2544-26.2-01)."""

        def one(wanted: TrialSpec) -> RecordedTrial:
            trial = asked.trial(wanted, "latency")
            return RecordedTrial(seq=trial.seq, result=trial.result)

        spec = asked.profile.latency_spec(asked.cell, asked.load_fps)
        tried = valid_trial(one, spec, asked.profile.policy)
        outcome = latency.outcome(tried, asked.cell, outcome_id=asked.outcome_id)
        assert asked.throughput is not None
        return Answered(
            outcomes=(replace(outcome, quality=(*outcome.quality, *load_remark(asked.throughput))),)
        )


MEASUREMENTS = (AllFramesLatency(),)

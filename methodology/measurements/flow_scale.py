"""Throughput where each flow of the test frames has an entry in the switch's table (LTD 3.2.2.3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.benchmarks import flow_scale
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, wanted_size
from bmwg.methodology.measurements.modifiers import Beside, SearchBeside, answered, named, search_beside
from bmwg.methodology.measurements.recovery import has_flows
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, FrameFormat
from bmwg.methodology.trial.judging import JudgedTrial

NAME = "flow_scale"  # its settings are those of both


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowScale(SearchBeside):
    """A search beside as many entries as the cell has flows; they stand, or expire."""

    name: str = NAME
    metric: str = flow_scale.METRIC
    expire: bool = False
    places: tuple[Place, ...] = (
        Place(stage=Stage.OPERATION, criterion=Criterion.SCALE, rows=("RFC8204-5.8-01", "LTD-3.2.2.3.1")),
    )

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Switches with a table of flows, for frames that have UDP ports, at the sizes that are listed."""
        able = has_flows(cell) and cell.frame_format is FrameFormat.IPV4_UDP
        return able and wanted_size(profile, NAME, cell)

    def measure(self, asked: Asked) -> Answered:
        """Search with the entries; no number where they did not stand in every trial, or did not expire."""
        flows = asked.cell.flows
        name = flow_scale.expiring_modifier(flows) if self.expire else flow_scale.modifier(flows)
        found = search_beside(asked, named(name), self.metric)
        trials = [trial for trial in found.trials if trial.valid]
        seen, wrong = _expired(flows, trials) if self.expire else _stood(flows, trials)
        beside = (seen, *_reached(flows, found))
        return answered(found, requirements=flow_scale.REQUIREMENTS, seen=beside, wrong=wrong)


def _count(trial: JudgedTrial, name: str) -> int:
    return dict(trial.result.auxiliary).get(name, 0)


def _stood(flows: int, trials: Sequence[JudgedTrial]) -> tuple[str, str]:
    """Say that the entries stood, and beside which trials they did not."""
    other = [trial.seq for trial in trials if _count(trial, flow_scale.MATCHED) != flows]
    wrong = f"not {flows} entries stood beside trials {other}" if other else ""
    return f"an entry of its own for each of {flows} flows stood before", wrong


def _reached(flows: int, found: Beside) -> tuple[str, ...]:
    """Say that trials of the bound were too short for each flow to have a frame: flows take turns."""
    bound = found.outcome.lower.trials if found.outcome.lower else ()
    trials = [trial for trial in found.trials if trial.seq in bound]
    fewest = min((way.sent_frames for trial in trials for way in trial.result.streams), default=flows)
    if fewest >= flows:
        return ()
    rest = f"{flows - fewest} of {flows} flows had none"
    return (f"in a trial of the lower bound {fewest} frames went each way: {rest}",)


def _expired(flows: int, trials: Sequence[JudgedTrial]) -> tuple[str, str]:
    """Say how many entries expired, and beside which trials fewer did than had to."""
    counts = [_count(trial, flow_scale.EXPIRED) for trial in trials]
    few = [
        trial.seq
        for trial, count in zip(trials, counts, strict=True)
        if count < flow_scale.due_expiries(flows, trial.spec.duration_s)
    ]
    wrong = f"fewer entries expired than had to beside trials {few}" if few else ""
    if counts and not any(counts):
        wrong = "no entry expired beside any trial"
    seen = (
        f"an entry of its own for each of {flows} flows, which the switch removed after"
        f" {flow_scale.TIMEOUT_S} s and got again at once; {min(counts, default=0)} to"
        f" {max(counts, default=0)} expired beside each trial"
    )
    return seen, wrong


MEASUREMENTS = (
    FlowScale(),
    FlowScale(name="flow_expiry", metric=flow_scale.EXPIRING_METRIC, expire=True),
)

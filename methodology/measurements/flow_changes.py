"""Throughput while idle flows are added and removed, at each of several sizes and rates (LTD 3.2.2.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.benchmarks import flow_changes
from bmwg.methodology.benchmarks.flow_changes import Coupling
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, settings, wanted_size
from bmwg.methodology.measurements.modifiers import SearchBeside, answered, mean_latency, named, search_beside
from bmwg.methodology.measurements.recovery import has_flows
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.judging import JudgedTrial

NAME = "flow_changes"
_ENOUGH = 0.9  # choice: of the changes that are due; fewer are another rate


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowChanges(SearchBeside):
    """A search beside one number of idle entries and one rate of changes."""

    coupling: Coupling
    places: tuple[Place, ...] = (
        Place(stage=Stage.ACTIVATION, criterion=Criterion.ACCURACY, rows=("RFC8204-5.2", "LTD-3.2.2.5.1")),
    )

    @property
    def name(self) -> str:
        """`flow_changes_`, entries and rate."""
        return f"{NAME}_{self.coupling.entries}_{self.coupling.changes_per_s}"

    @property
    def metric(self) -> str:
        """The coupling's."""
        return self.coupling.metric

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """A table of flows between two ports, no neighbour, where the profile leaves the coupling in."""
        said = settings(profile, NAME)
        able = has_flows(cell) and self.coupling.entries in said.get("entries", flow_changes.ENTRIES)
        able = able and self.coupling.changes_per_s in said.get("changes_per_s", flow_changes.RATES_PER_S)
        return able and wanted_size(profile, NAME, cell)

    def measure(self, asked: Asked) -> Answered:
        """Search with the entries standing and changing."""
        coupling = self.coupling
        found = search_beside(asked, named(coupling.modifier), coupling.metric)
        late = _late(coupling, found.trials)
        wrong = (
            f"the switch took fewer than {_ENOUGH:.0%} of the changes that were due in trials {late}:"
            f" {coupling.changes_per_s}/s were not what went on"
        )
        return answered(
            found,
            requirements=flow_changes.REQUIREMENTS,
            seen=_seen(coupling, found.trials),
            values=mean_latency(found),
            wrong=wrong if late else "",
        )


def _changes(trial: JudgedTrial) -> int:
    return dict(trial.result.auxiliary).get(flow_changes.CHANGES, 0)


def _late(coupling: Coupling, trials: Sequence[JudgedTrial]) -> list[int]:
    """Return the valid trials beside which fewer changes went on than were due."""
    return [
        trial.seq
        for trial in trials
        if trial.valid and _changes(trial) < _ENOUGH * coupling.due_changes(trial.spec.duration_s)
    ]


def _seen(coupling: Coupling, trials: Sequence[JudgedTrial]) -> tuple[str, ...]:
    counts = [_changes(trial) for trial in trials if trial.valid]
    if not counts:
        return ()
    return (
        f"{coupling.entries} idle flows stood; of {coupling.changes_per_s}/s additions and removals"
        f" {min(counts)} to {max(counts)} were confirmed beside each trial",
    )


MEASUREMENTS = tuple(FlowChanges(coupling=one) for one in flow_changes.couplings())

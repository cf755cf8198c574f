"""Throughput while idle flows are added and removed, at each of several sizes and rates (LTD 3.2.2.5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.answers import throughput
from bmwg.methodology.benchmarks import flow_changes
from bmwg.methodology.benchmarks.flow_changes import Coupling
from bmwg.methodology.matrix import Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, settings, wanted_size
from bmwg.methodology.measurements.modifiers import (
    Beside,
    SearchBeside,
    answered,
    mean_latency,
    named,
    search_beside,
)
from bmwg.methodology.measurements.recovery import has_flows
from bmwg.methodology.mlrsearch.classify import LoadClass, sums, trial_outputs
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
        unproven = _unproven(found, late)
        wrong = (
            f"the switch took fewer than {_ENOUGH:.0%} of the changes that were due in trials {unproven}:"
            f" {coupling.changes_per_s}/s were not what went on"
        )
        return answered(
            found,
            requirements=flow_changes.REQUIREMENTS,
            seen=_seen(coupling, found.trials, late),
            values=mean_latency(found.without(late)),
            wrong=wrong if unproven else "",
        )


def _changes(trial: JudgedTrial) -> int:
    return dict(trial.result.auxiliary).get(flow_changes.CHANGES, 0)


def _late(coupling: Coupling, trials: Sequence[JudgedTrial]) -> frozenset[int]:
    """Return the valid trials beside which fewer changes went on than were due.

    They are counted from before a trial until after it, so they are due in the whole time that it took.
    """
    return frozenset(
        trial.seq
        for trial in trials
        if trial.valid and _changes(trial) < _ENOUGH * coupling.due_changes(_took_s(trial))
    )


def _took_s(trial: JudgedTrial) -> float:
    return max(trial.spec.duration_s, trial.result.wall_time_ns / 1e9)


def _unproven(found: Beside, late: frozenset[int]) -> list[int]:
    """Return the late trials on which an answer rests that is not proven without them.

    What is lost beside fewer changes would be lost beside more, so such a trial proves an upper end. One that
    held beside fewer proves nothing: at a lower end it counts as lossy. An answer without a lower end is none
    where every trial was late.
    """
    lower, goal = found.outcome.lower, found.goal
    valid = [trial for trial in found.trials if trial.valid]
    if lower is None:
        return sorted(late) if len(late) == len(valid) else []
    if goal is None:
        return [seq for seq in lower.trials if seq in late]
    final_s = goal.goal_final_trial_duration_s
    longer = [trial for trial in valid if trial.spec.duration_s > final_s]
    ends = throughput.interval(found.outcome) or ()
    for load in sorted({lower.load_fps, *ends[:1], *(trial.load for trial in longer)}):
        here = (trial for trial in valid if trial.load == load and trial.spec.duration_s <= final_s)
        outputs = trial_outputs(here)
        held = [one.seq for one in outputs if one.seq in late and one.loss_ratio <= goal.goal_loss_ratio]
        counted = [replace(one, loss_ratio=1.0) if one.seq in held else one for one in outputs]
        proven = sums(counted, goal).classify(goal) is LoadClass.LOWER_BOUND
        if held and (goal.goal_loss_ratio or not proven):  # what little they lost would be in the number
            return held
    # of the longer trials at the lower end the one that lost least says what no buffer carried
    best = min(longer, key=lambda trial: (trial.loss_ratio, trial.seq not in late), default=None)
    return [best.seq] if best is not None and best.seq in late else []


def _seen(coupling: Coupling, trials: Sequence[JudgedTrial], late: frozenset[int]) -> tuple[str, ...]:
    counts = [_changes(trial) for trial in trials if trial.valid]
    if not counts:
        return ()
    stood = (
        f"{coupling.entries} idle flows stood; of {coupling.changes_per_s}/s additions and removals"
        f" {min(counts)} to {max(counts)} were confirmed beside each trial"
    )
    if not late:
        return (stood,)
    fewer = f"fewer than {_ENOUGH:.0%} of the changes that were due"
    return stood, f"beside {len(late)} of {len(counts)} trials {fewer}: these prove no lower end"


MEASUREMENTS = tuple(FlowChanges(coupling=one) for one in flow_changes.couplings())

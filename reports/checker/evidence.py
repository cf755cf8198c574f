"""A run as read for judging: of a trial what a replay needs; histograms are read again when asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bmwg.methodology import suites
from bmwg.methodology.answers.throughput import ENVELOPE_METRIC
from bmwg.methodology.cells import patterns
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import (
    UNNAMED,
    Cell,
    Outcome,
    OutcomeType,
)
from bmwg.methodology.suites import Case
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.medium import cell_fps
from bmwg.methodology.trial.trial_times import TrialTimes
from bmwg.reports.checker.delays import Delays
from bmwg.reports.checker.deviations import Declared
from bmwg.reports.checker.findings import Finding
from bmwg.reports.checker.source import RunFiles
from bmwg.reports.store import loads
from bmwg.reports.store.codec import PlannedCell
from bmwg.reports.store.frame_codec import result_from_json
from bmwg.reports.store.read import JOURNAL_FILE
from bmwg.reports.store.upgrade import of_today

_QUALIFIED = (OutcomeType.MEASURED, OutcomeType.AT_CEILING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One recorded trial, judged anew. `trial.result` is without histograms; `Evidence.whole` has them.

    `delays` is what is kept of them.
    """

    trial: JudgedTrial
    cell_id: str
    deployment_id: str
    metric: str
    test_id: str
    phase: str
    at: str
    fault: bool
    start: int
    octets: int
    platform: tuple[int, int, str] | None = None  # looks of the doctor, changes, hash
    times: TrialTimes | None = None
    delays: tuple[Delays, ...] = ()  # of each stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What each line of the journal has, whatever the kind of load."""

    seq: int
    cell_id: str
    deployment_id: str
    metric: str
    at: str
    platform: tuple[int, int, str] | None


@dataclass(frozen=True, kw_only=True)  # no slots: what many rules ask for is kept
class Evidence:
    """What a run's files hold. `findings` are what reading them found; None and empty stand for unreadable.

    `whole_journal` is False where the chain broke: what rests on trials can then not be replayed.
    `trials` are those of frames, `executions` those of other kinds of load.
    """

    files: RunFiles
    findings: tuple[Finding, ...]
    run: Mapping[str, Any] | None = None
    platform: Mapping[str, Any] | None = None
    profile: Profile | None = None
    plan: tuple[PlannedCell, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    trials: tuple[Trial, ...] = ()
    executions: tuple[Execution, ...] = ()
    whole_journal: bool = False
    deviations: tuple[Declared, ...] = ()
    submission: Mapping[str, Any] | None = None
    by_group: Mapping[tuple[str, str], tuple[Trial, ...]] = field(default_factory=dict)
    by_cell: Mapping[tuple[str, str], Outcome] = field(default_factory=dict)

    @property
    def load(self) -> str:
        """The (first) kind of load of the run, as its profile says."""
        return kinds.of_profile(self.run["profile"]) if self.run is not None else UNNAMED

    @property
    def loads(self) -> tuple[str, ...]:
        """All kinds of load of the run."""
        return loads.of_run(self.run) if self.run is not None else (UNNAMED,)

    @property
    def deployments(self) -> Mapping[str, Any]:
        """What platform.json tells of each deployment, by its id; empty where it tells of none."""
        found: Mapping[str, Any] = (self.platform or {}).get("deployments") or {}
        return found

    @property
    def of_frames(self) -> bool:
        """Whether the run's (first) profile is one of frames, as rules for frames alone ask."""
        return self.load == UNNAMED

    def of_load(self, kind: str) -> Evidence:
        """Return it with what the header says for one kind of load, and the plan and answers of it."""
        if self.run is None or self.loads == (kind,):
            return self
        return replace(
            self,
            run={**self.run, **loads.said_of(self.run, kind)},
            profile=self.profile if kind == self.load else None,
            plan=tuple(cell for cell in self.plan if cell.cell.kind == kind),
            outcomes=tuple(outcome for outcome in self.outcomes if outcome.cell.kind == kind),
        )

    @cached_property
    def begins(self) -> Mapping[int, str]:
        """When each line of the journal can have begun at the earliest: the stamp of the line before."""
        ended = [(trial.trial.seq, trial.at) for trial in self.trials]
        if self.executions:
            ended = sorted([*ended, *((execution.seq, execution.at) for execution in self.executions)])
        stamps = [self.run["started_at"] if self.run else "", *(at for _, at in ended)]
        return {seq: stamp for (seq, _), stamp in zip(ended, stamps, strict=False)}

    @cached_property
    def by_seq(self) -> Mapping[int, Trial]:
        """The trials of frames by their numbers, which are those of their lines."""
        return {trial.trial.seq: trial for trial in self.trials}

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """What all lines of the journal have, of every kind of load, in order."""
        frames = (
            Line(
                seq=trial.trial.seq,
                cell_id=trial.cell_id,
                deployment_id=trial.deployment_id,
                metric=trial.metric,
                at=trial.at,
                platform=trial.platform,
            )
            for trial in self.trials
        )
        others = (
            Line(
                seq=execution.seq,
                cell_id=execution.cell_id,
                deployment_id=execution.deployment_id,
                metric=execution.metric,
                at=execution.at,
                platform=execution.platform,
            )
            for execution in self.executions
        )
        return (
            tuple(sorted((*frames, *others), key=lambda line: line.seq)) if self.executions else tuple(frames)
        )

    def of(self, cell_id: str, metric: str) -> tuple[Trial, ...]:
        """Return the trials of one cell and metric, in order."""
        return self.by_group.get((cell_id, metric), ())

    @property
    def cases(self) -> tuple[Case, ...]:
        """The test cases by which the run was made: the installed ones, and what the run says of others."""
        said = self.run.get("cases", ()) if self.run else ()
        return suites.with_those(map(Case.from_builtins, said)) if said else suites.cases()

    def outcome(self, cell_id: str, metric: str) -> Outcome | None:
        """Return the (first) outcome of one cell and metric."""
        return self.by_cell.get((cell_id, metric))

    @property
    def line_rate_bps(self) -> int | None:
        """The medium's rate in bit/s; None where it has none."""
        rate: int | None = self.run["medium"]["line_rate_bps"] if self.run else None
        return rate

    def medium_fps(self, cell: Cell) -> int | None:
        """Return the medium's theoretical rate for a cell's frames, frames/s; None where it has none."""
        return cell_fps(self.line_rate_bps, cell)

    def qualification(self, cell: Cell) -> Outcome | None:
        """Return the outcome of the tester's qualification for a cell's traffic."""
        return self.outcome(cell.qualification.cell_id, ENVELOPE_METRIC)

    def envelope_fps(self, cell: Cell) -> int | None:
        """Return the load (frames/s) up to which the run qualified its tester for a cell's traffic.

        Of a pattern of ports it is a part of a pair's: the tester sends and receives as many more frames.
        """
        outcome = self.qualification(cell)
        if outcome is None or outcome.type not in _QUALIFIED or outcome.lower is None:
            return None
        return outcome.lower.load_fps // patterns.share_of_tester(cell.axes)

    def whole(self, trial: Trial) -> JudgedTrial:
        """Return a trial with its histograms, read again from its line."""
        data = json.loads(self.files.piece(JOURNAL_FILE, trial.start, trial.octets))
        return replace(trial.trial, result=result_from_json(of_today(data)))


def cells_of(evidence: Evidence) -> dict[str, Cell]:
    """Return by its id each cell that was planned or answered."""
    cells = {planned.cell.cell_id: planned.cell for planned in evidence.plan}
    return cells | {outcome.cell.cell_id: outcome.cell for outcome in evidence.outcomes}

"""The bench of one run: which cells are measured together, in which order, and what becomes of each.

It knows no metric: what a cell's measurement needs and does is said by `methodology.measurements`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from bmwg.drivers.api.protocols import TrafficLimits, Trials
from bmwg.drivers.testbed.medium import medium_of
from bmwg.drivers.watch.liveness import Liveness
from bmwg.methodology import suites
from bmwg.methodology.answers import throughput
from bmwg.methodology.cells import patterns
from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.measurements.remarks import without_load
from bmwg.methodology.plan import planning, turns
from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.methodology.records import FRAMES, Cell, Outcome, OutcomeType
from bmwg.methodology.trial.medium import cell_fps
from bmwg.resources import rooms
from bmwg.resources.kinds.frames.deployments import Deployments
from bmwg.resources.kinds.frames.measure import CellMeasurement
from bmwg.resources.kinds.frames.session import Session
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.clock import Clock
from bmwg.resources.run.needs import lacking, option_mend
from bmwg.resources.run.open_run import open_run
from bmwg.resources.run.outcomes import answer_line, said
from bmwg.resources.run.settings import Settings


class _DeploymentBrokenError(Exception):
    """Tester, link or DUT failed while a cell was measured."""


class Bench:
    """One run. `open` makes everything or nothing; `close` removes all and writes the report."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._deployments = Deployments(session)
        self._answers = Answers(session.run, FRAMES, answer_line, key=_key)

    @classmethod
    def open(cls, settings: Settings, selected: Collection[str], clock: Clock | None = None) -> Bench:
        """Open a run of the selected tests of frames alone; raises what `open_run` raises."""
        (_, bench) = open_run(settings, selected, clock, [rooms.room(FRAMES)]).benches[FRAMES]
        assert isinstance(bench, cls)
        return bench

    @property
    def run_id(self) -> str:
        """The run that this bench writes."""
        return self._session.store.run_id

    @property
    def mends(self) -> Mapping[str, str]:
        """The line that supplies what a cell lacked, by the id of its outcome."""
        return self._answers.mends

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        return said(outcome)

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._session.platform.begin_suite(suite)

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each planned cell, measured now unless it stands already.

        They are measured in the order of the plan, so that the options of a test take turns. What the plan
        has beside a cell on the same deployment is measured while it stands, for other selected tests too.
        Raises ToolkitBug BENCH-03 for a test that is not in `suites.cases()`.
        """
        case = suites.case(test_id)
        if case is None:
            raise ToolkitBug("BENCH-03", "test", expected="an id of methodology/suites.py", found=test_id)
        session = self._session
        places = {planned.key: place for place, planned in enumerate(session.plan)}
        asked = planning.answers_of(session.profile, case, session.networks)
        for wanted in sorted(asked, key=lambda one: places.get(one.key, len(places))):
            place = places.get(wanted.key)
            self._ensure(wanted if place is None else session.plan[place])
        return [self._answers[wanted.key] for wanted in asked]

    def _ensure(self, wanted: PlannedAnswer) -> None:
        """Measure a cell, with what the plan has beside it on the same deployment, unless it stands."""
        while wanted.key not in self._answers:  # each pass gives at least one outcome more
            together = turns.visit(self._session.plan, wanted)
            self._measure_group(
                [load for load in self._with_loads(together) if load.key not in self._answers]
            )

    def _with_loads(self, group: Sequence[PlannedAnswer]) -> list[PlannedAnswer]:
        """Put before each measurement at the throughput the throughput itself (RFC 2544 26.2)."""
        full: dict[tuple[str, str], PlannedAnswer] = {}
        for planned in group:
            if measurement(planned.measurement).needs_throughput:
                load = self._throughput_of(planned.cell)
                full.setdefault(load.key, replace(load, missing=planned.missing))
            full.setdefault(planned.key, planned)
        return list(full.values())

    def _throughput_of(self, cell: Cell) -> PlannedAnswer:
        session = self._session
        wanted = planning.throughput_of(session.profile, cell, session.selected)
        return next((planned for planned in session.plan if planned.key == wanted.key), wanted)

    def _measure_group(self, group: list[PlannedAnswer]) -> None:
        """Measure cells of one deployment; what goes wrong there is their outcome and stops no other cell."""
        with self._answers.measuring(partial(self._fail, group)):
            group = self._qualified(self._assessable(group))
            if not group:
                return
            try:
                with self._deployments.deployed(group[0].cell) as (deployment_id, traffic, limits):
                    liveness = Liveness(self._session.bed)
                    for planned in group:
                        if planned.key not in self._answers:  # one measurement may have given several
                            self._measure(planned, deployment_id, traffic, limits, liveness.fault)
            except _DeploymentBrokenError:
                pass  # its outcome is kept; the rest of the group gets a new deployment and a new tester

    def _assessable(self, group: list[PlannedAnswer]) -> list[PlannedAnswer]:
        """Return the cells that can be tried here; the others are kept as not assessed, with the reason."""
        left = []
        for planned in group:
            missing = None if planned.missing else lacking(planned, self._session.bed)
            reason = planned.missing or (f"{missing.what}: {missing.reason}" if missing else "")
            if not reason:
                left.append(planned)
                continue
            outcome = throughput.not_assessed(
                planned.cell, outcome_id=planned.outcome_id, metric=planned.metric, reason=reason
            )
            self._answers.keep(outcome, mend=missing.mend if missing else option_mend(planned.cell.network))
        return left

    def _qualified(self, group: list[PlannedAnswer]) -> list[PlannedAnswer]:
        """Return the cells for whose traffic the tester is qualified (design decision 4)."""
        left = []
        for planned in group:
            if planned.cell.qualifies_tester or self._envelope(planned.cell) is not None:
                left.append(planned)
            elif planned.key not in self._answers:
                self._answers.keep(
                    throughput.unqualified(
                        planned.cell,
                        self._answers.get(self._wire(planned.cell).key),
                        outcome_id=planned.outcome_id,
                        metric=planned.metric,
                    )
                )
        return left

    def _measure(
        self,
        planned: PlannedAnswer,
        deployment_id: str,
        traffic: Trials,
        limits: TrafficLimits,
        fault: Callable[..., str | None],
    ) -> None:
        session, cell = self._session, planned.cell
        kind = measurement(planned.measurement)
        found = self._answers[self._throughput_of(cell).key] if kind.needs_throughput else None
        if found is not None and found.lower is None:  # RFC 2544 26.2 determines the throughput first
            lacks = without_load(cell, found, outcome_id=planned.outcome_id, metric=planned.metric)
            self._answers.keep(lacks)
            return
        trials = CellMeasurement(
            planned=planned,
            metric=kind.recorded_as(session.profile, cell),
            deployment_id=deployment_id,
            traffic=traffic,
            limits=limits,
            tester=session.testbed.tester.driver,
            store=session.store,
            policy=session.profile.policy,
            display=session.display,
            fault=fault,
            watch=session.watch,
            clock=session.clock,
            deployed_ns=self._deployments.deployed_ns,
            switch=self._deployments.switch,
            recorded=session.continued.recorded(planned) if session.continued else None,
        )
        envelope_fps = None if cell.qualifies_tester else self._envelope(cell)
        line_rate_bps = medium_of(session.testbed).line_rate_bps
        asked = Asked(
            profile=session.profile,
            cell=cell,
            outcome_id=f"{planned.test_id}:{cell.cell_id}",
            trial=trials.trial,
            max_load_fps=envelope_fps or planning.qualification_max_fps(cell, line_rate_bps),
            envelope_fps=envelope_fps,
            throughput=found,
            medium_fps=cell_fps(line_rate_bps, cell),
            refuse=trials.refuse,
            forget=trials.forget,
        )
        # a run that was cut off between its answers has one of several already
        outcomes = [one for one in trials.measure(kind, asked) if _key(one) not in self._answers]
        for outcome in outcomes if trials.broken else session.platform.judged(outcomes):
            self._answers.keep(outcome)
        if trials.broken:
            raise _DeploymentBrokenError

    def _envelope(self, cell: Cell) -> int | None:
        """The tester's qualified load for this shape of traffic, frames/s; qualified now if it is not yet."""
        planned = self._wire(cell)
        if planned.key not in self._answers:
            self._measure_group([planned])
        outcome = self._answers[planned.key]
        usable = outcome.type in (OutcomeType.MEASURED, OutcomeType.AT_CEILING) and outcome.lower is not None
        share = patterns.share_of_tester(cell.axes)
        return outcome.lower.load_fps // share if usable and outcome.lower else None

    def _wire(self, cell: Cell) -> PlannedAnswer:
        """The tester's qualification for the traffic of a cell."""
        return self._throughput_of(cell.qualification)

    def _fail(self, group: Sequence[PlannedAnswer], reason: str) -> None:
        for planned in group:
            if planned.key not in self._answers:
                self._answers.keep(
                    Outcome(
                        outcome_id=planned.outcome_id,
                        metric=planned.metric,
                        cell=planned.cell,
                        type=OutcomeType.INVALID,
                        reason=reason,
                    )
                )

    def rest(self) -> None:
        """End the tester; the next deployment gets a new one."""
        self._deployments.end_traffic()

    def close(self) -> None:
        """Close the run."""
        self._session.run.close()


def _key(outcome: Outcome) -> tuple[str, str]:
    """Return what `PlannedAnswer.key` is of the answer's plan."""
    return (outcome.metric, outcome.cell.cell_id)

"""A kind whose cells are answered by repetitions, as journal, store, report and verification see it. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from bmwg.methodology.answers import repeated
from bmwg.methodology.answers.repeated import Repetitions, Tried
from bmwg.methodology.kinds.kind import Body, Execution
from bmwg.methodology.kinds.repeated.profile import Planned, Profiles, SpecT
from bmwg.methodology.matrix import Place
from bmwg.methodology.plan.turns import Turn
from bmwg.methodology.record.drift import Change, reason
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial.judging import Assessment

MEASURED, WARM_UP = "measured", "warm_up"  # phases: an answer rests on measured executions alone


class Result(Protocol):
    """One execution as it was, a frozen dataclass: `wall_ns` is all of it, `faults` are sentences.

    What an execution came to of which nothing but faults is known can be made of them alone.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __init__(self, *, wall_ns: int = 0, faults: tuple[str, ...] = ()) -> None: ...

    @property
    def wall_ns(self) -> int:
        """How long it took with all that belongs to it."""
        ...

    @property
    def faults(self) -> tuple[str, ...]:
        """What failed."""
        ...

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds beside the faults, which stand in the line's head."""
        ...

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any], faults: Sequence[str] = (), /) -> Self:
        """Read what `as_builtins` gave."""
        ...


ResultT = TypeVar("ResultT", bound=Result)


class RepeatedKind(ABC, Generic[SpecT, ResultT]):
    """A kind of load by what is its own: records, profiles, when an execution holds, and what valid ones say.

    `families` are the metrics of its answers. `judged` is asked of executions without faults.
    """

    name: ClassVar[str]
    unit: ClassVar[str]
    schema: ClassVar[Mapping[str, Any]]
    profile_format: ClassVar[str]
    headline: ClassVar[tuple[str, ...]]
    families: ClassVar[tuple[str, ...]]
    places: ClassVar[Mapping[str, tuple[Place, ...]]]
    cites_catalogue: ClassVar[bool] = True
    named_by_run: ClassVar[frozenset[str]] = frozenset()
    spec_type: type[SpecT]
    result_type: type[ResultT]
    profiles: Profiles[SpecT]

    @abstractmethod
    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""

    @abstractmethod
    def judged(self, spec: SpecT, result: ResultT) -> Assessment:
        """Say whether the procedure of an execution without faults held."""

    @abstractmethod
    def values(self, planned: Planned[SpecT], results: Sequence[ResultT]) -> tuple[Quantity, ...]:
        """Return what valid executions of a cell answer."""

    def body_of(self, spec: SpecT, result: ResultT, host: Mapping[str, int]) -> Body:
        """Return an execution as a line of the journal holds it."""
        return Body(
            kind=self.name,
            spec=spec.as_builtins(),
            result=result.as_builtins(),
            faults=result.faults,
            host=dict(host),
        )

    def spec_of(self, body: Body) -> SpecT:
        """Return what an execution was asked for."""
        return self.spec_type.from_builtins(body.spec)

    def result_of(self, body: Body) -> ResultT:
        """Return what an execution came to."""
        return self.result_type.from_builtins(body.result, body.faults)

    def failed(self, *faults: str) -> ResultT:
        """Return an execution that came to nothing."""
        return self.result_type(faults=faults)

    def assessed(self, spec: SpecT, result: ResultT) -> Assessment:
        """Say whether an execution's procedure held."""
        if result.faults:
            return Assessment(validity=Validity.FAULT, reason="; ".join(result.faults))
        return self.judged(spec, result)

    def tried(self, seq: int, spec: SpecT, result: ResultT, deployment_id: str = "") -> Tried[ResultT]:
        """Return an execution as a repetition of its cell, on a deployment."""
        found = self.assessed(spec, result)
        problems = () if found.validity is Validity.VALID else (found.reason,)
        return Tried(seq=seq, result=result, problems=problems, deployment=deployment_id, spec=spec)

    def retried(self, execution: Execution) -> Tried[ResultT]:
        """Return the same of a line of the journal."""
        spec, result = self.spec_of(execution.body), self.result_of(execution.body)
        return self.tried(execution.seq, spec, result, execution.deployment_id)

    def answered(self, planned: Planned[SpecT], executions: Sequence[Tried[ResultT]]) -> Outcome:
        """Return what a planned cell's executions answer; the platform is not asked."""
        found = repeated.answered(executions, planned.asked)
        measured = found.valid if found.type is OutcomeType.MEASURED else ()
        return replace(
            self.without_execution(planned, found.type, found.reason),
            values=self._told(planned, measured) if measured else (),
            trials=found.trials,
            quality=(
                *found.quality,
                *repeated.alike(self._means(planned, measured)),
                *self.remarks([tried.result for tried in measured]),
            ),
        )

    def remarks(self, results: Sequence[ResultT]) -> tuple[str, ...]:
        """Say what stands beside the answer of these valid executions; of most kinds nothing."""
        return ()

    def _means(self, planned: Planned[SpecT], valid: Sequence[Tried[ResultT]]) -> list[float]:
        """Return the first mean that each repetition alone tells; of kinds without one nothing."""
        told = (self.values(planned, [tried.result]) for tried in valid)
        first = f"{self.first_figure(planned)}.mean"
        return [value.number for each in told for value in each if value.metric == first]

    def first_figure(self, planned: Planned[SpecT]) -> str:
        """Return the metric of the figure that stands for an answer."""
        return planned.metric

    def _told(self, planned: Planned[SpecT], valid: Sequence[Tried[ResultT]]) -> tuple[Quantity, ...]:
        """Return what valid executions answer, and on how many deployments they ran."""
        count = repeated.deployed(valid)
        values = self.values(planned, [tried.result for tried in valid])
        return (*values, *repeated.deployments(planned.metric, count))

    def without_execution(self, planned: Planned[SpecT], kind: OutcomeType, why: str) -> Outcome:
        """Return the answer for a cell that could not be tried, or broke before its first execution."""
        return Outcome(
            outcome_id=f"{planned.test_id}:{planned.cell.cell_id}",
            metric=planned.metric,
            cell=planned.cell,
            type=kind,
            reason=why,
        )

    def planned_by(self, profile: Mapping[str, Any]) -> Mapping[str, Planned[SpecT]]:
        """Return what a profile plans, by cell id."""
        return self.profiles.planned(profile)

    def assess(self, body: Body) -> Assessment:
        """Say whether an execution's procedure held."""
        return self.assessed(self.spec_of(body), self.result_of(body))

    def carried(self, body: Body) -> tuple[int, str] | None:
        """Return nothing: a kind that carries single things counts them."""
        return None

    def wrong_profile(self, profile: Mapping[str, Any]) -> str:
        """Say what is wrong with a profile; empty when it can be planned by."""
        return self.profiles.wrong(profile)

    def plan(self, profile: Mapping[str, Any]) -> tuple[tuple[str, str, Cell], ...]:
        """Return all that a profile plans: test id, metric and cell of each answer."""
        return tuple(
            (planned.test_id, planned.metric, planned.cell) for planned in self.planned_by(profile).values()
        )

    def turns(self, profile: Mapping[str, Any]) -> Sequence[Turn]:
        """Return nothing: the cells of these kinds are measured in the plan's own order."""
        return ()

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Return nothing: no order of these kinds is drawn."""
        return ""

    def repetitions(self, profile: Mapping[str, Any]) -> Mapping[str, Repetitions]:
        """Return how often each cell is repeated, by cell id."""
        return {cell_id: planned.asked for cell_id, planned in self.planned_by(profile).items()}

    def not_as_planned(self, profile: Mapping[str, Any], execution: Execution) -> tuple[str, str] | None:
        """Return what a profile asks of an execution and what was found, where these differ."""
        planned = self.planned_by(profile).get(execution.cell_id)
        if planned is None:
            return "a cell that the profile plans", execution.cell_id
        spec = self.spec_of(execution.body)
        if (execution.test_id, execution.metric) != (planned.test_id, planned.metric):
            return f"{planned.test_id}, {planned.metric}", f"{execution.test_id}, {execution.metric}"
        if execution.phase != MEASURED:
            return f"phase {MEASURED}", execution.phase
        if replace(spec, number=0) != planned.spec:
            return str(planned.spec.as_builtins()), str(spec.as_builtins())
        return None

    def answer(
        self,
        profile: Mapping[str, Any],
        stated: Outcome,
        executions: Sequence[Execution],
        changes: Sequence[Change],
    ) -> Outcome:
        """Compute from its executions what an outcome must say. Raises ValueError."""
        planned = self.planned_by(profile).get(stated.cell.cell_id)
        if planned is None:
            raise ValueError(f"{stated.cell.cell_id}: not planned by the profile")
        return self.replayed(planned, stated, executions, changes)

    def replayed(
        self,
        planned: Planned[SpecT],
        stated: Outcome,
        executions: Sequence[Execution],
        changes: Sequence[Change],
    ) -> Outcome:
        """Return the same for a cell by its plan. Raises ValueError."""
        if not stated.trials:
            if stated.type not in (OutcomeType.INVALID, OutcomeType.NOT_ASSESSED):
                raise ValueError(f"{stated.cell.cell_id}: {stated.type} without an execution")
            return self.without_execution(planned, stated.type, stated.reason)
        measured = [execution for execution in executions if execution.phase == MEASURED]
        found = self.answered(planned, [self.retried(one) for one in measured])
        if not changes:
            return found
        return replace(found, type=OutcomeType.INVALID, values=(), quality=(), reason=reason(changes))

"""The kind as journal, store, report and verification see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bmwg.methodology import repeated
from bmwg.methodology.kinds.acts import profile as profiles
from bmwg.methodology.kinds.acts.profile import (
    BATCH,
    CHURN,
    POLICY,
    SERVER_START,
    START,
    ActsProfile,
    Planned,
)
from bmwg.methodology.kinds.acts.records import (
    KIND,
    ActsResult,
    ActsSpec,
    Life,
    contradictions,
    shortcomings,
)
from bmwg.methodology.kinds.kind import Body, Execution, Kind
from bmwg.methodology.order_statistics import median_interval
from bmwg.methodology.record.drift import Change, reason
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.repeated import Repeated, Tried
from bmwg.methodology.student import interval
from bmwg.methodology.trial import Assessment
from bmwg.methodology.turns import Turn
from bmwg.schemas import load

MEASURED = "measured"  # the phase of every execution
FAMILIES = (START, CHURN, POLICY, SERVER_START, BATCH)


def body_of(spec: ActsSpec, result: ActsResult, host: Mapping[str, int]) -> Body:
    """Return an execution as a line of the journal holds it."""
    return Body(
        kind=KIND,
        spec=spec.as_builtins(),
        result=result.as_builtins(),
        faults=result.faults,
        host=dict(host),
    )


def spec_of(body: Body) -> ActsSpec:
    """Return what an execution was asked for."""
    return ActsSpec.from_builtins(body.spec)


def result_of(body: Body) -> ActsResult:
    """Return what an execution came to."""
    return ActsResult.from_builtins(body.result, body.faults)


def assessed(spec: ActsSpec, result: ActsResult) -> Assessment:
    """Say whether an execution's procedure held."""
    if result.faults:
        return Assessment(validity=Validity.FAULT, reason="; ".join(result.faults))
    if found := contradictions(spec, result):
        return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(found))
    if found := shortcomings(spec, result):
        return Assessment(validity=Validity.INCOMPLETE, reason="; ".join(found))
    return Assessment(validity=Validity.VALID)


def tried(seq: int, spec: ActsSpec, result: ActsResult) -> Tried[ActsResult]:
    """Return an execution as a repetition of its cell."""
    found = assessed(spec, result)
    problems = () if found.validity is Validity.VALID else (found.reason,)
    return Tried(seq=seq, result=result, problems=problems)


def answered(planned: Planned, executions: Sequence[Tried[ActsResult]]) -> Outcome:
    """Return what a planned cell's executions answer; the platform is not asked."""
    found = repeated.answered(executions, least=planned.asked.least, wanted=planned.asked.wanted)
    return Outcome(
        outcome_id=f"{planned.test_id}:{planned.cell.cell_id}",
        metric=planned.metric,
        cell=planned.cell,
        type=found.type,
        values=_values(planned, found) if found.type is OutcomeType.MEASURED else (),
        trials=found.trials,
        reason=found.reason,
        quality=found.quality,
    )


def _values(planned: Planned, found: Repeated[ActsResult]) -> tuple[Quantity, ...]:
    results = [one.result for one in found.valid]
    lives = [life for result in results for life in result.lives]
    metric = planned.metric
    starts = [float(life.start_ns) for life in lives if life.start_ns is not None]
    if metric == CHURN:
        rates = [result.cycles_per_s or 0.0 for result in results]
        values = repeated.quantities(metric, interval(rates), "1/s")
        return (*values, *_median(f"{metric}.start", starts), *_told(metric, lives))
    if metric == BATCH:
        batches = [float(result.batch_ns or 0) for result in results]
        values = (*repeated.quantities(metric, interval(batches), "ns"), *_median(metric, batches))
        return (*values, *_median(f"{metric}.start", starts), *_told(metric, lives))
    return (
        *repeated.quantities(metric, interval(starts), "ns"),
        *_median(metric, starts),
        *_told(metric, lives),
    )


def _told(metric: str, lives: Sequence[Life]) -> tuple[Quantity, ...]:
    """Return the medians of what stands beside a start: its steps, and the removal."""
    values: tuple[Quantity, ...] = ()
    for step in steps_of(lives):
        values += _median(f"{metric}.{step}", [float(life.steps[step] - life.asked_ns) for life in lives])
    removals = [float(life.removal_ns) for life in lives if life.removal_ns is not None]
    return (*values, *_median(f"{metric}.removal", removals))


def steps_of(lives: Sequence[Life]) -> tuple[str, ...]:
    """Return the steps that all lives tell, in the order in which the first came to them."""
    if not lives:
        return ()
    names = sorted(lives[0].steps, key=lambda name: (lives[0].steps[name], name))
    return tuple(name for name in names if all(name in life.steps for life in lives))


def _median(name: str, values: Sequence[float]) -> tuple[Quantity, ...]:
    if not values:
        return ()
    found = median_interval(values)
    told = {"median": found.median, "median_low": found.low, "median_high": found.high}
    return tuple(Quantity(metric=f"{name}.{part}", number=number, unit="ns") for part, number in told.items())


def without_execution(planned: Planned, kind: OutcomeType, why: str) -> Outcome:
    """Return the answer for a cell that could not be tried, or broke before its first execution."""
    return Outcome(
        outcome_id=f"{planned.test_id}:{planned.cell.cell_id}",
        metric=planned.metric,
        cell=planned.cell,
        type=kind,
        reason=why,
    )


def planned_by(profile: Mapping[str, Any]) -> dict[str, Planned]:
    """Return what a profile plans, by cell id."""
    made = ActsProfile(name=profile["name"], data=profile)
    return {planned.cell.cell_id: planned for planned in made.plan()}


class _Acts:
    """Acts among the kinds of load."""

    name = KIND
    unit = "pods"
    schema = load(KIND)
    profile_format = profiles.FORMAT
    headline = (f"{START}.mean", f"{CHURN}.mean", f"{SERVER_START}.mean", f"{BATCH}.mean")
    cites_catalogue = True
    named_by_run: frozenset[str] = frozenset()

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        return profiles.cell_of_axes(axes)

    def assess(self, body: Body) -> Assessment:
        """Say whether an execution's procedure held."""
        return assessed(spec_of(body), result_of(body))

    def wrong_profile(self, profile: Mapping[str, Any]) -> str:
        """Say what is wrong with a profile; empty when it can be planned by."""
        return profiles.wrong(profile)

    def plan(self, profile: Mapping[str, Any]) -> tuple[tuple[str, str, Cell], ...]:
        """Return all that a profile plans: test id, metric and cell of each answer."""
        return tuple((one.test_id, one.metric, one.cell) for one in planned_by(profile).values())

    def turns(self, profile: Mapping[str, Any]) -> Sequence[Turn]:
        """Return nothing: its cells are measured one after the other."""
        return ()

    def not_as_planned(self, profile: Mapping[str, Any], execution: Execution) -> tuple[str, str] | None:
        """Return what a profile asks of an execution and what was found, where these differ."""
        planned = planned_by(profile).get(execution.cell_id)
        if planned is None:
            return "a cell that the profile plans", execution.cell_id
        spec = spec_of(execution.body)
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
        planned = planned_by(profile).get(stated.cell.cell_id)
        if planned is None:
            raise ValueError(f"{stated.cell.cell_id}: not planned by the profile")
        if not stated.trials:
            if stated.type not in (OutcomeType.INVALID, OutcomeType.NOT_ASSESSED):
                raise ValueError(f"{stated.cell.cell_id}: {stated.type} without an execution")
            return without_execution(planned, stated.type, stated.reason)
        found = answered(
            planned, [tried(one.seq, spec_of(one.body), result_of(one.body)) for one in executions]
        )
        if not changes:
            return found
        return replace(found, type=OutcomeType.INVALID, values=(), quality=(), reason=reason(changes))


ACTS: Kind = _Acts()

"""The kind as journal, store, report and verification see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bmwg.methodology import repeated
from bmwg.methodology.kinds.kind import Body, Execution, Kind
from bmwg.methodology.kinds.streams import profile as profiles
from bmwg.methodology.kinds.streams.profile import GOODPUT, ROUND_TRIP, Planned, StreamsProfile
from bmwg.methodology.kinds.streams.records import (
    KIND,
    Exchange,
    StreamsResult,
    StreamsSpec,
    Transport,
    contradictions,
    shortcomings,
    unsent,
)
from bmwg.methodology.record.drift import Change, reason
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.repeated import Repeated, Repetitions, Tried
from bmwg.methodology.student import interval
from bmwg.methodology.trial import Assessment
from bmwg.methodology.turns import Turn
from bmwg.schemas import load

MEASURED = "measured"  # the phase of every execution
FAMILIES = (GOODPUT, ROUND_TRIP)


def body_of(spec: StreamsSpec, result: StreamsResult, host: Mapping[str, int]) -> Body:
    """Return an execution as a line of the journal holds it."""
    return Body(
        kind=KIND,
        spec=spec.as_builtins(),
        result=result.as_builtins(),
        faults=result.faults,
        host=dict(host),
    )


def spec_of(body: Body) -> StreamsSpec:
    """Return what an execution was asked for."""
    return StreamsSpec.from_builtins(body.spec)


def result_of(body: Body) -> StreamsResult:
    """Return what an execution came to."""
    return StreamsResult.from_builtins(body.result, body.faults)


def assessed(spec: StreamsSpec, result: StreamsResult) -> Assessment:
    """Say whether an execution's procedure held."""
    if result.faults:
        return Assessment(validity=Validity.FAULT, reason="; ".join(result.faults))
    if found := contradictions(spec, result):
        return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(found))
    if short := unsent(spec, result):
        return Assessment(validity=Validity.SENT_SHORT, reason=short)
    if found := shortcomings(spec, result):
        return Assessment(validity=Validity.INCOMPLETE, reason="; ".join(found))
    return Assessment(validity=Validity.VALID)


def tried(seq: int, spec: StreamsSpec, result: StreamsResult) -> Tried[StreamsResult]:
    """Return an execution as a repetition of its cell."""
    found = assessed(spec, result)
    problems = () if found.validity is Validity.VALID else (found.reason,)
    return Tried(seq=seq, result=result, problems=problems)


def answered(planned: Planned, executions: Sequence[Tried[StreamsResult]]) -> Outcome:
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


def _values(planned: Planned, found: Repeated[StreamsResult]) -> tuple[Quantity, ...]:
    results = [one.result for one in found.valid]
    if planned.spec.exchange is Exchange.PING_PONG:
        means = [float(one.mean_round_trip_ns) for one in results]
        return repeated.quantities(ROUND_TRIP, interval(means), "ns")
    values = repeated.quantities(GOODPUT, interval([one.goodput_bps for one in results]), "bit/s")
    if planned.spec.transport is Transport.UDP:
        lost = [one.lost_ratio or 0.0 for one in results]
        values += (Quantity(metric=f"{GOODPUT}.lost_ratio", number=interval(lost).mean, unit="ratio"),)
    return values


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
    made = StreamsProfile(name=profile["name"], data=profile)
    return {planned.cell.cell_id: planned for planned in made.plan()}


class _Streams:
    """Streams among the kinds of load."""

    name = KIND
    unit = "bit/s"
    schema = load(KIND)
    profile_format = profiles.FORMAT
    headline = (f"{GOODPUT}.mean", f"{ROUND_TRIP}.mean")
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
        """Return nothing: its cells are measured deployment by deployment."""
        return ()

    def repetitions(self, profile: Mapping[str, Any]) -> Mapping[str, Repetitions]:
        """Return how often each cell is repeated, by cell id."""
        return {cell_id: planned.asked for cell_id, planned in planned_by(profile).items()}

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


STREAMS: Kind = _Streams()

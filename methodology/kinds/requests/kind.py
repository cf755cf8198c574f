"""Requests as a kind of load: HTTP transactions by closed and open loops, and the start of an instance.

An execution is one repetition. A closed loop asks for a number of requests, an open loop for a rate. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from bmwg.methodology.answers.repeated import Repetitions, Tried, percentiles, quantities
from bmwg.methodology.answers.student import interval
from bmwg.methodology.kinds.kind import Body, Execution
from bmwg.methodology.kinds.repeated.kind import MEASURED, RepeatedKind
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.requests import judge, origin_failure, phase_search, rate, rate_search
from bmwg.methodology.kinds.requests.profile import (
    ANSWERED,
    CONCURRENT,
    CONNECTION_RATE,
    FORMAT,
    METRICS,
    PROCESSING,
    PROFILES,
    RATE,
    START,
    cell_of_axes,
)
from bmwg.methodology.kinds.requests.records import (
    KIND,
    UNIT,
    RequestsResult,
    RequestsSpec,
    Workload,
)
from bmwg.methodology.matrix import RELIABILITY, SPEED, STARTED, Criterion, Place, Stage
from bmwg.methodology.plan.turns import Turn
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.schemas import load


class _Requests(RepeatedKind[RequestsSpec, RequestsResult]):
    """Requests among the kinds of load."""

    name = KIND
    unit = UNIT
    schema = load(KIND)
    profile_format = FORMAT
    families = METRICS
    headline = (
        f"{PROCESSING}.mean",
        f"{START}.mean",
        f"{RATE}.lossless",
        f"{RATE}.{phase_search.MET}",
        f"{CONNECTION_RATE}.{phase_search.MET}",
        f"{CONCURRENT}.{phase_search.MET}",
        f"{ANSWERED}.mean",
    )
    places: ClassVar[Mapping[str, tuple[Place, ...]]] = {
        PROCESSING: (SPEED, replace(RELIABILITY, part="failed_ratio")),
        START: (STARTED, replace(RELIABILITY, stage=Stage.ACTIVATION, part="failed_ratio")),
        RATE: (SPEED,),
        CONNECTION_RATE: (SPEED,),
        CONCURRENT: (Place(stage=Stage.OPERATION, criterion=Criterion.SCALE),),
        ANSWERED: (RELIABILITY, replace(SPEED, part=origin_failure.RECOVERY)),
    }
    cites_catalogue = False
    named_by_run = frozenset({"networks"})
    spec_type = RequestsSpec
    result_type = RequestsResult
    profiles = PROFILES

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        return cell_of_axes(axes)

    def body_of(self, spec: RequestsSpec, result: RequestsResult, host: Mapping[str, int]) -> Body:
        """Return a repetition as a line of the journal holds it: of an open loop with what was due."""
        told = super().body_of(spec, result, host)
        due = {"asked_requests": result.asked_requests} if spec.workload.is_open_loop else {}
        return replace(told, spec={**told.spec, **due})

    def result_of(self, body: Body) -> RequestsResult:
        """Return what a repetition came to."""
        return replace(super().result_of(body), asked_requests=body.spec["asked_requests"])

    def carried(self, body: Body) -> tuple[int, str] | None:
        """Return the requests that were answered rightly, and those of the warm-up in the same window.

        Of transactions all are in it, the ramp up's too. Of the start of an instance nothing: its energy is
        not that of the requests that look for it.
        """
        if self.spec_of(body).workload is Workload.START:
            return None
        result = self.result_of(body)
        if result.sustain is not None:
            return result.whole.get("requests", 0), "request"
        right = max(0, result.requests - result.failed - result.non_2xx)
        return right + result.warm_up_requests, "request"

    def judged(self, spec: RequestsSpec, result: RequestsResult) -> Assessment:
        """Say whether a repetition is a measurement; of an open loop a lost request is an answer."""
        if spec.workload.is_open_loop:
            return rate.assessed(result)
        if found := judge.astray(spec, result):
            return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(found))
        if found := judge.shortcomings(spec, result):
            return Assessment(validity=Validity.INCOMPLETE, reason="; ".join(found))
        return Assessment(validity=Validity.VALID)

    def tried(
        self, seq: int, spec: RequestsSpec, result: RequestsResult, deployment_id: str = ""
    ) -> Tried[RequestsResult]:
        """Return a repetition of its cell with each of its problems by itself."""
        found = super().tried(seq, spec, result, deployment_id)
        return replace(found, problems=judge.problems(spec, result)) if not spec.load else found

    def values(
        self, planned: Planned[RequestsSpec], results: Sequence[RequestsResult]
    ) -> tuple[Quantity, ...]:
        """Return the mean time of a request or of a start, or what a failing origin left of right answers."""
        if planned.spec.origin is not None:
            told = [result.failure for result in results if result.failure is not None]
            return origin_failure.values(planned.metric, told)
        return quantities(
            planned.metric, interval([float(result.mean_request_ns) for result in results]), "ns"
        )

    def remarks(self, results: Sequence[RequestsResult]) -> tuple[str, ...]:
        """Say which failures of an origin saw no return."""
        return tuple(origin_failure.remarks([one.failure for one in results if one.failure is not None]))

    def answered(
        self, planned: Planned[RequestsSpec], executions: Sequence[Tried[RequestsResult]]
    ) -> Outcome:
        """Return a rate, or a mean of repetitions in which nothing failed beside the share that did.

        Where a proxy failed too many requests a mean says nothing of it: the answer is `unstable`.
        """
        if planned.spec.search is not None:
            return self._rate(planned, executions)
        found = super().answered(planned, executions)
        if planned.spec.origin is not None:
            return found
        measured = found.type is OutcomeType.MEASURED
        if why := judge.too_many_failed(executions, measured=measured):
            return replace(found, type=OutcomeType.UNSTABLE, values=(), quality=(), reason=why)
        return replace(found, values=(*found.values, *_beside(planned, executions))) if measured else found

    def _rate(self, planned: Planned[RequestsSpec], executions: Sequence[Tried[RequestsResult]]) -> Outcome:
        """Return the highest rate at which nothing was lost, and the lowest at which something was."""
        found = rate_search.replayed(planned.spec, executions)
        if planned.spec.workload is Workload.TRANSACTIONS:
            told = phase_search.quantities(planned, found, executions)
        else:
            bounds = {"lossless": found.lower, "lossy": found.upper}
            told = tuple(
                Quantity(metric=f"{planned.metric}.{name}", number=bound.load_fps, unit=UNIT)
                for name, bound in bounds.items()
                if bound is not None
            )
        return replace(
            self.without_execution(planned, found.type, rate_search.why_not(found, planned.spec)),
            values=told if found.type is OutcomeType.MEASURED else (),
            trials=tuple(execution.seq for execution in executions),
            quality=found.quality,
        )

    def turns(self, profile: Mapping[str, Any]) -> Sequence[Turn]:
        """Return what a profile plans, in its order."""
        return tuple(self.planned_by(profile).values())

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Say how forms took turns; each has all its repetitions then."""
        return (
            "within each experiment, hosting forms and network options take turns in randomized blocks,"
            f" seed {seed}"
        )

    def repetitions(self, profile: Mapping[str, Any]) -> Mapping[str, Repetitions]:
        """Return how often each cell is repeated; those whose rate is searched for are left out."""
        planned = self.planned_by(profile).items()
        return {cell_id: one.asked for cell_id, one in planned if one.spec.search is None}

    def not_as_planned(self, profile: Mapping[str, Any], execution: Execution) -> tuple[str, str] | None:
        """Return what a profile asks of a repetition and what was found, where these differ."""
        planned = self.planned_by(profile).get(execution.cell_id)
        if planned is None:
            return "a cell that the profile plans", execution.cell_id
        spec, wanted = self.spec_of(execution.body), planned.spec
        if spec.origin != wanted.origin:
            return str(wanted.origin), str(spec.origin)
        asked = (wanted.workload, wanted.object_octets, wanted.clients, wanted.mix)
        if (spec.workload, spec.object_octets, spec.clients, spec.mix) != asked:
            return f"{asked[0]}, {asked[1]} octets, {asked[2]} clients {asked[3]}".rstrip(), "other requests"
        if (execution.test_id, execution.metric) != (planned.test_id, planned.metric):
            return f"{planned.test_id}, {planned.metric}", f"{execution.test_id}, {execution.metric}"
        if wanted.search is None:
            due = wanted.asked_requests if execution.phase == MEASURED else wanted.warm_up_requests
            if spec.asked_requests != due:
                return f"{due} requests, as planned", str(spec.asked_requests)
        return None


def _beside(
    planned: Planned[RequestsSpec], executions: Sequence[Tried[RequestsResult]]
) -> tuple[Quantity, ...]:
    """Return what stands beside a mean: the share of failed requests, and percentiles of single ones."""
    failed, asked = judge.failed(executions)
    found: tuple[Quantity, ...] = ()
    if asked:
        name = f"{planned.metric}.failed_ratio"
        found = (Quantity(metric=name, number=failed / asked, unit="ratio"),)
    valid = [execution.result for execution in executions if not execution.problems]
    for event, told in (
        ("request", [requests_result.request_ns for requests_result in valid]),
        ("first_octet", [result.ttfb_ns for result in valid]),
    ):
        shares = [{key: each[key] for key in each if key.startswith("p")} for each in told]
        found += percentiles(f"{planned.metric}.{event}", shares)
    return found


REQUESTS = _Requests()

"""Requests as a kind of load: HTTP transactions by closed and open loops, and the start of an instance.

An execution is one repetition. A closed loop asks for a number of requests, an open loop for a rate. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bmwg.methodology.answers.repeated import Repetitions, deployments, of_median, quantities
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.kind import Body, Execution, Kind
from bmwg.methodology.kinds.requests import judge, rate, rate_search
from bmwg.methodology.kinds.requests.profile import HttpProfile, Planned
from bmwg.methodology.kinds.requests.records import KIND, HttpAnswer, HttpCell, Repetition, Workload
from bmwg.methodology.record.drift import Change
from bmwg.methodology.records import NOTHING, POD, POD_PREFIX, Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.schemas import load
from bmwg.schemas.validation import problems

NAME = KIND
PATH = "client-proxy-server"
FUNCTION = "squid"
PROCESSING, START, RATE = "processing_time", "start_time", "transaction_rate"
METRICS = (PROCESSING, START, RATE)
_AXES = ("experiment", "workload", "proxies", "object_octets", "clients", "cache", "stress_cpus")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsSpec:
    """One repetition as asked for: so many requests, or `rate_rps` requests per second for `duration_s`.

    `number` counts the repetitions of a cell, warm-ups among them.
    """

    workload: Workload
    object_octets: int
    clients: int
    number: int
    asked_requests: int
    rate_rps: int | None
    duration_s: float | None


_SPEC = tuple(one.name for one in fields(RequestsSpec))
_ASKED = ("number", "asked_requests", "rate_rps", "duration_s")
_HEAD = ("cell_id", "phase", "deployment", "platform", "faults", "host")
_RESULT = tuple(one.name for one in fields(Repetition) if one.name not in (*_SPEC, *_HEAD))


def cell_of(planned: HttpCell) -> Cell:
    """Return a cell of the experiments as the run's files hold it."""
    form = planned.form
    pod = form.startswith(POD_PREFIX)
    return Cell(
        kind=NAME,
        path=PATH,
        hosting=POD if pod else form,
        function=FUNCTION,
        network=form.removeprefix(POD_PREFIX) if pod else NOTHING,
        axes=tuple((name, _plain(getattr(planned, name))) for name in _AXES),
        name=planned.cell_id,
    )


def _plain(value: int | str) -> int | str:
    return int(value) if isinstance(value, int) else str(value)


def http_cell(cell: Cell) -> HttpCell:
    """Return the cell of the experiments that a cell of a run's files is. Raises ValueError."""
    axes = dict(cell.axes)
    if tuple(axes) != _AXES:
        raise ValueError(f"axes: expected {', '.join(_AXES)}, found {', '.join(axes)}")
    return HttpCell(
        experiment=str(axes["experiment"]),
        workload=Workload(str(axes["workload"])),
        form=f"{POD_PREFIX}{cell.network}" if cell.hosting == POD else cell.hosting,
        proxies=int(axes["proxies"]),
        object_octets=int(axes["object_octets"]),
        clients=int(axes["clients"]),
        cache=bool(axes["cache"]),
        stress_cpus=int(axes["stress_cpus"]),
    )


def metric_of(cell: HttpCell) -> str:
    """Return the metric that a cell is measured for."""
    if cell.workload.is_open_loop:
        return RATE
    return START if cell.workload is Workload.START else PROCESSING


def body_of(repetition: Repetition, cell: HttpCell) -> Body:
    """Return a repetition of a cell as a line of the journal holds it."""
    asked = {
        name: getattr(repetition, name) for name in ("number", "asked_requests", "rate_rps", "duration_s")
    }
    shape = {"workload": cell.workload.value, "object_octets": cell.object_octets, "clients": cell.clients}
    result = {name: getattr(repetition, name) for name in _RESULT}
    result |= {name: dict(result[name]) for name in ("request_ns", "ttfb_ns", "generator")}
    result["probes"] = [list(probe) for probe in repetition.probes]
    shares = result.pop("shares")
    if shares is not None:
        result["shares"] = list(shares)
    return Body(
        kind=NAME,
        spec={**asked, **shape},
        result=result,
        faults=repetition.faults,
        host=dict(repetition.host),
    )


def repetition_of(execution: Execution) -> Repetition:
    """Return the repetition that a line of the journal holds."""
    body, bound = execution.body, execution.platform
    told = {name: body.spec[name] for name in _ASKED}
    told |= {name: body.result[name] for name in _RESULT if name in body.result}
    told["probes"] = tuple((status, right) for status, right in told["probes"])
    if "shares" in told:
        told["shares"] = tuple(told["shares"])
    return Repetition(
        cell_id=execution.cell_id,
        phase=execution.phase,
        deployment=execution.deployment_id,
        faults=body.faults,
        host=body.host,
        platform=None if bound is None else dict(zip(("doctor", "drift", "sha256"), bound, strict=True)),
        **told,
    )


def spec_of(body: Body) -> RequestsSpec:
    """Return what a repetition was asked for."""
    return RequestsSpec(**{**body.spec, "workload": Workload(body.spec["workload"])})


def outcome_of(found: HttpAnswer, test_id: str) -> Outcome:
    """Return the answer for a cell as the run's files hold it: the mean or the rate, and how it is known."""
    cell, metric = cell_of(found.cell), metric_of(found.cell)
    values: list[Quantity] = []
    if found.type is OutcomeType.MEASURED and found.rate_rps is not None:
        values.append(Quantity(metric=f"{metric}.lossless", number=found.rate_rps, unit="requests/s"))
        if found.upper_rps is not None:
            values.append(Quantity(metric=f"{metric}.lossy", number=found.upper_rps, unit="requests/s"))
    elif found.type is OutcomeType.MEASURED and found.time is not None:
        values += (*quantities(metric, found.time, "ns"), *deployments(metric, found.deployments))
        if found.failed_ratio is not None:
            values.append(Quantity(metric=f"{metric}.failed_ratio", number=found.failed_ratio, unit="ratio"))
        for event, told in (("request", found.request_ns), ("first_octet", found.ttfb_ns)):
            for name, one in told.items():
                values += of_median(f"{metric}.{event}.{name}", one)
    return Outcome(
        outcome_id=f"{test_id}:{cell.cell_id}",
        metric=metric,
        cell=cell,
        type=found.type,
        values=tuple(values),
        trials=found.repetitions,
        reason=found.reason,
        quality=found.quality,
    )


def without_repetition(planned: Planned, kind: OutcomeType, why: str) -> Outcome:
    """Return the answer for a cell that could not be tried, or broke before its first repetition."""
    return outcome_of(HttpAnswer(cell=planned.cell, type=kind, reason=why), planned.test_id)


def details(
    planned: Planned | None,
    stated: Outcome,
    repetitions: Sequence[tuple[int, Repetition]],
    changes: Sequence[Change],
    mend: str = "",
) -> HttpAnswer:
    """Compute an answer anew from its repetitions, with all that reports tell of it.

    An answer without any is as it was stated. Raises ValueError for one that the profile does not plan, and
    for a number from no repetition.
    """
    cell = http_cell(stated.cell)
    if not stated.trials:
        if stated.type not in (OutcomeType.INVALID, OutcomeType.NOT_ASSESSED):
            raise ValueError(f"{cell.cell_id}: {stated.type} without a repetition")
        return HttpAnswer(cell=cell, type=stated.type, reason=stated.reason, mend=mend)
    if planned is None:
        raise ValueError(f"{cell.cell_id}: not planned by the profile")
    return judge.drifted(answer_of(planned, repetitions), changes)


def answer_of(planned: Planned, repetitions: Sequence[tuple[int, Repetition]]) -> HttpAnswer:
    """Return what repetitions say to a planned cell; the platform is not asked."""
    if planned.rate is not None:
        return rate_search.outcome(planned.cell, repetitions, planned.rate)
    return judge.outcome(planned.cell, repetitions, planned.asked)


def planned_by(profile: Mapping[str, Any]) -> dict[str, Planned]:
    """Return what a profile plans, by cell id."""
    made = HttpProfile(name=profile["name"], data=profile)
    return {planned.cell.cell_id: planned for planned in made.plan()}


class _Requests:
    """The kind as journal, store and verification see it."""

    name = NAME
    unit = "requests/s"
    schema = load(KIND)
    profile_format = "http_profile/1.0"
    headline = (f"{PROCESSING}.mean", f"{START}.mean", f"{RATE}.lossless")
    cites_catalogue = False
    named_by_run = frozenset({"networks"})

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        form = f"{POD_PREFIX}{axes['network']}" if axes["hosting"] == POD else axes["hosting"]
        told = axes["axes"]
        if tuple(sorted(told)) != tuple(sorted(_AXES)):
            raise ValueError(f"axes: expected {', '.join(_AXES)}, found {', '.join(told)}")
        cache = bool(told["cache"])
        return cell_of(
            HttpCell(**{**told, "form": form, "workload": Workload(told["workload"]), "cache": cache})
        )

    def assess(self, body: Body) -> Assessment:
        """Say whether a repetition is a measurement; of an open loop a lost request is an answer."""
        spec = spec_of(body)
        fault = "; ".join(body.faults)
        if fault:
            return Assessment(validity=Validity.FAULT, reason=fault)
        if spec.workload.is_open_loop:
            return rate.assessed(
                asked_requests=spec.asked_requests,
                unsent_requests=body.result["unsent_requests"],
                probes=[(status, right) for status, right in body.result["probes"]],
            )
        told = {name: body.result[name] for name in ("requests", "failed", "non_2xx", "body_octets")}
        astray = judge.astray(
            workload=spec.workload,
            shares=body.result.get("shares"),
            requests=told["requests"] + body.result["warm_up_requests"],
        )
        if astray:
            return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(astray))
        found = judge.shortcomings(
            workload=spec.workload,
            object_octets=spec.object_octets,
            asked_requests=spec.asked_requests,
            probes=[(status, right) for status, right in body.result["probes"]],
            **told,
        )
        return Assessment(validity=Validity.INCOMPLETE if found else Validity.VALID, reason="; ".join(found))

    def wrong_profile(self, profile: Mapping[str, Any]) -> str:
        """Say what is wrong with a profile; empty when it can be planned by."""
        if found := problems(profile, "http_profile"):
            return str(found[0])
        try:
            planned_by(profile)
        except ConfigError as error:
            return str(error)
        return ""

    def plan(self, profile: Mapping[str, Any]) -> tuple[tuple[str, str, Cell], ...]:
        """Return all that a profile plans: test id, metric and cell of each answer."""
        planned = planned_by(profile).values()
        return tuple((one.test_id, metric_of(one.cell), cell_of(one.cell)) for one in planned)

    def turns(self, profile: Mapping[str, Any]) -> Sequence[Planned]:
        """Return what a profile plans, in its order."""
        return tuple(planned_by(profile).values())

    def order_seed_text(self, profile: Mapping[str, Any], cells: Collection[Cell], seed: int) -> str:
        """Say how forms took turns; each has all its repetitions then."""
        return (
            "within each experiment, hosting forms and network options take turns in randomized blocks,"
            f" seed {seed}"
        )

    def repetitions(self, profile: Mapping[str, Any]) -> Mapping[str, Repetitions]:
        """Return none: warm-ups and searches stand between them; `reports.http` counts them."""
        return {}

    def not_as_planned(self, profile: Mapping[str, Any], execution: Execution) -> tuple[str, str] | None:
        """Return what a profile asks of a repetition and what was found, where these differ."""
        planned = planned_by(profile).get(execution.cell_id)
        if planned is None:
            return "a cell that the profile plans", execution.cell_id
        spec, cell = spec_of(execution.body), planned.cell
        asked = (cell.workload, cell.object_octets, cell.clients)
        if (spec.workload, spec.object_octets, spec.clients) != asked:
            return f"{cell.workload}, {cell.object_octets} octets, {cell.clients} clients", "other requests"
        if (execution.test_id, execution.metric) != (planned.test_id, metric_of(cell)):
            return f"{planned.test_id}, {metric_of(cell)}", f"{execution.test_id}, {execution.metric}"
        if planned.rate is None:
            wanted = planned.requests if execution.phase == judge.MEASURED else planned.warm_up_requests
            if spec.asked_requests != wanted:
                return f"{wanted} requests, as planned", str(spec.asked_requests)
        return None

    def answer(
        self,
        profile: Mapping[str, Any],
        stated: Outcome,
        executions: Sequence[Execution],
        changes: Sequence[Change],
    ) -> Outcome:
        """Compute from its repetitions what an outcome must say. Raises ValueError."""
        planned = planned_by(profile).get(stated.cell.cell_id)
        repetitions = [(one.seq, repetition_of(one)) for one in executions]
        found = details(planned, stated, repetitions, changes)
        return outcome_of(found, planned.test_id if planned else stated.outcome_id.partition(":")[0])


REQUESTS: Kind = _Requests()

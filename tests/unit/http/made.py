"""Writes runs of HTTP experiments as the bench does: one journal, answers with their trials."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.answers.repeated import Repetitions, Tried
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.kinds.repeated.profile import Planned, Profile
from bmwg.methodology.kinds.requests import profile
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.store import PlannedCell, RunHeader, RunStore
from bmwg.resources import rooms
from bmwg.resources.kinds.requests.bench import RequestsBench
from bmwg.resources.run.open_run import open_run
from bmwg.resources.run.settings import Settings

RIGHT = ((200, True), (200, True))  # probes before and after


class Watch(LeakWatch):
    """A watch over no interface, which has seen nothing, or a test frame outside."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error = error

    def begin(self) -> None:
        """Look nowhere."""

    def check(self) -> int:
        """Have seen it."""
        if self.error is not None:
            raise self.error
        return 0


def opened(settings: Settings, selected: Collection[str]) -> RequestsBench:
    """Open a run of these tests of requests alone; `bench.run.close()` ends it."""
    (_, bench) = open_run(settings, selected, only=[rooms.room(REQUESTS.name)]).benches[REQUESTS.name]
    assert isinstance(bench, RequestsBench)
    return bench


def spec(form: str = "native", **changes: Any) -> RequestsSpec:
    """Return what a repetition of the first experiment asks for."""
    fields: dict[str, Any] = {
        "experiment": "one_client",
        "workload": Workload.AB,
        "form": form,
        "object_octets": 1000,
        "clients": 1,
        "asked_requests": 10,
        "within_s": 10.0,
    }
    return RequestsSpec(**{**fields, **changes})


def planned(of: RequestsSpec, **asked: Any) -> Planned[RequestsSpec]:
    """Return a planned cell; two repetitions are wanted, and none may be invalid, unless `asked`."""
    counts = {"wanted": 2, "max_invalid": 0, **asked}
    return Planned(
        test_id=profile.test_id(of.experiment, of.form),
        metric=profile.metric_of(of.workload),
        cell=profile.cell_of(of),
        spec=of,
        asked=Repetitions(**{"least": counts["wanted"], **counts}),
    )


def result(of: RequestsSpec, mean_ns: int, **changes: Any) -> RequestsResult:
    """Return a valid repetition of a closed loop whose requests took so long."""
    fields: dict[str, Any] = {
        "asked_requests": of.asked_requests,
        "requests": of.asked_requests,
        "body_octets": of.asked_requests * of.object_octets,
        "elapsed_ns": mean_ns * of.asked_requests,
        "mean_request_ns": mean_ns,
        "probes": RIGHT,
    }
    return RequestsResult(**{**fields, **changes})


def tried(of: RequestsSpec, results: Iterable[RequestsResult], deployment: str = "d-1") -> list[Any]:
    """Return repetitions by their numbers, judged."""
    return [REQUESTS.tried(seq, of, one, deployment) for seq, one in enumerate(results, start=1)]


def header(used: Profile[RequestsSpec], plan: Iterable[Planned[RequestsSpec]], **changes: Any) -> RunHeader:
    """Return the header of a run that plans these cells."""
    fields: dict[str, Any] = {
        "toolkit_version": "0",
        "toolkit_commit": None,
        "toolkit_dirty": None,
        "simulated": False,
        "testbed": {"name": "row"},
        "testbed_source": None,
        "profile": used.data,
        "medium_kind": "veth",
        "line_rate_bps": None,
        "procedures": versions(REQUESTS.families),
        "plan": tuple(PlannedCell(test_id=one.test_id, metric=one.metric, cell=one.cell) for one in plan),
    }
    return RunHeader(**{**fields, **changes})


def shortened(used: Profile[RequestsSpec], **changes: Any) -> Profile[RequestsSpec]:
    """Return a profile with other numbers."""
    return profile.PROFILES.of({**used.data, **changes})


def record(
    store: RunStore, of: Planned[RequestsSpec], number: int, one: RequestsResult, deployment: str
) -> Tried[RequestsResult]:
    """Write a repetition to a run's journal, judged."""
    asked = replace(of.spec, number=number)
    found = REQUESTS.assessed(asked, one)
    seq = store.append(
        cell_id=of.key,
        deployment_id=deployment,
        metric=of.metric,
        test_id=of.test_id,
        phase=MEASURED,
        body=REQUESTS.body_of(asked, one, {}),
        validity=found.validity,
        reason=found.reason,
    )
    return REQUESTS.tried(seq, asked, one, deployment)


def answer(
    store: RunStore,
    of: Planned[RequestsSpec],
    results: Iterable[RequestsResult],
    deployment: str = "native-1",
) -> Outcome:
    """Record the repetitions of a cell and what they say."""
    told = [record(store, of, number, one, deployment) for number, one in enumerate(results, start=1)]
    found = REQUESTS.answered(of, told)
    store.add_outcome(found)
    return found


def not_assessed(store: RunStore, of: Planned[RequestsSpec], reason: str, mend: str = "") -> None:
    """Record that a cell could not be tried."""
    store.add_outcome(REQUESTS.without_execution(of, OutcomeType.NOT_ASSESSED, reason), mend=mend)

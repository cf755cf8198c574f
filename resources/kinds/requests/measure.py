"""Runs repetitions of one cell and records each before anything uses it.

Ids: HBENCH-04 nothing that asks, SQUID-01 a proxy does not tell what it counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.drivers.workload import probe, squid
from bmwg.drivers.workload.of_requests import RequestsWorkload, Served
from bmwg.methodology.answers.repeated import Tried, repeated
from bmwg.methodology.errors import DriverError, ToolkitBug, ToolkitError
from bmwg.methodology.kinds.requests import judge, rate_search
from bmwg.methodology.kinds.requests.kind import REQUESTS, answer_of, body_of, metric_of, outcome_of
from bmwg.methodology.kinds.requests.profile import Planned
from bmwg.methodology.kinds.requests.rate import RateSpec
from bmwg.methodology.kinds.requests.records import Repetition, RequestsLoad
from bmwg.methodology.records import Outcome
from bmwg.reports.store import RunStore
from bmwg.reports.store.redact import redact
from bmwg.resources.kinds.requests.deployment import Deployment
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.outcomes import one_line

WARM_UP = "warm_up"


class DeploymentBrokenError(Exception):
    """An instance, the server or the load has ended; a new deployment is needed."""


def served(deployment: Deployment) -> list[Served]:
    """Return what clients ask of a deployment as endpoints of requests."""
    return [Served(address=address, port=port) for address, port in deployment.asked]


def record(store: RunStore, planned: Planned, repetition: Repetition) -> int:
    """Write a repetition to the run's journal, judged; return its number once it is on the disk."""
    body = body_of(repetition, planned.cell)
    found = REQUESTS.assess(body)
    return store.append(
        cell_id=repetition.cell_id,
        deployment_id=repetition.deployment,
        metric=metric_of(planned.cell),
        test_id=planned.test_id,
        phase=repetition.phase,
        body=body,
        validity=found.validity,
        reason=found.reason,
    )


class CellRuns:
    """The repetitions of one cell; `record` writes one to the journal and gives its number.

    `recorded` are those that a run which goes on has already; `clients` gives the driver that asks,
    attached to the instances; `machines` tell what else they did meanwhile, `leaks` whether a test frame left
    the run's places.
    """

    def __init__(
        self,
        planned: Planned,
        record: Callable[[Repetition], int],
        recorded: Sequence[tuple[int, Repetition]] = (),
        clients: Callable[[], RequestsWorkload] | None = None,
        machines: Machines | None = None,
        leaks: LeakWatch | None = None,
    ) -> None:
        self.planned = planned
        self._leaks = leaks
        self.machines = machines or Machines()
        self._clients = clients
        # a search for a rate begins anew: its load would follow from a deployment that is gone
        self.done = list(recorded) if planned.rate is None else []
        self._earlier = [] if planned.rate is None else list(recorded)
        self._record = record
        self._number = len(recorded)
        self._began_s = time.monotonic()

    @property
    def _tried(self) -> list[Tried[Repetition]]:
        return [self._judged(*one) for one in self.done if one[1].phase == judge.MEASURED]

    def _judged(self, seq: int, repetition: Repetition) -> Tried[Repetition]:
        return Tried(seq=seq, result=repetition, problems=judge.problems(repetition, self.planned.cell))

    def _took_s(self) -> float:
        return time.monotonic() - self._began_s

    @property
    def ended(self) -> bool:
        """Whether no repetition is left to run."""
        return self.planned.asked.ended(self._tried, self._took_s())

    def repeat(self, one: Callable[[], object]) -> None:
        """Have `one` run and keep a repetition until the cell has enough of them."""

        def measured() -> Tried[Repetition]:
            one()
            return self._judged(*self.done[-1])

        repeated(measured, self.planned.asked, self._took_s, self._tried)

    def keep(self, repetition: Repetition) -> None:
        """Write a repetition down, its faults as they may be published."""
        kept = replace(repetition, faults=tuple(redact(fault) for fault in repetition.faults))
        self.done.append((self._record(kept), kept))

    def answer(self) -> Outcome:
        """Return what the repetitions say."""
        return outcome_of(answer_of(self.planned, [*self._earlier, *self.done]), self.planned.test_id)

    def find_rate(self, deployment: Deployment, deployment_id: str) -> None:
        """Search for the highest rate without a lost request. Raises DeploymentBrokenError."""
        assert self.planned.rate is not None

        def one(spec: RateSpec) -> tuple[int, Repetition]:
            self._one(deployment, deployment_id, judge.MEASURED, 0, spec)
            return self.done[-1]

        self._earlier += self.done  # a new deployment begins a new search
        self.done = []
        found = rate_search.search(one, self.planned.rate)
        if isinstance(found.error, DeploymentBrokenError):
            raise found.error

    def run(self, deployment: Deployment, deployment_id: str) -> None:
        """Run a warm-up (none is measured) and what is left. Raises DeploymentBrokenError."""
        self._began_s = time.monotonic()
        if self.planned.warm_up_requests and not self._driver.warms_up_itself:
            self._one(deployment, deployment_id, WARM_UP, self.planned.warm_up_requests)
        requests = self.planned.requests
        self.repeat(lambda: self._one(deployment, deployment_id, judge.MEASURED, requests))

    @property
    def _driver(self) -> RequestsWorkload:
        if self._clients is None:
            raise ToolkitBug("HBENCH-04", "repetitions of a cell", expected="a workload", found="none")
        return self._clients()

    def _one(
        self,
        deployment: Deployment,
        deployment_id: str,
        phase: str,
        requests: int,
        rate: RateSpec | None = None,
    ) -> None:
        self._number += 1
        if self._leaks is not None:
            self._leaks.begin()
        began, first = time.monotonic_ns(), self.machines.sample()
        try:
            found = self._measured(deployment, requests, rate)
        except ToolkitError as error:  # a node or daemon that is gone
            found = {"faults": (one_line(error),)}
        if self._leaks is not None:
            self._leaks.check()  # RFC 6815: the run ends before anything is concluded
        fault = _fault(deployment)
        if fault:
            found["faults"] = (*found.get("faults", ()), fault)
        found["wall_ns"] = time.monotonic_ns() - began
        found["host"] = self.machines.counts(first)
        self.keep(
            Repetition(
                cell_id=self.planned.cell.cell_id,
                number=self._number,
                phase=phase,
                deployment=deployment_id,
                rate_rps=None if rate is None else rate.load,
                duration_s=None if rate is None else rate.duration_s,
                **{"asked_requests": requests, **found},
            )
        )
        if fault:
            raise DeploymentBrokenError(fault)

    def _measured(self, deployment: Deployment, requests: int, rate: RateSpec | None) -> dict[str, Any]:
        before = self._probes(deployment)
        first = deployment.counters() if deployment.grouped else []
        counted = deployment.counters()
        cpu_before, _ = deployment.usage()
        clients = self._driver
        found = clients.run(self._load(requests, rate)).as_fields()
        cpu_after, memory_octets = deployment.usage()
        counted_after = deployment.counters()
        after = self._probes(deployment)
        hits = squid.gained("client_http.hits", counted, counted_after)
        return {
            **found,
            "probes": (before, after),
            "cpu_share": max(0, cpu_after - cpu_before) / max(1, found["elapsed_ns"])
            if clients.begins_soon
            else None,
            "memory_octets": memory_octets,
            "hits": sum(hits) if hits is not None else None,
            "shares": _shares(first, counted, counted_after) if deployment.grouped else None,
            "proxied": found["requests"] + found["warm_up_requests"] if hits is not None else None,
        }

    def _load(self, requests: int, rate: RateSpec | None) -> RequestsLoad:
        """Return what the clients are to ask for, of a closed loop or at a rate."""
        planned, settings = self.planned, self.planned.rate or {}
        common: dict[str, Any] = {
            "object_octets": planned.cell.object_octets,
            "clients": planned.cell.clients,
            "within_s": planned.deadline_s,
        }
        if rate is None:
            return RequestsLoad(requests=requests, warm_up_requests=planned.warm_up_requests, **common)
        return RequestsLoad(
            rate_rps=rate.load,
            duration_s=rate.duration_s,
            late_ms=settings["max_latency_ms"],
            requests_per_connection=settings.get("requests_per_connection", 1),
            **common,
        )

    def _probes(self, deployment: Deployment) -> tuple[int, bool]:
        """Ask each instance once, and the address before them; the first that is not right speaks for all."""
        octets = self.planned.cell.object_octets
        for address, port in dict.fromkeys((*deployment.endpoints, *deployment.asked)):
            found = deployment.row.client.call(
                probe.fetch, address=address, port=port, url=deployment.row.url(octets)
            )
            right = found["sha256"] == deployment.row.sha256[octets] and not found["fault"]
            if found["status"] != 200 or not right:
                return found["status"], False
        return 200, True


def _shares(
    first: Sequence[dict[str, int]], before: Sequence[dict[str, int]], after: Sequence[dict[str, int]]
) -> tuple[int, ...]:
    """Return the requests of clients that each proxy counted.

    A look at the counters is a request too: what two looks count with nothing between them is taken away.
    Raises DriverError SQUID-01 where a proxy does not tell: requests that nobody counted prove nothing.
    """
    looks = squid.gained("client_http.requests", first, before)
    found = squid.gained("client_http.requests", before, after)
    if looks is None or found is None:
        raise DriverError(
            "SQUID-01",
            "requests of each proxy behind one address",
            expected="the counters of every proxy, before and after",
            found="one did not tell",
        )
    return tuple(count - look for count, look in zip(found, looks, strict=True))


def _fault(deployment: Deployment) -> str | None:
    try:
        return deployment.fault()
    except ToolkitError as error:
        return one_line(error)


def start_runs(runs: CellRuns, start: Callable[[int], int], deployment_id: str) -> None:
    """Run the repetitions of a start cell; `start` starts and removes an instance; returns its time, ns."""

    def once() -> None:
        began, first = time.monotonic_ns(), runs.machines.sample()
        number = len(runs.done) + 1
        took_ns = 0
        faults: tuple[str, ...] = ()
        try:
            took_ns = start(number)
        except ToolkitError as error:
            faults = (one_line(error),)
        runs.keep(
            Repetition(
                cell_id=runs.planned.cell.cell_id,
                number=number,
                phase=judge.MEASURED,
                asked_requests=1,
                requests=0 if faults else 1,
                elapsed_ns=took_ns,
                mean_request_ns=took_ns,
                wall_ns=time.monotonic_ns() - began,
                faults=faults,
                deployment=deployment_id,
                host=runs.machines.counts(first),
            )
        )

    runs.repeat(once)

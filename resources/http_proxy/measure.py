"""Runs repetitions of one cell and records each before anything uses it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bmwg.drivers.isolation import LeakWatch
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.http import judge, rate
from bmwg.methodology.http.profile import Planned
from bmwg.methodology.http.records import HttpOutcome, Repetition, Workload
from bmwg.methodology.kinds.requests import REQUESTS, answered, body_of, metric_of
from bmwg.reports.store import RunStore
from bmwg.reports.store.redact import redact
from bmwg.resources.http_proxy.astf import AstfClients
from bmwg.resources.http_proxy.deployment import Deployment
from bmwg.resources.http_proxy.machines import Machines
from bmwg.resources.outcomes import one_line

WARM_UP = "warm_up"
_CALL_MARGIN_S = 30.0


class DeploymentBrokenError(Exception):
    """An instance, the server or the load has ended; a new deployment is needed."""


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

    `recorded` are those that a run which goes on has already; `trex` gives TRex where it is the clients;
    `machines` tell what else they did meanwhile, `leaks` whether a test frame left the run's places.
    """

    def __init__(
        self,
        planned: Planned,
        record: Callable[[Repetition], int],
        recorded: Sequence[tuple[int, Repetition]] = (),
        trex: Callable[[], AstfClients] | None = None,
        machines: Machines | None = None,
        leaks: LeakWatch | None = None,
    ) -> None:
        self.planned = planned
        self._leaks = leaks
        self.machines = machines or Machines()
        self._trex = trex
        # a search for a rate begins anew: its load would follow from a deployment that is gone
        self.done = list(recorded) if planned.rate is None else []
        self._earlier = [] if planned.rate is None else list(recorded)
        self._record = record
        self._number = len(recorded)
        self._began_s = time.monotonic()

    @property
    def valid(self) -> int:
        """How many repetitions are measurements."""
        return sum(
            rep.phase == judge.MEASURED and not judge.problems(rep, self.planned.cell) for _, rep in self.done
        )

    @property
    def invalid(self) -> int:
        """How many are none."""
        return sum(rep.phase == judge.MEASURED for _, rep in self.done) - self.valid

    @property
    def ended(self) -> bool:
        """Whether no repetition is left to run."""
        late = time.monotonic() - self._began_s > self.planned.cell_limit_s
        wanted = self.planned.least if late else self.planned.repetitions
        return self.valid >= wanted or self.invalid > self.planned.max_invalid

    def keep(self, repetition: Repetition) -> None:
        """Write a repetition down, its faults as they may be published."""
        kept = replace(repetition, faults=tuple(redact(fault) for fault in repetition.faults))
        self.done.append((self._record(kept), kept))

    def answer(self) -> HttpOutcome:
        """Return what the repetitions say."""
        return answered(self.planned, [*self._earlier, *self.done])

    def find_rate(self, deployment: Deployment, deployment_id: str) -> None:
        """Search for the highest rate without a lost request. Raises DeploymentBrokenError."""
        assert self.planned.rate is not None

        def one(rate_rps: int) -> tuple[int, Repetition]:
            self._one(deployment, deployment_id, judge.MEASURED, 0, rate_rps)
            return self.done[-1]

        self._earlier += self.done  # a new deployment begins a new search
        self.done = []
        found = rate.search(one, self.planned.rate)
        if isinstance(found.error, DeploymentBrokenError):
            raise found.error

    def run(self, deployment: Deployment, deployment_id: str) -> None:
        """Run a warm-up (none is measured) and what is left. Raises DeploymentBrokenError.

        JMeter warms up within each repetition, for it has to warm up itself as well.
        """
        self._began_s = time.monotonic()
        if self.planned.warm_up_requests and self.planned.cell.workload is not Workload.JMETER:
            self._one(deployment, deployment_id, WARM_UP, self.planned.warm_up_requests)
        while not self.ended:
            self._one(deployment, deployment_id, judge.MEASURED, self.planned.requests)

    def _one(
        self,
        deployment: Deployment,
        deployment_id: str,
        phase: str,
        requests: int,
        rate_rps: int | None = None,
    ) -> None:
        self._number += 1
        if self._leaks is not None:
            self._leaks.begin()
        began, first = time.monotonic_ns(), self.machines.sample()
        try:
            found = self._measured(deployment, requests, rate_rps)
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
                rate_rps=rate_rps,
                **{"asked_requests": requests, **found},
            )
        )
        if fault:
            raise DeploymentBrokenError(fault)

    def _measured(self, deployment: Deployment, requests: int, rate_rps: int | None) -> dict[str, Any]:
        before = self._probes(deployment)
        counted = deployment.counters()
        cpu_before, _ = deployment.usage()
        found = (
            self._offer(deployment, requests) if rate_rps is None else self._offer_rate(deployment, rate_rps)
        )
        cpu_after, memory_octets = deployment.usage()
        counted_after = deployment.counters()
        after = self._probes(deployment)
        begins_soon = self.planned.cell.workload is Workload.AB  # the others' own start takes seconds
        hits = None
        if counted and counted_after:
            hits = counted_after["client_http.hits"] - counted["client_http.hits"]
        return {
            **found,
            "probes": (before, after),
            "cpu_share": max(0, cpu_after - cpu_before) / max(1, found["elapsed_ns"])
            if begins_soon
            else None,
            "memory_octets": memory_octets,
            "hits": hits,
            "proxied": found["requests"] + found.get("warm_up_requests", 0) if hits is not None else None,
        }

    def _offer(self, deployment: Deployment, requests: int) -> dict[str, Any]:
        cell = self.planned.cell
        common = {"requests": requests, "within_s": self.planned.deadline_s}
        url = deployment.row.url(cell.object_octets)
        deadline_s = self.planned.deadline_s + _CALL_MARGIN_S
        match cell.workload:
            case Workload.AB:
                address, port = deployment.endpoints[0]
                ran = deployment.row.client.call(
                    "bmwg.drivers.workload.ab:run",
                    deadline_s=deadline_s,
                    proxy=f"{address}:{port}",
                    url=url,
                    concurrency=cell.clients,
                    **common,
                )
                mean_ns = ran["elapsed_ns"] * cell.clients // ran["requests"] if ran["requests"] else 0
            case _:
                ran = deployment.row.client.call(
                    "bmwg.drivers.workload.jmeter:run",
                    deadline_s=deadline_s,
                    proxies=[list(endpoint) for endpoint in deployment.endpoints],
                    url=url,
                    octets=cell.object_octets,
                    clients=cell.clients,
                    warm_up_requests=self.planned.warm_up_requests,
                    **common,
                )
                mean_ns = ran["mean_request_ns"]
        return {
            "requests": ran["requests"],
            "failed": ran["failed"],
            "non_2xx": ran["non_2xx"],
            "body_octets": ran["body_octets"],
            "elapsed_ns": ran["elapsed_ns"],
            "mean_request_ns": mean_ns,
            "process_ns": ran["process_ns"],
            "request_ns": ran["latency_ns"],
            "ttfb_ns": ran["ttfb_ns"],
            "warm_up_requests": ran.get("warm_up_requests", 0),
            "warm_up_ns": ran.get("warm_up_ns", 0),
            "faults": (ran["fault"],) if ran["fault"] else (),
        }

    def _offer_rate(self, deployment: Deployment, rate_rps: int) -> dict[str, Any]:
        """Offer a constant rate; what came late or could not leave is lost with what failed."""
        settings = self.planned.rate or {}
        octets = self.planned.cell.object_octets
        if self.planned.cell.workload is Workload.TREX_ASTF:
            assert self._trex is not None
            return self._trex().offer(deployment, octets, settings, rate_rps)
        address, port = deployment.endpoints[0]
        ran = deployment.row.client.call(
            "bmwg.drivers.workload.open_loop:run",
            deadline_s=self.planned.deadline_s + _CALL_MARGIN_S,
            proxy=f"{address}:{port}",
            url=deployment.row.url(octets),
            octets=octets,
            rate=rate_rps,
            duration_s=settings["duration_s"],
            late_ms=settings["max_latency_ms"],
            within_s=self.planned.deadline_s,
        )
        return {
            "asked_requests": ran["requests"] + ran["dropped"],
            "requests": ran["requests"],
            "failed": ran["failed"] + ran["late"],
            "elapsed_ns": ran["elapsed_ns"],
            "process_ns": ran["process_ns"],
            "request_ns": ran["latency_ns"],
            "ttfb_ns": ran["ttfb_ns"],
            "faults": (ran["fault"],) if ran["fault"] else (),
        }

    def _probes(self, deployment: Deployment) -> tuple[int, bool]:
        """Ask every instance once; the first that is not right speaks for all."""
        octets = self.planned.cell.object_octets
        for address, port in deployment.endpoints:
            found = deployment.row.client.call(
                "bmwg.drivers.workload.probe:fetch",
                address=address,
                port=port,
                url=deployment.row.url(octets),
            )
            right = found["sha256"] == deployment.row.sha256[octets] and not found["fault"]
            if found["status"] != 200 or not right:
                return found["status"], False
        return 200, True


def _fault(deployment: Deployment) -> str | None:
    try:
        return deployment.fault()
    except ToolkitError as error:
        return one_line(error)


def start_runs(runs: CellRuns, start: Callable[[int], int], deployment_id: str) -> None:
    """Run the repetitions of a start cell; `start` starts and removes an instance; returns its time, ns."""
    number = len(runs.done)
    while not runs.ended:
        number += 1
        began, first = time.monotonic_ns(), runs.machines.sample()
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

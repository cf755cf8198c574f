"""The bench of HTTP experiments: their nodes and hosting forms, and what becomes of each cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from bmwg.drivers.api.instance import VmDriver
from bmwg.drivers.platform_record.deployment import take_row
from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.drivers.workload import proxied, squid
from bmwg.drivers.workload.crossed import CrossedFunction
from bmwg.drivers.workload.lab_row import open_lab_row
from bmwg.drivers.workload.row import INTERFACES, Row, open_row
from bmwg.drivers.workload.run_authority import RunAuthority
from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.repeated.profile import Planned, Profile
from bmwg.methodology.kinds.requests import rate_search
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.origin_failure import CLASSES, RIGHT, SENT
from bmwg.methodology.kinds.requests.phase_search import MET
from bmwg.methodology.kinds.requests.profile import (
    ANSWERED,
    RATES,
    START,
    sizes_octets,
    start_deadline_s,
)
from bmwg.methodology.kinds.requests.records import SQUID, RequestsResult, RequestsSpec, Workload
from bmwg.methodology.plan import turns
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.store import read_run
from bmwg.reports.store.redact import redact
from bmwg.resources.kinds.repeated.bench import RepeatedBench
from bmwg.resources.kinds.repeated.measure import CellExecutions, DeploymentBrokenError, Stand
from bmwg.resources.kinds.requests.crossed import crossed
from bmwg.resources.kinds.requests.deployment import PROBE_OCTETS, deployed, start_serving
from bmwg.resources.kinds.requests.measure import measured, served
from bmwg.resources.kinds.requests.needs import lacking
from bmwg.resources.kinds.requests.stage import Stage
from bmwg.resources.kinds.requests.standing import Standing
from bmwg.resources.kinds.requests.testbed_part import networks_of_header, runtime_of_header
from bmwg.resources.run.deployment_identity import Records
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.platform import PlatformGuard

Executions = CellExecutions[RequestsSpec, RequestsResult]
_TOKEN_CHARACTERS = 6  # choice: with a bridge's prefix and suffix it fits an interface's name


class RequestsBench(RepeatedBench[RequestsSpec, RequestsResult]):
    """The cells of requests of one run. Nodes and forms are made when the first cell needs them."""

    kind = REQUESTS

    def __init__(
        self,
        run: OpenRun,
        *,
        profile: Profile[RequestsSpec],
        plan: Sequence[Planned[RequestsSpec]],
        vms: VmDriver,
        hosts: Sequence[HostSpec] = (),
    ) -> None:
        self._profile = profile
        self._machines = run.machines
        self._vms = vms
        self._hosts = hosts  # of a lab's row; none where the row is made on this machine
        self._authority = RunAuthority()
        self._ports = [port for host in hosts for port in host.ports]
        super().__init__(run, plan=plan, ports=self._ports)
        # a continued run has the same names, which stand in its packet filters
        self._token = run.store.header_sha256[:_TOKEN_CHARACTERS]
        folder = run.store.folder.resolve()
        self._stage = Stage(self._row_of_this_run, run.ledger, folder, self.guard.forget_nodes)

    def new_guard(self) -> PlatformGuard:
        """Return what watches the machines of the row."""
        run, staying = self.run, self._ports or INTERFACES
        return self._machines.guard(run.store, run.display.note, run.machine, run.continued, staying)

    def figures(self, outcome: Outcome, told: Mapping[str, float]) -> str:
        """Say a rate, or the mean time of a request or a start."""
        if outcome.metric in RATES:
            named = f"{outcome.metric}.{MET}"
            met = next((value for value in outcome.values if value.metric == named), None)
            return f"{met.number} {met.unit}" if met else f"{told['lossless']} requests/s"
        half = told.get("half_width_95")
        if outcome.metric == ANSWERED:
            sent, right = (sum(told[f"{of}.{what}"] for of in CLASSES) for what in (SENT, RIGHT))
            return f"{right} of {sent} requests answered rightly while the origin failed"
        spread = f" +/- {half / 1e6:.3f}" if half is not None else ""
        what = "until it serves" if outcome.metric == START else "a request"
        return f"{told['mean'] / 1e6:.3f}{spread} ms {what} ({of_repetitions(told)})"

    def ensure(self, wanted: Planned[RequestsSpec]) -> None:
        """Measure the block of a cell in its order, up to the cell: hosting forms take turns."""
        for planned in self.whole_plan:
            if planned.block == wanted.block and wanted.key not in self.answers:
                super().ensure(planned)

    def together(self, wanted: Planned[RequestsSpec]) -> list[Planned[RequestsSpec]]:
        """Return the neighbours of a cell in the plan that share its deployment."""
        return list(turns.visit(self.whole_plan, wanted))

    def measure(self, group: list[Planned[RequestsSpec]]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        form = group[0].spec.form
        self._stage.set(form, group[0].spec.ip)
        if lack := lacking(self._stage, [planned.spec for planned in group]):
            for planned in group:
                self.keep_lacking(planned, lack)
            return
        left = [self.executions(planned) for planned in group]
        if group[0].spec.workload is Workload.START:
            for executions in left:
                self._measure_start(executions)
            return
        breaks = Counter[str]()  # of each cell: it is the first one left whose deployment breaks
        while left:
            try:
                self._measure_on_one(left)
            except DeploymentBrokenError as error:
                self.run.display.note(f"{form}: {error}; a new deployment is made")
                planned = left[0].planned
                breaks[planned.key] += 1
                often = breaks[planned.key] > planned.asked.max_invalid
                searched = (
                    planned.spec.search is not None
                )  # it begins anew, and a break is part of its answer
                if often if searched else left[0].ended:
                    self.keep_judged(left.pop(0), self.guard.judged_after_break)
                elif often:  # in warm-ups, which are no repetitions
                    why = f"its deployment broke {breaks[planned.key]} times: {redact(str(error))}"
                    answer = self.kind.without_execution(left.pop(0).planned, OutcomeType.INVALID, why)
                    self.answers.keep(self.guard.judged_after_break([answer])[0])
                self.run.attempt(self._stage.close)

    def _measure_on_one(self, left: list[Executions]) -> None:
        """Measure what is left on one deployment, in order, taking each away when it is done."""
        spec = left[0].planned.spec
        cache = "cache" if spec.cache else "plain"
        of = [word for word in (spec.function, spec.tls, spec.http, spec.ip) if word and word != SQUID]
        deployment_id = self.new_deployment(spec.form, str(spec.proxies), cache, *of)
        row = self._stage.row()
        with self._standing(row, spec) as deployment:
            evidence = {**deployment.describe(), "workloads": self._workloads(left, deployment)}
            self.run.store.add_deployment(deployment_id, evidence)
            goes_on = any(executions.done for executions in left if executions.planned.spec.search is None)
            with self.guard.watched(deployment_id, evidence, lambda: self._taken(row), goes_on=goes_on):
                while left:
                    self._measure_cell(left[0], deployment, deployment_id)
                    self.keep_judged(left.pop(0), self.guard.judged)

    def _standing(self, row: Row, spec: RequestsSpec) -> AbstractContextManager[Standing]:
        function, hosting = proxied.function(spec.function), self._stage.hosting()
        deadline_s = start_deadline_s(self._profile, spec.form)
        made = self._authority.terminated(spec.tls) if spec.tls else None
        tls = replace(made, http2=bool(spec.http)) if made is not None else None
        if isinstance(function, CrossedFunction):
            return crossed(row, hosting, function, tls=tls, deadline_s=deadline_s)
        return deployed(
            row,
            hosting,
            proxies=spec.proxies,
            cache=spec.cache,
            stress_cpus=spec.stress_cpus,
            deadline_s=deadline_s,
            function=function,
            tls=tls,
            fails=spec.origin is not None,
        )

    def _measure_cell(self, executions: Executions, deployment: Standing, deployment_id: str) -> None:
        """Search for a rate, or run what is left after a warm-up. Raises DeploymentBrokenError."""
        spec = executions.planned.spec
        clients = self._stage.clients(spec.workload.value)
        stand = Stand(
            deployment_id=deployment_id,
            run=partial(measured, deployment, clients),
            leaks=self.leaks,
            fault=deployment.fault,
        )
        if spec.search is not None:
            found = rate_search.search(lambda asked: executions.once(stand, asked), spec)
            if found.error is not None:
                raise found.error
            return
        warms_up = spec.warm_up_requests and not clients.warms_up_itself
        executions.run(stand, replace(spec, asked_requests=spec.warm_up_requests) if warms_up else None)

    def _workloads(self, left: Sequence[Executions], deployment: Standing) -> dict[str, Any]:
        """Attach what will ask the instances; names, versions and settings, by name."""
        told = {}
        for name in dict.fromkeys(executions.planned.spec.workload.value for executions in left):
            clients = self._stage.clients(name)
            clients.attach(served(deployment))
            told[name] = dict(clients.describe())
        return told

    def _measure_start(self, executions: Executions) -> None:
        row, hosting, spec = self._stage.row(), self._stage.hosting(), executions.planned.spec
        program = squid.program(cache=spec.cache)
        deadline_s = start_deadline_s(self._profile, spec.form)
        of_form = {"hosting": dict(hosting.describe())}
        told = False

        def once(spec: RequestsSpec) -> RequestsResult:
            nonlocal told
            instances: list[dict[str, Any]] = []
            try:
                instance, took_ns = start_serving(row, hosting, program, 0, deadline_s)
                instances = [dict(instance.describe())]
                instance.stop()
            finally:
                if not told:  # of the first of them, before anything is recorded of it; all are alike
                    told = True
                    described = {"hosting": dict(hosting.describe()), "instances": instances}
                    self.run.store.add_deployment(deployment_id, described)
            return RequestsResult(asked_requests=1, requests=1, elapsed_ns=took_ns, mean_request_ns=took_ns)

        deployment_id = self.new_deployment(spec.form, "start")
        goes_on = bool(executions.done)
        with self.guard.watched(deployment_id, of_form, lambda: self._taken(row), goes_on=goes_on):
            executions.run(Stand(deployment_id=deployment_id, run=once, leaks=self.leaks))
            self.keep_judged(executions, self.guard.judged)

    def _taken(self, row: Row) -> Records:
        return take_row(row)

    def _row_of_this_run(self, ip: str) -> AbstractContextManager[Row]:
        run = self.run
        folder = run.store.folder
        testbed = read_run(folder).of_load(self.kind.name).testbed
        common: dict[str, Any] = {
            "sizes_octets": sorted({PROBE_OCTETS, *sizes_octets(self._profile)}),
            "token": self._token,
            "ip": ip,
            "vms": self._vms,
            "networks": networks_of_header(testbed),
            "runtime": runtime_of_header(testbed),
        }
        if self._hosts:
            return open_lab_row(self._hosts, self._machines.hosts, run.ledger, run.owner, **common)
        return open_row(folder.resolve(), run.ledger, run.owner, **common)

    def executions(self, planned: Planned[RequestsSpec]) -> Executions:
        """Return the repetitions of a cell, with what a run that goes on has of them already."""
        earlier, host = self.recorded(planned), self.run.machines.counted
        return CellExecutions(self.kind, planned, self.run.store, earlier, host=host)

    def keep_judged(
        self, executions: Executions, judged: Callable[[Sequence[Outcome]], list[Outcome]]
    ) -> None:
        """Keep what a cell's repetitions say, or that the platform changed in its stretch."""
        outcome = executions.answer()
        self.answers.keep(judged([outcome])[0] if outcome.trials else outcome)

    def rest(self) -> None:
        """Remove nodes and hosting forms; whoever asks next gets new ones."""
        self._stage.close()

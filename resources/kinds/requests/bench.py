"""The bench of HTTP experiments: their nodes and hosting forms, and what becomes of each cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from bmwg.drivers.hosting.instance import Hosting, VmDriver
from bmwg.drivers.record.deployment import take_row
from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.drivers.workload import squid
from bmwg.drivers.workload.lab_row import open_lab_row
from bmwg.drivers.workload.row import INTERFACES, Row, open_row
from bmwg.methodology.kinds.requests.kind import NAME, repetition_of, without_repetition
from bmwg.methodology.kinds.requests.profile import HttpProfile, Planned
from bmwg.methodology.kinds.requests.records import Repetition, Workload
from bmwg.methodology.plan import turns
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.store import Run, read_run
from bmwg.resources import rooms
from bmwg.resources.kinds.requests.deployment import Deployment, deployed, start_serving
from bmwg.resources.kinds.requests.line import line_of
from bmwg.resources.kinds.requests.measure import CellRuns, DeploymentBrokenError, record, served, start_runs
from bmwg.resources.kinds.requests.needs import lacking
from bmwg.resources.kinds.requests.stage import Stage
from bmwg.resources.kinds.requests.testbed_part import networks_of_header, runtime_of_header
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.deployment_identity import Records
from bmwg.resources.run.open_run import OpenRun, open_run
from bmwg.resources.run.settings import Settings

_TOKEN_CHARACTERS = 6  # choice: with a bridge's prefix and suffix it fits an interface's name


class HttpBench:
    """The cells of a run. Nodes and forms are made when the first cell needs them."""

    def __init__(
        self,
        run: OpenRun,
        *,
        profile: HttpProfile,
        plan: Sequence[Planned],
        vms: VmDriver,
        hosts: Sequence[HostSpec] = (),
        continued: Run | None = None,
    ) -> None:
        ports = [port for host in hosts for port in host.ports]
        self._run = run
        self.display = run.display
        self._profile = profile
        self._plan = plan
        self._store = run.store
        self._ledger = run.ledger
        self._owner = run.owner
        self._guard = run.machines.guard(
            run.store, run.display.note, run.machine, continued, ports or INTERFACES
        )
        self._leaks = run.stack.enter_context(LeakWatch(ports))
        # a continued run has the same names, which stand in its packet filters
        self._token = run.store.header_sha256[:_TOKEN_CHARACTERS]
        self._machines = run.machines
        self._vms = vms
        self._hosts = hosts  # of a lab's row; none where the row is made on this machine
        self._stage = Stage(
            self._row_of_this_run, run.ledger, run.store.folder.resolve(), self._guard.forget_nodes
        )
        self._continued = continued
        self._answers = Answers(run, NAME, lambda one: f"{one.cell.cell_id}: {line_of(one)}")
        self._deployments = continued.last_deployment if continued else 0

    @property
    def run_id(self) -> str:
        """The run's id, which is the name of its folder."""
        return self._store.run_id

    @property
    def mends(self) -> Mapping[str, str]:
        """The line that supplies what a cell lacked, by the id of its outcome."""
        return self._answers.mends

    @classmethod
    def open(cls, settings: Settings, selected: Collection[str]) -> HttpBench:
        """Open a run of these tests of requests alone; raises what `open_run` raises."""
        (_, bench) = open_run(settings, selected, only=[rooms.room(NAME)]).benches[NAME]
        assert isinstance(bench, cls)
        return bench

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        return line_of(outcome)

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._guard.begin_suite(suite)

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already.

        Hosting forms take turns: those that come before this one in its block of the plan are measured first.
        """
        mine = [one for one in self._plan if one.test_id == test_id]
        for planned in mine:
            self._ensure(planned)
        return [self._answers[planned.cell.cell_id] for planned in mine]

    def _ensure(self, wanted: Planned) -> None:
        """Measure the block of a cell in its order, up to the cell, unless that is answered already."""
        while wanted.key not in self._answers:  # each pass gives at least one answer more
            block = (one for one in self._plan if one.block == wanted.block)
            together = turns.visit(self._plan, next(one for one in block if one.key not in self._answers))
            self._measure_together([one for one in together if one.key not in self._answers])

    def _measure_together(self, group: list[Planned]) -> None:
        """Measure cells of one deployment, whatever becomes of each."""
        with self._answers.measuring(lambda why: self._fail(group, why)):
            self._measure_group(group)

    def _fail(self, group: Sequence[Planned], why: str) -> None:
        for planned in group:
            if planned.key not in self._answers:
                self._answers.keep(without_repetition(planned, OutcomeType.INVALID, why))
        self._run.attempt(self._stage.close)  # a node may be lost: the next cells have new ones

    def _measure_group(self, group: list[Planned]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        form = group[0].cell.form
        self._stage.set(form)
        lack = lacking(self._stage, group)
        if lack is not None:
            for planned in group:
                why = f"{lack.what}: {lack.reason}"
                self._answers.keep(without_repetition(planned, OutcomeType.NOT_ASSESSED, why), lack.mend)
            return
        if group[0].cell.workload is Workload.START:
            for planned in group:
                self._measure_start(planned, self._stage.hosting())
            return
        left = [self._runs(planned) for planned in group]
        broken = 0
        while left:
            try:
                self._measure_on_one(left, self._stage.hosting())
            except DeploymentBrokenError as error:
                self.display.note(f"{form}: {error}; a new deployment is made")
                broken += 1
                if left[0].ended or broken > left[0].planned.max_invalid:
                    self._keep_judged(left.pop(0), self._guard.judged_after_break)
                self._run.attempt(self._stage.close)

    def _measure_on_one(self, left: list[CellRuns], hosting: Hosting) -> None:
        """Measure what is left on one deployment, in order, taking each away when it is done."""
        cell = left[0].planned.cell
        self._deployments += 1
        deployment_id = f"{cell.form}-{cell.proxies}-{'cache' if cell.cache else 'plain'}-{self._deployments}"
        row = self._stage.row()
        with deployed(
            row,
            hosting,
            proxies=cell.proxies,
            cache=cell.cache,
            stress_cpus=cell.stress_cpus,
            deadline_s=self._profile.start_deadline_s(cell.form),
        ) as deployment:
            evidence = deployment.describe()
            evidence["workloads"] = self._workloads(left, deployment)
            self._store.add_deployment(deployment_id, evidence)
            goes_on = any(runs.done for runs in left if runs.planned.rate is None)  # a search begins anew
            with self._guard.watched(deployment_id, evidence, lambda: self._taken(row), goes_on=goes_on):
                while left:
                    if left[0].planned.rate is not None:
                        left[0].find_rate(deployment, deployment_id)
                    else:
                        left[0].run(deployment, deployment_id)
                    self._keep_judged(left.pop(0), self._guard.judged)

    def _workloads(self, left: Sequence[CellRuns], deployment: Deployment) -> dict[str, Any]:
        """Attach what will ask the instances; names, versions and settings, by name."""
        told = {}
        for name in dict.fromkeys(one.planned.cell.workload.value for one in left):
            clients = self._stage.clients(name)
            clients.attach(served(deployment))
            told[name] = dict(clients.describe())
        return told

    def _measure_start(self, planned: Planned, hosting: Hosting) -> None:
        row = self._stage.row()
        program = squid.program(cache=planned.cell.cache)
        deadline_s = self._profile.start_deadline_s(planned.cell.form)

        def once(number: int) -> int:
            instances: list[dict[str, Any]] = []
            try:
                instance, took_ns = start_serving(row, hosting, program, 0, deadline_s)
                instances = [dict(instance.describe())]
                instance.stop()
                return took_ns
            finally:
                if not told:  # of the first of them, before anything is recorded of it; all are alike
                    told.append({**of_form(), "instances": instances})
                    self._store.add_deployment(deployment_id, told[0])

        def of_form() -> dict[str, Any]:
            return {"hosting": dict(hosting.describe())}

        runs = self._runs(planned)
        told: list[dict[str, Any]] = []
        self._deployments += 1
        deployment_id = f"{planned.cell.form}-start-{self._deployments}"
        goes_on = bool(runs.done)
        with self._guard.watched(deployment_id, of_form(), lambda: self._taken(row), goes_on=goes_on):
            start_runs(runs, once, deployment_id)
            self._keep_judged(runs, self._guard.judged)

    def _taken(self, row: Row) -> Records:
        return take_row(row)

    def _row_of_this_run(self) -> AbstractContextManager[Row]:
        common: dict[str, Any] = {
            "sizes_octets": self._profile.sizes_octets,
            "token": self._token,
            "vms": self._vms,
        }
        if self._hosts:
            return open_lab_row(self._hosts, self._machines.hosts, self._ledger, self._owner, **common)
        run_dir = self._store.folder.resolve()
        testbed = read_run(self._store.folder).of_load(NAME).testbed
        common |= {"networks": networks_of_header(testbed), "runtime": runtime_of_header(testbed)}
        return open_row(run_dir, self._ledger, self._owner, **common)

    def _runs(self, planned: Planned) -> CellRuns:
        """Return the runs of a cell, with what a run that goes on has of them already."""
        recorded = [
            (one.seq, repetition_of(one))
            for one in (self._continued.executions if self._continued else ())
            if one.cell_id == planned.cell.cell_id
        ]
        return CellRuns(
            planned,
            lambda repetition: self._record(planned, repetition),
            recorded,
            lambda: self._stage.clients(planned.cell.workload.value),
            self._machines,
            self._leaks,
        )

    def _record(self, planned: Planned, repetition: Repetition) -> int:
        return record(self._store, planned, repetition)

    def _keep_judged(self, runs: CellRuns, judged: Callable[[Sequence[Outcome]], list[Outcome]]) -> None:
        """Keep what a cell's repetitions say, or that the platform changed in its stretch."""
        outcome = runs.answer()
        self._answers.keep(judged([outcome])[0] if outcome.trials else outcome)

    def rest(self) -> None:
        """Remove nodes and hosting forms; whoever asks next gets new ones."""
        self._stage.close()

    def close(self) -> None:
        """Close the run."""
        self._run.close()

"""The bench of one run of HTTP experiments: nodes, hosting forms, journal and display, opened once.

Ids: HBENCH-02 a test's id is not that of its experiment and form.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from bmwg.drivers.awake import kept_awake
from bmwg.drivers.hosting import process
from bmwg.drivers.hosting.instance import Hosting, VmDriver
from bmwg.drivers.isolation import LeakWatch
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.locks import claims_here, reserve_claims
from bmwg.drivers.record.deployment import take_row
from bmwg.drivers.testbed_row import RowHost, row_hosts
from bmwg.drivers.workload import squid
from bmwg.drivers.workload.lab_row import open_hosts, open_lab_row
from bmwg.drivers.workload.row import INTERFACES, Row, open_row
from bmwg.methodology import turns
from bmwg.methodology.errors import ToolkitBug, ToolkitError
from bmwg.methodology.http import judge
from bmwg.methodology.http.profile import HttpProfile, Planned, load, test_id
from bmwg.methodology.http.records import HttpOutcome, Repetition, Workload
from bmwg.methodology.kinds.requests import outcome_of, repetition_of
from bmwg.methodology.records import Outcome
from bmwg.reports.render.report import write_report
from bmwg.reports.store import Run, RunStore, read_run
from bmwg.reports.store.redact import redact
from bmwg.resources.continuation import begun, check_platform, clear_away, find_run, standing_text
from bmwg.resources.firsts import Records
from bmwg.resources.guest_record import record_guest
from bmwg.resources.http_proxy.deployment import deployed, start_serving
from bmwg.resources.http_proxy.header import (
    http_header,
    of_header,
    of_testbed,
    profile_of_header,
    row_of_testbed,
)
from bmwg.resources.http_proxy.line import line_of
from bmwg.resources.http_proxy.machines import Machines, held_otherwise
from bmwg.resources.http_proxy.measure import CellRuns, DeploymentBrokenError, record, start_runs
from bmwg.resources.http_proxy.needs import lacking
from bmwg.resources.http_proxy.stage import Stage
from bmwg.resources.http_proxy.vms import header_of, vms_of_header, vms_of_testbed
from bmwg.resources.measure import is_of_cell
from bmwg.resources.outcomes import one_line
from bmwg.resources.platform import PlatformGuard, machine_record
from bmwg.resources.progress import LineDisplay, open_display
from bmwg.resources.settings import Settings

_TOKEN_CHARACTERS = 6  # choice: with a bridge's prefix and suffix it fits an interface's name


class HttpBench:
    """One run. `open` makes the run folder; nodes and forms are made when the first cell needs them."""

    def __init__(
        self,
        *,
        profile: HttpProfile,
        plan: Sequence[Planned],
        store: RunStore,
        ledger: Ledger,
        owner: str,
        display: LineDisplay,
        stack: ExitStack,
        guard: PlatformGuard,
        leaks: LeakWatch,
        token: str,
        machines: Machines,
        vms: VmDriver,
        hosts: Sequence[RowHost] = (),
        continued: Run | None = None,
    ) -> None:
        self.display = display
        self._profile = profile
        self._plan = plan
        self._store = store
        self._ledger = ledger
        self._owner = owner
        self._stack = stack
        self._guard = guard
        self._leaks = leaks
        self._token = token  # a continued run has the same names, which stand in its packet filters
        self._machines = machines
        self._vms = vms
        self._hosts = hosts  # of a lab's row; none where the row is made on this machine
        self._stage = Stage(self._row_of_this_run, ledger, store.folder.resolve(), guard.forget_nodes)
        self._continued = continued
        self.mends = dict(continued.mends) if continued else {}  # what supplies what a cell lacked
        self._outcomes = {one.cell.cell_id: one for one in continued.outcomes} if continued else {}
        self._deployments = continued.last_deployment if continued else 0
        self._stopped: BaseException | None = None
        self._failures: list[Exception] = []

    @property
    def run_id(self) -> str:
        """The run's id, which is the name of its folder."""
        return self._store.run_id

    @classmethod
    def open(cls, settings: Settings, selected: Collection[str]) -> HttpBench:
        """Check the settings and make the run folder, or go on with one that was cut off.

        Raises ConfigError HPROF-01, and what `begun`, `profile_of_header`, `vms_of_testbed`, `vms_of_header`
        and `reserve_claims` raise, before anything is touched.
        """
        continued = None
        seed = settings.order_seed if settings.order_seed is not None else secrets.randbelow(2**32)
        if settings.continue_run is not None:
            continued = begun(find_run(settings.continue_run, settings.results), selected)
            profile, row = profile_of_header(continued), continued.testbed
            planned_before = dict.fromkeys(one.cell.cell_id for one in continued.plan)
            plan = [planned for planned in profile.plan() if planned.key in planned_before]
            plan = list(turns.in_recorded_order(plan, list(planned_before)))
            vms = vms_of_header(continued.testbed, settings)
        else:
            networks = of_testbed(settings)
            profile = load(settings.profile).with_networks(list(networks))
            plan = [planned for planned in profile.plan() if planned.test_id in selected]
            plan = list(turns.interleaved(plan, seed))
            vms = vms_of_testbed(settings, {planned.cell.form for planned in plan})
            row = row_of_testbed(settings)
        hosts = row_hosts(row)
        ports = [port for host in hosts for port in host.ports]
        with ExitStack() as stack:
            display = open_display(settings.console, verbose=settings.verbose)
            stack.callback(display.close)
            borrowed = [f"{host.ssh}/{port}" for host in hosts for port in host.ports]
            cpus = () if hosts else os.sched_getaffinity(0)  # without a lab all share this machine's
            spare = continued.folder if continued else None
            stack.enter_context(reserve_claims(claims_here(cpus, borrowed), spare=spare))
            if continued:
                clear_away(continued.folder)  # what it made would stand in the platform's record
            # before the first record, and by the order of `stack` until after the closing one
            here = stack.enter_context(kept_awake(profile.keep_awake, os.sched_getaffinity(0)))
            machines = Machines(stack.enter_context(open_hosts(hosts)))
            machines.keep_awake(profile.keep_awake)
            platform = machine_record(
                settings.overlay, continued.platform_before if continued else None, machines.record
            )
            if continued:
                check_platform(continued, platform)
                store = stack.enter_context(RunStore.resume(continued.folder))
            else:
                header = http_header(profile, networks, header_of(vms), row, plan, seed)
                store = stack.enter_context(RunStore.create(settings.results, settings.run_id, header))
                record_guest(store)
            header_sha256 = continued.header_sha256 if continued else read_run(store.folder).header_sha256
            what = f"HTTP experiments, profile {profile.name}, {len(plan)} cells"
            display.note(f"run {store.run_id}: {what}; results in {store.folder}")
            if continued:
                display.note(standing_text(continued))
            if otherwise := held_otherwise(here, machines.held):
                display.note(otherwise)
            if continued is None or continued.platform_before is None:
                store.set_platform(before=platform)
            ledger = Ledger(store.folder / "ledger.jsonl")
            owner = f"{store.run_id}-{secrets.token_hex(4)}"
            stack.callback(ledger.undo, ledger.before("owner", owner=owner))
            stack.enter_context(process.owned(owner))
            leaks = stack.enter_context(LeakWatch(ports))
            return cls(
                profile=profile,
                plan=plan,
                store=store,
                ledger=ledger,
                owner=owner,
                display=display,
                stack=stack.pop_all(),
                guard=machines.guard(store, display.note, platform, continued, ports or INTERFACES),
                leaks=leaks,
                token=header_sha256[:_TOKEN_CHARACTERS],
                machines=machines,
                vms=vms,
                hosts=hosts,
                continued=continued,
            )

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._guard.begin_suite(suite)

    def outcomes(self, experiment: str, form: str, tag: str) -> list[Outcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already.

        Hosting forms take turns: those that come before this one in its block of the plan are measured first.
        Raises ToolkitBug HBENCH-02.
        """
        if test_id(experiment, form) != tag:
            raise ToolkitBug(
                "HBENCH-02",
                f"test of {experiment} on {form}",
                expected=f"id {test_id(experiment, form)}",
                found=tag,
            )
        mine = [one for one in self._plan if one.test_id == tag and one.cell.experiment == experiment]
        for planned in mine:
            self._ensure(planned)
        return [self._outcomes[planned.cell.cell_id] for planned in mine]

    def _ensure(self, wanted: Planned) -> None:
        """Measure the block of a cell in its order, up to the cell, unless that is answered already."""
        while wanted.key not in self._outcomes:  # each pass gives at least one answer more
            if self._stopped is not None:
                raise self._stopped
            block = (one for one in self._plan if one.block == wanted.block)
            together = turns.visit(self._plan, next(one for one in block if one.key not in self._outcomes))
            self._measure_together([one for one in together if one.key not in self._outcomes])

    def _measure_together(self, group: list[Planned]) -> None:
        """Measure cells of one deployment, whatever becomes of each."""
        try:
            self._measure_group(group)
        except ToolkitError as error:
            if not is_of_cell(error):
                self._stopped = error
                raise
            for planned in group:
                if planned.cell.cell_id not in self._outcomes:
                    self._keep(planned, judge.failed(planned.cell, redact(one_line(error))))
            self._try(self._stage.close)  # a node may be lost: the next cells have new ones
        except BaseException as error:
            self._stopped = error
            raise

    def _measure_group(self, group: list[Planned]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        form = group[0].cell.form
        self._stage.set(form)
        lack = lacking(self._stage, group)
        if lack is not None:
            for planned in group:
                self._keep(
                    planned, judge.not_assessed(planned.cell, f"{lack.what}: {lack.reason}", lack.mend)
                )
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
                self._try(self._stage.close)

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
            if any(one.planned.cell.workload is Workload.TREX_ASTF for one in left):
                evidence["clients"] = self._stage.trex().ready()
            self._store.add_deployment(deployment_id, evidence)
            goes_on = any(runs.done for runs in left if runs.planned.rate is None)  # a search begins anew
            with self._guard.watched(deployment_id, evidence, lambda: self._taken(row), goes_on=goes_on):
                while left:
                    if left[0].planned.rate is not None:
                        left[0].find_rate(deployment, deployment_id)
                    else:
                        left[0].run(deployment, deployment_id)
                    self._keep_judged(left.pop(0), self._guard.judged)

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
        return {**take_row(row), **self._machines.others()}

    def _row_of_this_run(self) -> AbstractContextManager[Row]:
        common: dict[str, Any] = {
            "sizes_octets": self._profile.sizes_octets,
            "token": self._token,
            "vms": self._vms,
        }
        if self._hosts:
            return open_lab_row(self._hosts, self._machines.hosts, self._ledger, self._owner, **common)
        run_dir = self._store.folder.resolve()
        networks = of_header(read_run(self._store.folder).testbed)
        return open_row(run_dir, self._ledger, self._owner, networks=networks, **common)

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
            self._stage.trex,
            self._machines,
            self._leaks,
        )

    def _record(self, planned: Planned, repetition: Repetition) -> int:
        return record(self._store, planned, repetition)

    def _keep_judged(self, runs: CellRuns, judged: Callable[[Sequence[Outcome]], list[Outcome]]) -> None:
        """Keep what a cell's repetitions say, or that the platform changed in its stretch."""
        outcome = outcome_of(runs.answer(), runs.planned.test_id)
        self._add(judged([outcome])[0] if outcome.trials else outcome)

    def _keep(self, planned: Planned, found: HttpOutcome) -> None:
        self._add(outcome_of(found, planned.test_id), found.mend)

    def _add(self, outcome: Outcome, mend: str = "") -> None:
        self._store.add_outcome(outcome, mend=mend)
        self._outcomes[outcome.cell.cell_id] = outcome
        if mend:
            self.mends[outcome.outcome_id] = mend
        self.display.note(f"{outcome.cell.cell_id}: {line_of(outcome)}")

    @property
    def answered(self) -> Mapping[str, Outcome]:
        """What stands so far, by cell."""
        return self._outcomes

    def close(self) -> None:
        """Remove what was made, take the closing record, write the report and say where it is."""
        for step in (self._stage.close, self._take_closing_record, self._end_run, self._stack.close):
            self._try(step)
        try:
            self.display.note(f"report: {write_report(self._store.folder).resolve()}")
        except Exception as error:
            self._failures.append(error)
        if self._failures:
            raise ExceptionGroup(
                "not everything could be closed; finished repetitions are kept", self._failures
            )

    def _try(self, step: Callable[[], object]) -> None:
        """Do a step of closing; one that fails is told, and is in what `close` raises."""
        try:
            step()
        except Exception as error:
            self._failures.append(error)
            self.display.note(f"while closing: {error}")

    def _take_closing_record(self) -> None:
        self._store.set_platform(after=machine_record(None, self._guard.before, self._machines.record))

    def _end_run(self) -> None:
        left = sum(planned.cell.cell_id not in self._outcomes for planned in self._plan)
        if left:
            reason = one_line(self._stopped) if self._stopped else "ended from outside"
            self._store.close(
                None, "interrupted", reason=f"{reason}; {left} of {len(self._plan)} cells are left"
            )
        else:
            self._store.close(None, "complete")

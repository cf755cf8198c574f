"""The bench of one run of HTTP experiments: nodes, hosting forms, journal and display, opened once.

Ids: HBENCH-02 a test's id is not that of its experiment and form.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from bmwg.drivers.hosting import forms, process
from bmwg.drivers.hosting.instance import Hosting, VmDriver
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.workload import squid
from bmwg.drivers.workload.row import Row, open_row
from bmwg.methodology.errors import ToolkitBug, ToolkitError
from bmwg.methodology.http import judge
from bmwg.methodology.http.profile import HttpProfile, Planned, load, test_id
from bmwg.methodology.http.records import HttpOutcome, Repetition, Workload
from bmwg.methodology.records import OutcomeType
from bmwg.reports.http.answers import write_answers
from bmwg.reports.http.journal import HttpJournal
from bmwg.reports.render.report import write_report
from bmwg.reports.store import RunStore, read_run
from bmwg.reports.store.files import utc_text
from bmwg.resources.continuation import check_platform, clear_away, find_run
from bmwg.resources.firsts import MADE
from bmwg.resources.http_proxy.astf import AstfClients
from bmwg.resources.http_proxy.continued import HttpContinuation, http_continuation
from bmwg.resources.http_proxy.deployment import deployed, start_serving
from bmwg.resources.http_proxy.header import http_header, of_header, of_testbed
from bmwg.resources.http_proxy.measure import CellRuns, DeploymentBrokenError, start_runs
from bmwg.resources.http_proxy.needs import lacking
from bmwg.resources.http_proxy.vms import header_of, vms_of_header, vms_of_testbed
from bmwg.resources.http_proxy.watch import HttpWatch
from bmwg.resources.outcomes import one_line
from bmwg.resources.platform import machine_record
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
        journal: HttpJournal,
        ledger: Ledger,
        owner: str,
        display: LineDisplay,
        stack: ExitStack,
        watch: HttpWatch,
        token: str,
        vms: VmDriver,
        continued: HttpContinuation | None = None,
    ) -> None:
        self.display = display
        self._profile = profile
        self._plan = plan
        self._store = store
        self._journal = journal
        self._ledger = ledger
        self._owner = owner
        self._stack = stack
        self._watch = watch
        self._token = token  # a continued run has the same names, which stand in its packet filters
        self._vms = vms
        self._made: list[str] = []
        self._row: Row | None = None
        self._trex: AstfClients | None = None
        self._hostings: dict[str, tuple[Hosting, ExitStack]] = {}
        self._continued = continued
        self._outcomes = dict(continued.outcomes) if continued else {}
        self._deployments = continued.deployments if continued else 0
        self._stopped: BaseException | None = None

    @classmethod
    def open(cls, settings: Settings, selected: Collection[str]) -> HttpBench:
        """Check the settings and make the run folder, or go on with one that was cut off.

        Raises ConfigError HPROF-01, and what `http_continuation`, `vms_of_testbed` and `vms_of_header` raise,
        before anything is touched.
        """
        continued = None
        if settings.continue_run is not None:
            continued = http_continuation(find_run(settings.continue_run, settings.results), selected)
            profile, plan = continued.profile, list(continued.plan)
            vms = vms_of_header(continued.run.testbed, settings)
        else:
            networks = of_testbed(settings)
            profile = load(settings.profile).with_networks(list(networks))
            plan = [planned for planned in profile.plan() if planned.test_id in selected]
            vms = vms_of_testbed(settings, {planned.cell.form for planned in plan})
        with ExitStack() as stack:
            display = open_display(settings.console)
            stack.callback(display.close)
            if continued:
                clear_away(continued.run.folder)  # what it made would stand in the platform's record
            platform = machine_record(settings.overlay, continued.run.platform_before if continued else None)
            if continued:
                check_platform(continued.run, platform)
                store = stack.enter_context(RunStore.resume(continued.run.folder))
                header_sha256 = continued.run.header_sha256
                journal = HttpJournal.resume(store.folder, store.run_id, header_sha256)
            else:
                header = http_header(profile, networks, header_of(vms))
                store = stack.enter_context(RunStore.create(settings.results, settings.run_id, header))
                header_sha256 = read_run(store.folder).header_sha256
                journal = HttpJournal(store.folder, store.run_id, header_sha256)
                write_answers(store.folder, store.run_id, plan, {})
            stack.callback(journal.close)
            display.note(
                f"run {store.run_id}: HTTP experiments, profile {profile.name}, {len(plan)} cells; "
                f"results in {store.folder}"
            )
            if continued:
                display.note(continued.text)
            if continued is None or continued.run.platform_before is None:
                store.set_platform(before=platform)
            ledger = Ledger(store.folder / "ledger.jsonl")
            owner = f"{store.run_id}-{secrets.token_hex(4)}"
            stack.callback(ledger.undo, ledger.before("owner", owner=owner))
            stack.enter_context(process.owned(owner))
            return cls(
                profile=profile,
                plan=plan,
                store=store,
                journal=journal,
                ledger=ledger,
                owner=owner,
                display=display,
                stack=stack.pop_all(),
                watch=HttpWatch(
                    store.platform, display.note, platform, continued.run.platform if continued else None
                ),
                token=header_sha256[:_TOKEN_CHARACTERS],
                vms=vms,
                continued=continued,
            )

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._watch.begin_suite(suite)

    def outcomes(self, experiment: str, form: str, tag: str) -> list[HttpOutcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already.

        All selected cells of one deployment are measured while it stands. Raises ToolkitBug HBENCH-02.
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
        if wanted.cell.cell_id in self._outcomes:
            return
        if self._stopped is not None:
            raise self._stopped
        group = [
            planned
            for planned in self._plan
            if planned.cell.deployment == wanted.cell.deployment
            and planned.cell.cell_id not in self._outcomes
            and (planned.cell.workload is Workload.START) == (wanted.cell.workload is Workload.START)
        ]
        try:
            self._measure_group(group)
        except ToolkitError as error:
            for planned in group:
                if planned.cell.cell_id not in self._outcomes:
                    self._keep(judge.failed(planned.cell, one_line(error)))
        except BaseException as error:
            self._stopped = error
            raise

    def _measure_group(self, group: list[Planned]) -> None:
        """Measure cells of one deployment; one that breaks is made anew for what is left."""
        form = group[0].cell.form
        for other in self._continued.made_before(group) if self._continued else ():
            self._hosting(other)  # they stood when a cell was begun that goes on now
        group, hosting = self._assessable(group, form)
        if hosting is None:
            return
        if group[0].cell.workload is Workload.START:
            for planned in group:
                self._measure_start(planned, hosting)
            return
        left = [self._runs(planned) for planned in group]
        broken = 0
        while left:
            try:
                self._measure_on_one(left, hosting)
            except DeploymentBrokenError as error:
                self.display.note(f"{form}: {error}; a new deployment is made")
                broken += 1
                if left[0].ended or broken > left[0].planned.max_invalid:
                    self._keep(self._watch.judged_after_break(left.pop(0).answer(), self._opened_row()))
                self._close_hosting(form)
                hosting = self._hosting(form)

    def _measure_on_one(self, left: list[CellRuns], hosting: Hosting) -> None:
        """Measure what is left on one deployment, in order, taking each away when it is done."""
        cell = left[0].planned.cell
        self._deployments += 1
        deployment_id = f"{cell.form}-{cell.proxies}-{'cache' if cell.cache else 'plain'}-{self._deployments}"
        with deployed(
            self._opened_row(),
            hosting,
            proxies=cell.proxies,
            cache=cell.cache,
            stress_cpus=cell.stress_cpus,
            deadline_s=self._profile.start_deadline_s(cell.form),
        ) as deployment:
            evidence = {**deployment.describe(), MADE: list(self._made)}
            if any(one.planned.cell.workload is Workload.TREX_ASTF for one in left):
                evidence["clients"] = self._trex_clients().ready()
            self._store.add_deployment(deployment_id, evidence)
            goes_on = any(runs.done for runs in left if runs.planned.rate is None)  # a search begins anew
            with self._watch.over(self._opened_row(), deployment_id, evidence, goes_on=goes_on):
                while left:
                    if left[0].planned.rate is not None:
                        left[0].find_rate(deployment, deployment_id)
                    else:
                        left[0].run(deployment, deployment_id)
                    self._keep(self._watch.judged(left.pop(0).answer()))

    def _measure_start(self, planned: Planned, hosting: Hosting) -> None:
        row = self._opened_row()
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
            return {"hosting": dict(hosting.describe()), MADE: list(self._made)}

        runs = self._runs(planned)
        told: list[dict[str, Any]] = []
        self._deployments += 1
        deployment_id = f"{planned.cell.form}-start-{self._deployments}"
        with self._watch.over(row, deployment_id, of_form(), goes_on=bool(runs.done)):
            start_runs(runs, once, deployment_id)
            self._keep(self._watch.judged(runs.answer()))

    def _assessable(self, group: list[Planned], form: str) -> tuple[list[Planned], Hosting | None]:
        """Return what can be tried and the form's hosting; the others are kept as not assessed."""
        lack = lacking(self._opened_row, self._ledger, group, form)
        if lack is not None:
            for planned in group:
                self._keep(judge.not_assessed(planned.cell, f"{lack.what}: {lack.reason}", lack.mend))
            return [], None
        return group, self._hosting(form)

    def _opened_row(self) -> Row:
        if self._row is None:
            self._row = self._stack.enter_context(
                open_row(
                    self._store.folder.resolve(),
                    self._ledger,
                    self._owner,
                    sizes_octets=self._profile.sizes_octets,
                    token=self._token,
                    networks=of_header(read_run(self._store.folder).testbed),
                    vms=self._vms,
                )
            )
        return self._row

    def _hosting(self, form: str) -> Hosting:
        """The form's hosting, entered once and kept until it breaks or the run ends."""
        if form not in self._hostings:
            row = self._opened_row()
            stack = ExitStack()
            made = forms.hosting(form, node=row.proxy, place=row.place, ledger=self._ledger)
            self._made.append(form)
            self._hostings[form] = (stack.enter_context(made), stack)
        return self._hostings[form][0]

    def _close_hosting(self, form: str) -> None:
        entered = self._hostings.pop(form, None)
        if entered is not None:
            entered[1].close()

    def _runs(self, planned: Planned) -> CellRuns:
        """Return the runs of a cell, with what a run that goes on has of them already."""
        recorded = self._continued.recorded(planned) if self._continued else ()
        return CellRuns(planned, self._record, recorded, self._trex_clients)

    def _trex_clients(self) -> AstfClients:
        """TRex on the clients' node, made when it is first wanted and ended before the nodes."""
        if self._trex is None:
            self._trex = AstfClients(self._opened_row(), self._store.folder.resolve())
            self._stack.callback(self._trex.close)
        return self._trex

    def _record(self, repetition: Repetition) -> int:
        bound = replace(repetition, platform=self._store.platform.bound(repetition.deployment))
        return self._journal.append(bound, utc_text(datetime.now(UTC)))

    def _keep(self, outcome: HttpOutcome) -> None:
        self._outcomes[outcome.cell.cell_id] = outcome
        write_answers(self._store.folder, self._store.run_id, self._plan, self._outcomes)
        self.display.note(f"{outcome.cell.cell_id}: {line_of(outcome)}")

    @property
    def answered(self) -> Mapping[str, HttpOutcome]:
        """What stands so far, by cell."""
        return self._outcomes

    def close(self) -> None:
        """Remove what was made, take the closing record, write the report and say where it is."""
        failures: list[Exception] = []
        for step in (self._close_hostings, self._take_closing_record, self._end_run, self._stack.close):
            try:
                step()
            except Exception as error:
                failures.append(error)
                self.display.note(f"while closing: {error}")
        try:
            self.display.note(f"report: {write_report(self._store.folder).resolve()}")
        except Exception as error:
            failures.append(error)
        if failures:
            raise ExceptionGroup("not everything could be closed; finished repetitions are kept", failures)

    def _close_hostings(self) -> None:
        for form in list(self._hostings):
            self._close_hosting(form)

    def _take_closing_record(self) -> None:
        self._store.set_platform(after=machine_record(None, self._watch.before))

    def _end_run(self) -> None:
        left = sum(planned.cell.cell_id not in self._outcomes for planned in self._plan)
        if left:
            reason = one_line(self._stopped) if self._stopped else "ended from outside"
            self._store.close(
                None, "interrupted", reason=f"{reason}; {left} of {len(self._plan)} cells are left"
            )
        else:
            self._store.close(None, "complete")


def line_of(outcome: HttpOutcome) -> str:
    """Say an outcome in one line."""
    if outcome.rate_rps is not None:
        return f"measured  {outcome.rate_rps} requests/s"
    if outcome.type is not OutcomeType.MEASURED or outcome.time is None:
        return f"{outcome.type.value}  {outcome.reason}"
    half = outcome.time.half_width
    spread = f" +/- {half / 1e6:.3f}" if half is not None else ""
    what = "until it serves" if outcome.cell.workload is Workload.START else "a request"
    return f"measured  {outcome.time.mean / 1e6:.3f}{spread} ms {what} (n = {outcome.time.count})"

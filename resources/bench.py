"""The bench of one run: testbed, tester, journal and display, opened once and closed in reverse order."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from bmwg.drivers import registry
from bmwg.drivers.api import Deployment, TrafficDriver
from bmwg.drivers.hosting import process
from bmwg.drivers.isolation import LeakWatch, require_closed, require_own_ports
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.locks import reserve
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.paths.simulated import SIMULATED
from bmwg.drivers.record.collect import collect
from bmwg.drivers.standing import Standing
from bmwg.drivers.testbed import Testbed, load_testbed
from bmwg.methodology import latency, planning, throughput
from bmwg.methodology.errors import ConfigError, ToolkitBug, ToolkitError
from bmwg.methodology.planning import PlannedCell
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.profiles.profile import BISECTION
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.render import summary_lines, write_report
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.continuation import Continuation, check_platform, clear_away, continuation, find_run
from bmwg.resources.header import metric_of, run_header
from bmwg.resources.measure import CellMeasurement, is_of_cell
from bmwg.resources.outcomes import load_remark, one_line, without_load
from bmwg.resources.platform import PlatformGuard
from bmwg.resources.progress import LineDisplay, clock_text, open_display
from bmwg.resources.settings import Settings


class _DeploymentBrokenError(Exception):
    """Tester, link or DUT failed while a cell was measured."""


class Bench:
    """One run. `open` makes everything or nothing; `close` removes all and writes the report."""

    def __init__(
        self,
        *,
        testbed: Testbed,
        profile: Profile,
        plan: Sequence[PlannedCell],
        selected: Collection[str],
        store: RunStore,
        bed: Bed,
        display: LineDisplay,
        stack: ExitStack,
        continued: Continuation | None = None,
        watch: LeakWatch | None = None,
        platform: PlatformGuard,
    ) -> None:
        self.display = display
        self.platform = platform
        self._testbed = testbed
        self._profile = profile
        self._plan = plan  # of the whole profile
        self._selected = selected  # test ids that this run is to answer
        self._store = store
        self._bed = bed
        self._stack = stack
        self._traffic: TrafficDriver | None = None
        self._traffic_stack = ExitStack()
        self._continued = continued
        self._watch = watch
        run = continued.run if continued else None
        self._deployments = len(run.deployments) if run else 0
        self._outcomes = {outcome.outcome_id: outcome for outcome in run.outcomes} if run else {}
        self._stopped: BaseException | None = None  # why no further trial may run

    @classmethod
    def open(cls, settings: Settings, selected: Collection[str], suite: str = "the run") -> Bench:
        """Check the settings, make the run folder, build the bed. Nothing stays behind when a step fails.

        With `settings.continue_run` that run goes on, with its own testbed and profile. Raises what
        `continuation` and `reserve` raise before anything is touched.
        """
        continued = None
        if settings.continue_run is not None:
            folder = find_run(settings.continue_run, settings.results)
            continued = continuation(folder, selected)
            testbed, profile = continued.testbed, continued.profile
        else:
            testbed, profile = load_testbed(settings.testbed), load_profile(settings.profile)
        if profile.search.algorithm != BISECTION:
            raise ConfigError(
                "BENCH-04",
                f"profile {profile.name}: its search is not part of the suites yet; nothing was started",
                expected=f"a profile whose search is {BISECTION}",
                found=profile.search.algorithm,
                hint="bmwg plan shows what it would take",
            )
        plan = planning.cells(profile, {network.name: network.vlan_id for network in testbed.networks})
        mine = [planned for planned in plan if planned.test_id in selected]
        with ExitStack() as stack:
            display = open_display(settings.console)
            stack.callback(display.close)
            stack.enter_context(reserve(testbed, spare=continued.run.folder if continued else None))
            if continued:
                clear_away(continued.run.folder)  # its pods would stand in the platform's record
            platform = collect()
            if continued:
                check_platform(continued.run, platform)
                store = stack.enter_context(RunStore.resume(continued.run.folder))
            else:
                header = run_header(testbed, profile, mine)
                store = stack.enter_context(RunStore.create(settings.results, settings.run_id, header))
            display.estimate.planned_s = planning.traffic_s(mine)
            display.note(
                f"run {store.run_id}: testbed {testbed.name}, profile {profile.name}, {len(mine)} cells, "
                f"about {clock_text(display.estimate.planned_s)} of traffic; results in {store.folder}"
            )
            if continued:
                display.note(continued.text)
            if continued is None or continued.run.platform_before is None:
                store.set_platform(before=platform)
            guard = PlatformGuard(testbed, store, display.note)
            guard.begin_suite(suite, platform)
            ledger = Ledger(store.folder / "ledger.jsonl")
            owner = f"{store.run_id}-{secrets.token_hex(4)}"
            stack.callback(ledger.undo, ledger.before("owner", owner=owner))
            stack.enter_context(process.owned(owner))
            watch = None
            if testbed.tester.driver != SIMULATED:
                signed = testbed.tester.driver == "embedded"
                watch = stack.enter_context(LeakWatch(testbed.lab_ports, signed=signed))
            bed = stack.enter_context(open_bed(testbed, ledger, store.folder.resolve(), owner))
            return cls(
                testbed=testbed,
                profile=profile,
                plan=plan,
                selected=selected,
                store=store,
                bed=bed,
                display=display,
                stack=stack.pop_all(),
                continued=continued,
                watch=watch,
                platform=guard,
            )

    def outcomes(self, metric: str, path: str, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each planned cell, measured now unless it stands already.

        All cells of one deployment are measured while it stands, those of other selected tests too. Raises
        ToolkitBug BENCH-03 when the test's id is not the one of its metric and path.
        """
        if planning.TEST_IDS.get((metric, path)) != test_id:
            raise ToolkitBug(
                "BENCH-03",
                f"test {test_id} measures {metric} on path {path}",
                expected=f"id {planning.TEST_IDS.get((metric, path))}",
                found=test_id,
            )
        mine = [planned for planned in self._plan if planned.test_id == test_id]
        for planned in mine:
            self._ensure(planned)
        return [self._outcomes[planned.outcome_id] for planned in mine]

    def _ensure(self, wanted: PlannedCell) -> Outcome:
        """Measure a cell, and what is selected on the same deployment, unless it was measured before."""
        if self._stopped is not None and wanted.outcome_id not in self._outcomes:
            raise self._stopped
        while wanted.outcome_id not in self._outcomes:  # each pass gives at least one outcome more
            together = [planned for planned in self._plan if planned.deployment == wanted.deployment]
            chosen = {planned.cell.cell_id for planned in together if planned.test_id in self._selected}
            self._measure_group(
                [
                    planned
                    for planned in together
                    if planned.outcome_id not in self._outcomes
                    and (
                        planned.test_id in self._selected
                        # the throughput comes first, asked for or not (RFC 2544 26.2)
                        or (planned.metric == throughput.METRIC and planned.cell.cell_id in chosen)
                    )
                ]
            )
        return self._outcomes[wanted.outcome_id]

    def _measure_group(self, group: list[PlannedCell]) -> None:
        """Measure cells of one deployment; what goes wrong there is their outcome and stops no other cell."""
        try:
            group = self._qualified(self._assessable(group))
            if not group:
                return
            with self._deployed(group[0].cell) as (deployment_id, traffic):
                standing = Standing(self._bed)
                for planned in group:
                    self._measure(planned, deployment_id, traffic, standing.fault)
        except _DeploymentBrokenError:
            pass  # its outcome is kept; the rest of the group gets a new deployment and a new tester
        except ToolkitError as error:
            if not is_of_cell(error):
                self._stopped = error
                raise
            self._fail(group, one_line(error))
        except BaseException as error:
            self._stopped = error
            raise

    def _assessable(self, group: list[PlannedCell]) -> list[PlannedCell]:
        """Return the cells that can be tried here; the others are kept as not assessed, with the reason."""
        left = []
        for planned in group:
            missing = None if planned.missing else path_driver(planned.cell, self._bed).probe()
            reason = planned.missing or (f"{missing.what}: {missing.reason}" if missing else "")
            if not reason:
                left.append(planned)
                continue
            outcome = throughput.not_assessed(
                planned.cell, outcome_id=planned.outcome_id, metric=metric_of(planned), reason=reason
            )
            self._keep(outcome, mend=missing.mend if missing else "")
        return left

    def _qualified(self, group: list[PlannedCell]) -> list[PlannedCell]:
        """Return the cells for whose traffic the tester is qualified (design decision 4)."""
        left = []
        for planned in group:
            if planned.cell.path == "wire" or self._envelope(planned.cell) is not None:
                left.append(planned)
            else:
                self._fail([planned], "the tester is not qualified for this traffic")
        return left

    def _measure(
        self,
        planned: PlannedCell,
        deployment_id: str,
        traffic: TrafficDriver,
        fault: Callable[[], str | None],
    ) -> None:
        cell = planned.cell
        measurement = CellMeasurement(
            planned=planned,
            metric=metric_of(planned),
            deployment_id=deployment_id,
            traffic=traffic,
            store=self._store,
            policy=self._profile.policy,
            display=self.display,
            fault=fault,
            watch=self._watch,
            recorded=self._continued.recorded(planned) if self._continued else None,
        )
        if planned.metric == latency.METRIC:
            found = self._outcomes[self._planned(throughput.METRIC, cell).outcome_id]
            if found.lower is None:  # RFC 2544 26.2 determines the throughput first
                self._keep(without_load(planned, found))
                return
            spec = self._profile.latency_spec(cell, found.lower.load_fps)
            outcome = measurement.latency(spec, load_remark(found))
        elif cell.path == "wire":
            goal = self._profile.goal(
                cell, max_load_fps=planning.QUALIFICATION_MAX_FPS, qualifies_tester=True
            )
            outcome = measurement.search(goal, phase="qualification")
        else:
            envelope_fps = self._envelope(cell) or 1
            goal = self._profile.goal(cell, max_load_fps=envelope_fps, envelope_fps=envelope_fps)
            outcome = measurement.search(goal, phase="search")
        self._keep(outcome if measurement.broken else self.platform.judged(outcome))
        if measurement.broken:
            raise _DeploymentBrokenError

    def _planned(self, metric: str, cell: Cell) -> PlannedCell:
        """Find a cell in the whole plan, or plan it now: a prerequisite may lie outside the list."""
        for planned in self._plan:
            if planned.metric == metric and planned.cell.cell_id == cell.cell_id:
                return planned
        return PlannedCell(test_id=planning.TEST_IDS[metric, cell.path], metric=metric, cell=cell)

    def _envelope(self, cell: Cell) -> int | None:
        """The tester's qualified load for this shape of traffic, frames/s; qualified now if it is not yet."""
        wire = replace(cell, path="wire", hosting="none", function="none", network="none")
        planned = self._planned(throughput.METRIC, wire)
        if planned.outcome_id not in self._outcomes:
            self._measure_group([planned])
        outcome = self._outcomes[planned.outcome_id]
        usable = outcome.type in (OutcomeType.MEASURED, OutcomeType.AT_CEILING) and outcome.lower is not None
        return outcome.lower.load_fps if usable and outcome.lower else None

    @contextmanager
    def _deployed(self, cell: Cell) -> Iterator[tuple[str, TrafficDriver]]:
        """Deploy a cell, bind the tester to it, and remove it again."""
        self._deployments += 1
        deployment_id = f"{cell.path}-{cell.function}-{cell.network}-{self._deployments}"
        with path_driver(cell, self._bed).deploy() as deployment:
            if self._watch is not None:
                require_own_ports(deployment.ports, self._testbed.lab_ports)
                require_closed(self._bed)
            self._store.add_deployment(deployment_id, deployment.evidence)
            with self._attached(deployment) as traffic:
                time.sleep(self._profile.policy.settle_s)  # rfc2544-23, phase a
                watched = self.platform.ready(self._bed, cell, deployment_id, deployment, traffic)
                try:
                    yield deployment_id, watched
                finally:
                    self.platform.removed()

    @contextmanager
    def _attached(self, deployment: Deployment) -> Iterator[TrafficDriver]:
        """Bind the tester's ports; a tester that fails is ended, and the next cell gets a new one."""
        traffic = self._running_traffic()
        try:
            traffic.attach(deployment.ports)
            yield traffic
            traffic.detach()
        except BaseException:
            self._end_traffic()
            raise

    def _running_traffic(self) -> TrafficDriver:
        if self._traffic is None:
            kind = registry.load("traffic", self._testbed.tester.driver)
            driver = kind.for_testbed(self._testbed, self._bed.run_dir, self._profile.policy.drain_s)
            self._traffic = self._traffic_stack.enter_context(driver)
            self._store.add_driver(driver.describe())
        return self._traffic

    def _end_traffic(self) -> None:
        self._traffic = None
        self._traffic_stack.close()

    def _fail(self, group: Sequence[PlannedCell], reason: str) -> None:
        for planned in group:
            if planned.outcome_id not in self._outcomes:
                self._keep(
                    Outcome(
                        outcome_id=planned.outcome_id,
                        metric=metric_of(planned),
                        cell=planned.cell,
                        type=OutcomeType.INVALID,
                        reason=reason,
                    )
                )

    def _keep(self, outcome: Outcome, mend: str = "") -> None:
        self._store.add_outcome(outcome, mend=mend)
        self._outcomes[outcome.outcome_id] = outcome
        answer = "; ".join(f"{value.number:,} {value.unit}" for value in outcome.values[:1])
        self.display.note(
            f"{outcome.cell.cell_id}: {outcome.metric} {outcome.type.value} "
            f"{answer or outcome.statement or outcome.reason}"
        )

    def close(self) -> None:
        """Remove what was made, take the closing record, write the report and say where it is."""
        failures: list[Exception] = []
        steps = (self._end_traffic, self._take_closing_record, self._end_run, self._stack.close, self._report)
        for step in steps:
            try:
                step()
            except Exception as error:
                failures.append(error)
                self.display.note(f"while closing: {error}")
        if failures:
            raise ExceptionGroup("not everything could be closed; finished trials are kept", failures)

    def _take_closing_record(self) -> None:
        self._store.set_platform(after=collect())

    def _end_run(self) -> None:
        """Write how the run ended: complete only with an answer for each cell that it planned."""
        if self._continued:
            planned = [f"{entry.test_id}:{entry.cell.cell_id}" for entry in self._continued.run.plan]
        else:
            planned = [entry.outcome_id for entry in self._plan if entry.test_id in self._selected]
        left = sum(outcome_id not in self._outcomes for outcome_id in planned)
        reason = None
        if self._stopped is not None:
            reason = f"{type(self._stopped).__name__}: {one_line(self._stopped)}".rstrip(": ")
        elif left:
            reason = "ended from outside"
        if left:
            self._store.close(
                None, "interrupted", reason=f"{reason}; {left} of {len(planned)} cells are left"
            )
            self.display.note(f"interrupted; it goes on with: bmwg resume {self._store.folder}")
        else:
            self._store.close(None, "complete")

    def _report(self) -> None:
        report = write_report(self._store.folder)
        for line in summary_lines(read_run(self._store.folder)):
            self.display.note(line)
        self.display.note(f"report: {report.resolve()}")

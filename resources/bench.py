"""The bench of one run: testbed, tester, journal and display, opened once and closed in reverse order."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from bmwg.drivers.ledger import Ledger
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.registry import load_driver
from bmwg.methodology.planning import cells_for, estimated_traffic_s

from bmwg.drivers.api import Deployment, Missing, TrafficDriver
from bmwg.drivers.record.collect import collect
from bmwg.drivers.testbed import Testbed, load_testbed
from bmwg.methodology.errors import DriverError, ToolkitBug, ToolkitError
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.reports.render import summary_lines, write_report
from bmwg.reports.store import PlannedCell, RunHeader, RunStore, read_run
from bmwg.resources.measure import ENVELOPE, LATENCY, THROUGHPUT, CellMeasurement, Purpose
from bmwg.resources.progress import LineDisplay, clock_text, open_display
from bmwg.resources.provenance import toolkit_state
from bmwg.resources.settings import Settings

QUALIFICATION = (
    "QUALIFICATION"  # stands for the test id when a run that skips the wire still needs the envelope
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """One test of the suites that Robot is about to run: its id, the metric and the path of its tags."""

    test_id: str
    metric: str
    path: str


def metric_id(metric: str, path: str) -> str:
    """Return the metric that a suite's word means on a path; the wire's throughput is the tester's own."""
    if metric == "latency":
        return LATENCY
    return ENVELOPE if path == "wire" else THROUGHPUT


class Bench:
    """One run. `open` makes everything or nothing; `close` removes all and writes the report."""

    def __init__(
        self,
        *,
        testbed: Testbed,
        profile: Profile,
        store: RunStore,
        bed: Bed,
        display: LineDisplay,
        stack: ExitStack,
    ) -> None:
        self.display = display
        self._testbed = testbed
        self._profile = profile
        self._store = store
        self._bed = bed
        self._stack = stack
        self._traffic: TrafficDriver | None = None
        self._traffic_stack = ExitStack()
        self._deployments = 0
        self._outcomes: dict[tuple[str, str], Outcome] = {}  # (metric id, cell id)
        self._interrupted: str | None = None

    @classmethod
    def open(cls, settings: Settings, tests: Sequence[PlannedTest]) -> Bench:
        """Check the settings, make the run folder, build the bed. Nothing stays behind when a step fails."""
        testbed = load_testbed(settings.testbed)
        profile = load_profile(settings.profile)
        plan = [
            PlannedCell(test_id=test.test_id, metric=metric_id(test.metric, test.path), cell=cell)
            for test in tests
            for cell in cells_for(profile, testbed, test.metric, test.path)
        ]
        display = open_display(settings.console)
        with ExitStack() as stack:
            stack.callback(display.close)
            store = stack.enter_context(
                RunStore.create(settings.results, settings.run_id, _header(testbed, profile, plan))
            )
            display.note(f"run {store.run_id}: {len(plan)} cells, results in {store.folder}")
            display.estimate.planned_s = estimated_traffic_s(profile, plan)
            display.note(
                f"testbed {testbed.name}, profile {profile.name}: about "
                f"{clock_text(display.estimate.planned_s)} of traffic"
            )
            store.set_platform(before=collect())
            ledger = Ledger(store.folder / "ledger.jsonl")
            bed = stack.enter_context(open_bed(testbed, ledger, store.folder))
            return cls(
                testbed=testbed, profile=profile, store=store, bed=bed, display=display, stack=stack.pop_all()
            )

    def run_metric(self, metric: str, path: str, purpose: Purpose) -> list[Outcome]:
        """Measure one metric on every planned cell of a path; each cell ends in exactly one outcome."""
        outcomes = []
        for cell in cells_for(self._profile, self._testbed, metric, path):
            outcomes.append(self._outcome(cell, replace(purpose, metric=metric_id(metric, path))))
        return outcomes

    def _outcome(self, cell: Cell, purpose: Purpose) -> Outcome:
        """Measure one cell; what goes wrong there is its outcome and stops no other cell."""
        known = self._outcomes.get((purpose.metric, cell.cell_id))
        if known is not None:
            return known
        missing = self._bed.missing(cell)
        if missing is not None:
            return self._keep(_not_assessed(cell, purpose, missing), mend=missing.mend)
        try:
            outcome = self._measured(cell, purpose)
        except ToolkitBug:
            raise
        except ToolkitError as error:
            outcome = _failed(cell, purpose, str(error))
        except BaseException as error:
            self._interrupted = f"{type(error).__name__}: {error}"
            self._keep(_failed(cell, purpose, "the run was interrupted"))
            raise
        return self._keep(outcome)

    def _keep(self, outcome: Outcome, mend: str = "") -> Outcome:
        self._store.add_outcome(outcome, mend=mend)
        self._outcomes[outcome.metric, outcome.cell.cell_id] = outcome
        answer = "; ".join(f"{value.number:,} {value.unit}" for value in outcome.values[:1])
        self.display.note(
            f"{outcome.cell.cell_id}: {outcome.metric} {outcome.type.value} "
            f"{answer or outcome.statement or outcome.reason}"
        )
        return outcome

    def _measured(self, cell: Cell, purpose: Purpose) -> Outcome:
        if purpose.metric == ENVELOPE:
            goal = self._profile.goal(cell, max_load_fps=self._profile.max_load_fps, envelope_fps=None)
            with self._deployed(cell, purpose) as measurement:
                return measurement.envelope(goal)
        if purpose.metric == THROUGHPUT:
            envelope_fps = self._envelope_fps(cell)
            goal = self._profile.goal(cell, max_load_fps=envelope_fps, envelope_fps=envelope_fps)
            with self._deployed(cell, purpose) as measurement:
                return measurement.throughput(goal)
        load_fps, quality = self._latency_load(cell)
        with self._deployed(cell, purpose) as measurement:
            return measurement.latency(load_fps, self._profile.latency_duration_s, quality)

    def _envelope_fps(self, cell: Cell) -> int:
        """The tester's qualified load for this shape of traffic, frames/s; qualified now if it is not yet."""
        wire = replace(cell, path="wire", hosting="none", function="none", network="none")
        outcome = self._prerequisite(wire, ENVELOPE)
        if outcome.type not in (OutcomeType.MEASURED, OutcomeType.AT_CEILING) or outcome.lower is None:
            raise DriverError(
                "BENCH-01",
                f"{cell.cell_id}: the tester is not qualified for this traffic; the DUT was not measured",
                expected="an envelope on the wire",
                found=f"{outcome.type.value}: {outcome.reason or outcome.statement}",
                hint="a quieter machine, or a CPU of its own for the tester (tester.cpus)",
            )
        return outcome.lower.load_fps

    def _latency_load(self, cell: Cell) -> tuple[int, tuple[str, ...]]:
        """Load for latency (RFC 2544 26.2), the throughput in frames/s, and a remark when it is no plain one."""
        throughput = self._prerequisite(cell, metric_id("throughput", cell.path))
        if throughput.lower is None:
            raise DriverError(
                "BENCH-02",
                f"{cell.cell_id}: no load at which to measure latency",
                expected="a throughput (RFC 2544 26.2 determines it first)",
                found=f"{throughput.type.value}: {throughput.reason or throughput.statement}",
            )
        if throughput.type is OutcomeType.MEASURED:
            return throughput.lower.load_fps, ()
        remark = (
            f"at {throughput.lower.load_fps} frames/s, the highest load without loss; {throughput.type.value}"
        )
        return throughput.lower.load_fps, (remark,)

    def _prerequisite(self, cell: Cell, metric: str) -> Outcome:
        known = self._outcomes.get((metric, cell.cell_id))
        return known or self._outcome(cell, Purpose(test_id=QUALIFICATION, metric=metric))

    @contextmanager
    def _deployed(self, cell: Cell, purpose: Purpose) -> Iterator[CellMeasurement]:
        """Deploy a cell, bind the tester to it, and remove it again."""
        self._deployments += 1
        deployment_id = f"{cell.path}-{cell.function}-{cell.network}-{self._deployments}"
        with path_driver(cell, self._bed).deploy() as deployment:
            self._store.add_deployment(deployment_id, deployment.evidence)
            with self._attached(deployment) as traffic:
                time.sleep(self._profile.policy.settle_s)  # rfc2544-23, phase a
                yield CellMeasurement(
                    cell=cell,
                    deployment_id=deployment_id,
                    traffic=traffic,
                    store=self._store,
                    policy=self._profile.policy,
                    display=self.display,
                    purpose=purpose,
                )

    @contextmanager
    def _attached(self, deployment: Deployment) -> Iterator[TrafficDriver]:
        """Bind the tester's ports; a tester that fails is ended, and the next cell gets a new one."""
        traffic = self._running_traffic()
        try:
            traffic.attach(deployment.ports)
            yield traffic
            traffic.detach()
        except DriverError:
            self._end_traffic()
            raise

    def _running_traffic(self) -> TrafficDriver:
        if self._traffic is None:
            kind = load_driver("traffic", self._testbed.tester.driver)
            self._traffic = self._traffic_stack.enter_context(
                kind.for_testbed(self._testbed, self._bed.run_dir)
            )
            self._store.add_driver(self._traffic.describe())
        return self._traffic

    def _end_traffic(self) -> None:
        self._traffic = None
        self._traffic_stack.close()

    def close(self) -> None:
        """Remove what was made, take the closing record, write the report and say where it is."""
        failures: list[BaseException] = []
        for step in (self._end_traffic, self._take_closing_record, self._stack.close):
            try:
                step()
            except Exception as error:
                failures.append(error)
                self.display.note(f"while closing: {error}")
        report = write_report(self._store.folder)
        for line in summary_lines(read_run(self._store.folder)):
            self.display.note(line)
        self.display.note(f"report: {report}")
        if failures:
            raise ExceptionGroup("the run was measured, but not everything could be closed", failures)

    def _take_closing_record(self) -> None:
        self._store.set_platform(after=collect())
        self._store.close(None, "interrupted" if self._interrupted else "complete", reason=self._interrupted)


def _header(testbed: Testbed, profile: Profile, plan: Sequence[PlannedCell]) -> RunHeader:
    version, commit, dirty = toolkit_state()
    return RunHeader(
        toolkit_version=version,
        toolkit_commit=commit,
        toolkit_dirty=dirty,
        simulated=testbed.tester.driver == "simulated",
        testbed=testbed.data,
        testbed_source=testbed.file,
        profile=profile.data,
        medium_kind="veth",
        line_rate_bps=None,
        plan=tuple(plan),
    )


def _not_assessed(cell: Cell, purpose: Purpose, missing: Missing) -> Outcome:
    return replace(_failed(cell, purpose, f"{missing.what}: {missing.reason}"), type=OutcomeType.NOT_ASSESSED)


def _failed(cell: Cell, purpose: Purpose, reason: str) -> Outcome:
    return Outcome(
        outcome_id=f"{purpose.test_id}/{cell.cell_id}",
        metric=purpose.metric,
        cell=cell,
        type=OutcomeType.INVALID,
        reason=reason,
        requirements=purpose.requirements,
    )

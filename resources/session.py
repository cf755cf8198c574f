"""One run from opening to closing: testbed, profile, journal, bed and display, closed in reverse order."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from bmwg.drivers import awake, registry
from bmwg.drivers.hosting import process
from bmwg.drivers.isolation import LeakWatch
from bmwg.drivers.ledger import Ledger
from bmwg.drivers.locks import reserve
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.paths.simulated import SIMULATED
from bmwg.drivers.testbed import Testbed, load_testbed
from bmwg.methodology import keep_awake, planning, turns
from bmwg.methodology.keep_awake import KeepAwake
from bmwg.methodology.planning import PlannedCell
from bmwg.methodology.profiles import Profile, load_profile
from bmwg.reports.render.report import write_report
from bmwg.reports.render.summary import summary_lines
from bmwg.reports.store import RunStore, read_run
from bmwg.resources.clock import Clock, HostClock
from bmwg.resources.continuation import Continuation, check_platform, clear_away, continuation, find_run
from bmwg.resources.guest_record import record_guest
from bmwg.resources.header import run_header
from bmwg.resources.outcomes import one_line
from bmwg.resources.platform import PlatformGuard, machine_record
from bmwg.resources.progress import LineDisplay, clock_text, open_display
from bmwg.resources.settings import Settings
from bmwg.resources.tester import require_networks, tester_of


@dataclass(slots=True, kw_only=True)
class Session:
    """What the parts of a run share. `selected` are the test ids that it is to answer, `plan` their cells.

    `stopped` is why no further trial may run; None while the run goes on.
    """

    testbed: Testbed
    profile: Profile
    plan: Sequence[PlannedCell]
    selected: Collection[str]
    store: RunStore
    bed: Bed
    display: LineDisplay
    platform: PlatformGuard
    continued: Continuation | None = None
    watch: LeakWatch | None = None
    stopped: BaseException | None = None
    clock: Clock = field(default_factory=HostClock)
    stack: ExitStack = field(default_factory=ExitStack)

    @property
    def networks(self) -> planning.Networks:
        """The network options of the testbed with their 802.1Q tags."""
        return networks_of(self.testbed)

    def close(self, left: int, planned: int, first: Callable[[], None]) -> None:
        """Remove what was made, take the closing record, write the report and say where it is.

        `first` is done before anything else; `left` of `planned` answers were not found.
        """
        failures: list[Exception] = []
        steps = (
            first,
            self._take_closing_record,
            lambda: self._end_run(left, planned),
            self.stack.close,
            self._report,
        )
        for step in steps:
            try:
                step()
            except Exception as error:
                failures.append(error)
                self.display.note(f"while closing: {error}")
        if failures:
            raise ExceptionGroup("not everything could be closed; finished trials are kept", failures)

    def _take_closing_record(self) -> None:
        self.store.set_platform(after=machine_record(None, self.platform.before))

    def _end_run(self, left: int, planned: int) -> None:
        """Write how the run ended: complete only with an answer for each cell that it planned."""
        if not left:
            self.store.close(None, "complete")
            return
        reason = "ended from outside"
        if self.stopped is not None:
            reason = f"{type(self.stopped).__name__}: {one_line(self.stopped)}".rstrip(": ")
        self.store.close(None, "interrupted", reason=f"{reason}; {left} of {planned} cells are left")
        self.display.note(f"interrupted; it goes on with: bmwg resume {self.store.folder}")

    def _report(self) -> None:
        report = write_report(self.store.folder)
        for line in summary_lines(read_run(self.store.folder)):
            self.display.note(line)
        self.display.note(f"report: {report.resolve()}")


def networks_of(testbed: Testbed) -> planning.Networks:
    """Return the network options of a testbed with their 802.1Q tags."""
    return planning.Networks.of(testbed.data["networks"])


def _wanted_awake(testbed: Testbed, profile: Profile) -> tuple[KeepAwake, list[int]]:
    """What is to keep which CPUs from halting: those of tester and DUT; nothing where no frame is sent."""
    if testbed.tester.driver == SIMULATED:
        return KeepAwake.NONE, []
    return profile.keep_awake, [*testbed.tester.cpus, *testbed.dut.cpus, *testbed.pods.cpus]


def open_session(settings: Settings, selected: Collection[str], clock: Clock | None = None) -> Session:
    """Check the settings, make the run folder, build the bed. Nothing stays behind when a step fails.

    With `settings.continue_run` that run goes on, with its own testbed and profile. Raises what
    `continuation` and `reserve` raise before anything is touched.
    """
    continued = None
    if settings.continue_run is not None:
        continued = continuation(find_run(settings.continue_run, settings.results), selected)
        testbed, profile = continued.testbed, continued.profile
    else:
        testbed = load_testbed(settings.testbed)
        profile = load_profile(settings.profile, paths=registry.paths())
    tester_of(testbed, settings.results, profile.policy.drain_s)  # what it lacks, before all else
    require_networks(testbed)
    plan = planning.cells(profile, networks_of(testbed), test_ids=selected)
    seed = settings.order_seed if settings.order_seed is not None else secrets.randbelow(2**32)
    if continued:
        recorded = [(one.metric, one.cell.cell_id) for one in continued.run.plan]
        plan = turns.in_recorded_order(plan, recorded)
    else:
        plan = turns.interleaved(plan, seed)
    with ExitStack() as stack:
        display = open_display(settings.console, verbose=settings.verbose)
        stack.callback(display.close)
        stack.enter_context(reserve(testbed, spare=continued.run.folder if continued else None))
        if continued:
            clear_away(continued.run.folder)  # its pods would stand in the platform's record
        held = stack.enter_context(awake.kept_awake(*_wanted_awake(testbed, profile)))
        platform = machine_record(settings.overlay, continued.run.platform_before if continued else None)
        if continued:
            check_platform(continued.run, platform)
            store = stack.enter_context(RunStore.resume(continued.run.folder))
        else:
            header = run_header(testbed, profile, plan, selected, seed)
            store = stack.enter_context(RunStore.create(settings.results, settings.run_id, header))
            record_guest(store)
        display.estimate.planned_s = planning.traffic_s(plan)
        display.note(
            f"run {store.run_id}: testbed {testbed.name}, profile {profile.name}, {len(plan)} cells, "
            f"about {clock_text(display.estimate.planned_s)} of traffic; results in {store.folder}"
        )
        if held.reason:
            display.note(f"awake: {keep_awake.sentence(held.as_json())}")
        if continued:
            display.note(continued.text)
        if continued is None or continued.run.platform_before is None:
            store.set_platform(before=platform)
        ledger = Ledger(store.folder / "ledger.jsonl")
        owner = f"{store.run_id}-{secrets.token_hex(4)}"
        stack.callback(ledger.undo, ledger.before("owner", owner=owner))
        stack.enter_context(process.owned(owner))
        watch = None
        if testbed.tester.driver != SIMULATED:
            signed = testbed.tester.driver == "embedded"
            watch = stack.enter_context(LeakWatch(testbed.lab_ports, signed=signed))
        largest = max((planned.cell.frame_octets for planned in plan), default=0)
        folder = store.folder.resolve()
        bed = stack.enter_context(open_bed(testbed, ledger, folder, owner, frame_octets=largest))
        return Session(
            testbed=testbed,
            profile=profile,
            plan=plan,
            selected=selected,
            store=store,
            bed=bed,
            display=display,
            platform=PlatformGuard(
                testbed,
                store.platform,
                display.note,
                platform,
                continued.run.platform if continued else None,
            ),
            continued=continued,
            watch=watch,
            clock=clock or HostClock(),
            stack=stack.pop_all(),
        )

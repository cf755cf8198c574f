"""One run from opening to closing, whatever it measures: files, reservation, ledger and display.

Each kind of load has a share in it (`rooms`). Everything is closed in reverse order.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.hosts import open_hosts
from bmwg.drivers.testbed.hosts import of_tester
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.undo.locks import reserve_claims
from bmwg.drivers.watch import awake
from bmwg.methodology.errors import TestbedError, ToolkitError
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.bundle.archive import CHALLENGE_PART
from bmwg.reports.render.page.report import report_of
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.store import Run, RunStore
from bmwg.reports.store.files import write_atomically
from bmwg.resources import rooms
from bmwg.resources.fleet import bound as fleets
from bmwg.resources.fleet import leases
from bmwg.resources.rooms import Bench, Room, Share
from bmwg.resources.run import challenged
from bmwg.resources.run.clock import Clock, HostClock
from bmwg.resources.run.continuation import begun, check_platform, clear_away, find_run, standing_text
from bmwg.resources.run.guest_record import record_guest
from bmwg.resources.run.header import together
from bmwg.resources.run.machines import Machines
from bmwg.resources.run.metering import idle, meter_of
from bmwg.resources.run.outcomes import one_line
from bmwg.resources.run.platform import machine_record
from bmwg.resources.run.progress import LineDisplay, open_display
from bmwg.resources.run.settings import Settings


@dataclass(slots=True, kw_only=True)
class OpenRun:
    """What the kinds of load of a run share. `continued` is the run as it stood, where it goes on.

    `machine` is the record of the machine under test at the beginning, `machines` are all that take part.
    `benches` measure, by kind of load. `stopped` is why no further trial may run; None
    while the run goes on. `left_out` has the suite of each test that the profile does not plan.
    """

    settings: Settings
    store: RunStore
    ledger: Ledger
    owner: str
    display: LineDisplay
    machine: Mapping[str, JsonValue]
    machines: Machines = field(default_factory=Machines)
    continued: Run | None = None
    clock: Clock = field(default_factory=HostClock)
    benches: dict[str, tuple[Room, Bench]] = field(default_factory=dict)
    stopped: BaseException | None = None
    failures: list[Exception] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    stack: ExitStack = field(default_factory=ExitStack)

    @property
    def run_id(self) -> str:
        """The run's id, which is the name of its folder."""
        return self.store.run_id

    def bench(self, test_id: str) -> Bench:
        """Return what measures a test: the first bench where none knows it."""
        able = (bench for room, bench in self.benches.values() if room.tests({test_id}))
        return next(able, next(iter(self.benches.values()))[1])

    def begin_suite(self, suite: str, tests: Collection[str]) -> None:
        """Have the doctor look before a suite of these tests, once."""
        with self.held():
            self.bench(min(tests, default="")).begin_suite(suite)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Use the machines. An error of a run that has lost one is that loss, which ends the run.

        Raises at once what has stopped the run before.
        """
        if self.stopped is not None:
            raise self.stopped
        try:
            yield
        except ToolkitError as error:
            if self.stopped is None:
                self.machines.ask_all()
                try:
                    self.machines.require_held()
                except TestbedError as lost:
                    self.stopped = lost
                    self.display.note(f"stopped: {one_line(lost)}")
                    raise lost from error
            raise

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test, with nothing of other kinds of load at work."""
        mine = self.bench(test_id)
        for _, other in self.benches.values():
            if other is not mine:
                other.rest()
        return mine.outcomes(test_id)

    def attempt(self, step: Callable[[], object]) -> None:
        """Do a step of closing; one that fails is told, and is in what `close` raises."""
        try:
            step()
        except Exception as error:
            self.failures.append(error)
            self.display.note(f"while closing: {error}")

    def close(self) -> None:
        """Remove what was made, take the closing record, write the report and say where it is."""
        for _, bench in self.benches.values():
            self.attempt(bench.rest)
        for step in (self._take_closing_record, self._end, self.stack.close, self._report):
            self.attempt(step)
        if self.failures:
            raise ExceptionGroup("not everything could be closed; finished trials are kept", self.failures)

    def _take_closing_record(self) -> None:
        self.store.set_platform(after=machine_record(None, self.machine, self.machines.look))

    def _end(self) -> None:
        """Write how the run ended: complete only with an answer for each cell that it planned."""
        left, planned = self.store.unanswered()
        if not left:
            self.store.close(None, "complete")
            return
        reason = "ended from outside"
        if self.stopped is not None:
            reason = f"{type(self.stopped).__name__}: {one_line(self.stopped)}".rstrip(": ")
        self.store.close(None, "interrupted", reason=f"{reason}; {left} of {planned} cells are left")
        self.display.note(f"interrupted; it goes on with: bmwg resume {self.store.folder}")

    def _report(self) -> None:
        report, told = report_of(self.store.folder)
        for line in summary_lines(told):
            self.display.note(line)
        if self.left_out and self.stopped is None:
            suites = ", ".join(dict.fromkeys(self.left_out))
            count = f"{len(self.left_out)} test{'s' if len(self.left_out) != 1 else ''}"
            self.display.note(
                f"profile {self.settings.profile} leaves out {count} of {suites}; `bmwg plan` lists them"
            )
        self.display.note(f"report: {report.resolve()}")


def open_run(
    settings: Settings,
    selected: Collection[str],
    clock: Clock | None = None,
    only: Sequence[Room] | None = None,
) -> OpenRun:
    """Check the settings, make the run folder, make a bench for each kind of load that the tests measure.

    With `settings.continue_run` that run goes on, with its own testbed and profiles. `only` are the rooms to
    use, whatever is selected. Nothing stays behind when a step fails. Raises what `begun`, the shares and
    `reserve_claims` raise before anything is touched.
    """
    continued = None
    if settings.continue_run is not None:
        continued = begun(find_run(settings.continue_run, settings.results), selected)
    taken = challenged.taken(settings) if continued is None else None
    mark = fleets.taken(settings) if continued is None else None
    if taken is not None:
        settings = replace(settings, order_seed=taken.told["order_seed"])
    settings = replace(settings, order_seed=settings.seed())  # one for all kinds of load
    asked = {room.kind: (room, selected) for room in only} if only else rooms.asked(selected)
    shares = {
        kind: room.share(settings, tests, continued.of_load(kind) if continued else None)
        for kind, (room, tests) in asked.items()
    }
    rooms.refuse_apart(shares)
    each = tuple(shares.values())
    with ExitStack() as stack:
        display = open_display(settings.console, verbose=settings.verbose)
        stack.callback(display.close)
        claims = tuple(dict.fromkeys(claim for share in each for claim in share.claims))
        stack.enter_context(reserve_claims(claims, spare=continued.folder if continued else None))
        if continued:
            clear_away(continued.folder)  # its pods would stand in the platform's record
        # before the first record, and by the order of `stack` until after the closing one
        held = stack.enter_context(awake.kept_awake(*_wanted_awake(each)))
        machines = _reached(stack, each)
        before = continued.platform_before if continued else None
        machine = machine_record(settings.overlay, before, machines.look)
        if continued:
            check_platform(continued, machine)
            store = stack.enter_context(RunStore.resume(continued.folder))
        else:
            header = together({kind: share.header for kind, share in shares.items()})
            if taken is not None:
                header = challenged.bound(header, taken)
            if mark is not None:
                header = fleets.bound(header, mark)
            store = stack.enter_context(RunStore.create(settings.results, settings.run_id, header))
            record_guest(store)
            if taken is not None:
                write_atomically(store.folder / CHALLENGE_PART, taken.octets)
        store.fence = partial(_require_ours, machines)
        words = "; ".join(share.words for share in each)
        display.note(f"run {store.run_id}: {words}; results in {store.folder}")
        for warning in rooms.warnings():
            display.note(warning)
        if note := machines.awake_note(held):
            display.note(f"awake: {note}")
        if continued:
            display.note(standing_text(continued))
        if before is None:
            store.set_platform(before=machine)
        testbed = continued.testbed if continued else header.testbed
        simulated = continued.simulated if continued else header.simulated
        machines.meter = None if simulated else meter_of(testbed, machines.call_under_test)
        if machines.meter is not None:
            display.note("power: the idle machine is measured first")
            store.add_driver(idle(testbed, machines.meter, clock or HostClock()))
        ledger = Ledger(store.folder / "ledger.jsonl")
        owner = f"{store.run_id}-{secrets.token_hex(4)}"
        stack.callback(ledger.undo, ledger.before("owner", owner=owner))
        stack.enter_context(process.owned(owner))
        run = OpenRun(
            settings=settings,
            store=store,
            ledger=ledger,
            owner=owner,
            display=display,
            machine=machine,
            machines=machines,
            continued=continued,
            clock=clock or HostClock(),
            stack=stack,
        )
        for kind, (room, _) in asked.items():
            run.benches[kind] = (room, shares[kind].begin(run))
        run.stack = stack.pop_all()
        return run


def _require_ours(machines: Machines) -> None:
    """Raise where nothing may be recorded any more: the lease or a host is another's, or lost."""
    leases.require()
    machines.require_held()


def _reached(stack: ExitStack, shares: Sequence[Share]) -> Machines:
    """Reach the hosts that the shares measure on, which are the same for all of them; keep them awake."""
    first = next((share for share in shares if share.hosts), shares[0])
    machines = Machines(
        stack.enter_context(open_hosts(first.hosts)),
        first.hosts,
        under_test=first.under_test,
        tests_from_here=not (first.elsewhere or of_tester(first.hosts)),
    )
    machines.keep_awake(_wanted_awake(shares)[0])
    return machines


def _wanted_awake(shares: Sequence[Share]) -> tuple[KeepAwake, list[int]]:
    """What is to keep which CPUs from halting: as the first share asks that asks for anything."""
    wanted = [share.awake for share in shares if share.awake[0] is not KeepAwake.NONE]
    if not wanted:
        return shares[0].awake[0], list(shares[0].awake[1])
    return wanted[0][0], list(dict.fromkeys(cpu for _, cpus in wanted for cpu in cpus))

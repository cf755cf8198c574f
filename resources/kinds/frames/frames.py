"""Frames as a share of a run: their testbed, profile and tester, and the bench that measures them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from bmwg.drivers.paths.bed import open_bed
from bmwg.drivers.ports import pci_port
from bmwg.drivers.testbed.file import SIMULATED, TESTER, Testbed, load_testbed
from bmwg.drivers.testbed.hosts import HostSpec, hosts_of, under_test
from bmwg.drivers.testbed.medium import with_medium
from bmwg.drivers.undo.locks import claims
from bmwg.methodology import suites
from bmwg.methodology.cells import axes
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.factors.design import design_of, in_design
from bmwg.methodology.plan import budget, planning, turns
from bmwg.methodology.plan.planned_work import answers_needed, work_of
from bmwg.methodology.plan.shards import Work
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import FRAMES as KIND
from bmwg.methodology.records import VM, Cell
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.render.text import number_of
from bmwg.reports.store import Run, RunHeader
from bmwg.resources.kinds.frames.bench import Bench
from bmwg.resources.kinds.frames.frames_continued import going_on
from bmwg.resources.kinds.frames.session import Session, networks_of
from bmwg.resources.rooms import PlanAsked, Room, Share
from bmwg.resources.run import remote_tester
from bmwg.resources.run.early import require_drivers, require_levels
from bmwg.resources.run.header import run_header
from bmwg.resources.run.narrowing import profile_for
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.plan_hours import where_it_goes
from bmwg.resources.run.progress import clock_text
from bmwg.resources.run.schedule import Schedule, ScheduledCell
from bmwg.resources.run.settings import Settings
from bmwg.resources.run.tester import tester_kind, tester_of


class FramesShare:
    """What tests of network devices ask of a run. With a run that goes on, its own testbed and profile."""

    elsewhere = ""

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        self._selected = selected
        self._continued = None
        if continued is not None:
            self._continued = going_on(continued)
            self.testbed, self.profile = self._continued.testbed, self._continued.profile
        else:
            self.testbed = load_testbed(settings.testbed)
            if not self._simulated:
                self.testbed = with_medium(self.testbed)
            self.profile = profile_for(settings.profile, self.testbed, settings.narrowing)
        # what the tester lacks, before all else; one on another host says it once that is reached
        if self.testbed.tester.host is None:
            tester_of(self.testbed, settings.results, self.profile.policy.drain_s)
        else:
            tester_kind(self.testbed)
        require_drivers(self.testbed)
        plan = planning.cells(self.profile, networks_of(self.testbed), test_ids=selected)
        if continued is None:  # what was begun may go on, whatever levels it has
            require_levels(self.testbed, _tried(plan), settings.profile)
        self._seed = settings.seed()
        if continued is not None:
            recorded = [(cell.metric, cell.cell.cell_id) for cell in continued.plan]
            self._plan = turns.in_recorded_order(plan, recorded)
        else:
            self._plan = turns.interleaved(plan, self._seed)
        self._beside = answers_needed(self.profile, plan)

    @property
    def _simulated(self) -> bool:
        return self.testbed.tester.driver == SIMULATED

    @property
    def header(self) -> RunHeader:
        """The header of a run of frames alone."""
        return run_header(self.testbed, self.profile, self._plan, self._selected, self._seed)

    @property
    def traffic_s(self) -> float:
        """Estimated seconds of traffic."""
        return planning.traffic_s((*self._plan, *self._beside))

    @property
    def work(self) -> Work:
        """Traffic and waits of each test, with the throughput and the qualification that it needs."""
        return work_of(self.profile, networks_of(self.testbed), self._selected)

    @property
    def words(self) -> str:
        """Testbed, profile, cells and traffic."""
        whole_s = _whole_s(self.testbed, self._plan, self._beside)
        return (
            f"testbed {self.testbed.name}, profile {self.profile.name}, {len(self._plan)} cells, about "
            f"{clock_text(self.traffic_s)} of traffic, {clock_text(whole_s)} with waits and deployments"
        )

    @property
    def claims(self) -> tuple[str, ...]:
        """CPUs and lab ports of the testbed."""
        return claims(self.testbed)

    @property
    def awake(self) -> tuple[KeepAwake, list[int]]:
        """The CPUs of tester and DUT on this machine; nothing where no frame is sent."""
        if self._simulated:
            return KeepAwake.NONE, []
        bed = self.testbed
        return self.profile.keep_awake, [*bed.tester_cpus_here, *bed.dut_cpus_here]

    @property
    def hosts(self) -> tuple[HostSpec, ...]:
        """Those of the testbed."""
        return () if self._simulated else hosts_of(self.testbed)

    @property
    def under_test(self) -> str:
        """The host that the tester is cabled to."""
        return under_test(self.testbed)

    def begin(self, run: OpenRun) -> Bench:
        """Build the bed and watch for frames that leave it."""
        watch = None
        if self.testbed.tester.host is not None:
            remote_tester.require_able(self.testbed, run.machines.hosts[TESTER], self.profile.policy.drain_s)
        if not self._simulated:
            signed = self.testbed.tester.driver == "embedded"
            lent = pci_port.names_of_all(self.testbed.lab_ports_here)
            watch = run.stack.enter_context(run.machines.leak_watch(lent, signed=signed))
        largest = max((planned.cell.frame_octets for planned in self._plan), default=0)
        networks = max((planned.cell.destination_networks for planned in self._plan), default=1)
        folder = run.store.folder.resolve()
        bed = run.stack.enter_context(
            open_bed(
                self.testbed,
                run.ledger,
                folder,
                run.owner,
                frame_octets=largest,
                destination_networks=networks,
                machines=any(planned.cell.hosting == VM for planned in self._plan),
                hosts=run.machines.by_node,
            )
        )
        stands = (
            {(outcome.metric, outcome.cell.cell_id) for outcome in run.continued.outcomes}
            if run.continued
            else ()
        )
        run.display.estimate.expect(
            {
                answer.key: answer.traffic_s
                for answer in (*self._plan, *self._beside)
                if answer.key not in stands
            }
        )
        return Bench(
            Session(
                run=run,
                testbed=self.testbed,
                profile=self.profile,
                plan=self._plan,
                selected=self._selected,
                bed=bed,
                platform=run.machines.guard(
                    run.store, run.display.note, run.machine, run.continued, testbed=self.testbed
                ),
                continued=self._continued,
                watch=watch,
            )
        )


class _Frames:
    """The kind as runs know it."""

    kind = KIND

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return those that are a case of `suites`."""
        return frozenset(test_id for test_id in selected if suites.case(test_id) is not None)

    def schedule(self, wanted: PlanAsked, tests: Collection[str]) -> Schedule:
        """Return each cell with its estimated traffic, the totals and the finish time."""
        testbed = load_testbed(wanted.testbed)
        profile = profile_for(wanted.profile, testbed, wanted.narrowing)
        tester_kind(testbed)
        require_drivers(testbed)
        networks = networks_of(testbed)
        plan = turns.interleaved(planning.cells(profile, networks, test_ids=tests), wanted.seed)
        require_levels(testbed, _tried(plan), wanted.profile)
        beside = answers_needed(profile, plan)
        traffic_s, set_up = planning.traffic_s((*plan, *beside)), planning.deployments(plan)
        whole_s = _whole_s(testbed, plan, beside)
        also = f" and {number_of(len(beside), 'answer')} that they need beside" if beside else ""
        finish = datetime.now().astimezone() + timedelta(seconds=whole_s)
        notes = [
            *_design(plan),
            f"{len(plan)} cells in {set_up} deployments{also}, about {clock_text(traffic_s)} of traffic and "
            f"{clock_text(whole_s)} with waits and deployments; started now it would end about "
            f"{finish:%Y-%m-%d %H:%M %Z}."
            " What the machine lacks takes no time.",
            *where_it_goes(plan),
            f"{planning.order_seed_text(wanted.seed)}: a run draws its own unless BMWG_ORDER_SEED is set",
            *_declared(profile),
        ]
        if wanted.budget_s is not None:
            notes += _proposal(profile, networks, tests, wanted.budget_s)
        return Schedule(
            kind=KIND,
            profile=profile.name,
            cells=tuple(map(_scheduled, plan)),
            whole_s=whole_s,
            left_out=tuple(sorted(set(tests) - {planned.test_id for planned in plan})),
            notes=tuple(notes),
        )

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return the frames' share."""
        return FramesShare(settings, selected, continued)


def _whole_s(
    testbed: Testbed, plan: Sequence[planning.PlannedAnswer], beside: Sequence[planning.PlannedAnswer]
) -> float:
    """Return the estimated seconds of a run, with what is set up where anything is."""
    sent_s = planning.duration_s((*plan, *beside))
    if testbed.tester.driver == SIMULATED:
        return sent_s
    return sent_s + planning.ENDS_S + planning.deployments(plan) * planning.DEPLOYMENT_S


def _declared(profile: Profile) -> list[str]:
    """Name the deviations of a profile in one line: the report says what each is."""
    ids = [deviation.requirement for deviation in profile.deviations]
    return (
        [f"declared deviations ({len(ids)}; the report says what each is): {', '.join(ids)}"] if ids else []
    )


def _scheduled(planned: planning.PlannedAnswer) -> ScheduledCell:
    words = "with the one above" if planned.part else clock_text(planned.traffic_s)
    return ScheduledCell(
        test_id=planned.test_id,
        metric=planned.metric,
        cell_id=planned.cell.cell_id,
        words=planned.missing or words,
        estimate_s=planned.traffic_s,
        missing=planned.missing,
    )


def _tried(plan: Sequence[planning.PlannedAnswer]) -> list[Cell]:
    """Return the cells that are deployed if the machine has what they need."""
    return [planned.cell for planned in plan if not planned.missing]


def _design(plan: Sequence[planning.PlannedAnswer]) -> list[str]:
    """Say which factors a design varies, in which combinations, how long that takes, what it cannot tell."""
    mine = [planned for planned in plan if in_design(planned.cell)]
    design = design_of(planned.cell for planned in mine)
    if design is None:
        return []
    runs = len({axes.replicate(planned.cell.axes) for planned in mine})
    lines = ["design: all combinations take turns at random in each replicate"]
    lines += [f"  factor {factor.name}: {'; '.join(factor.levels)}" for factor in design.factors]
    lines.append(
        f"  {len(design.combinations)} of {design.possible} combinations, {runs} replicates,"
        f" about {clock_text(planning.duration_s(mine))} with waits"
    )
    lines += [f"  not planned: {design.words(one)}" for one in design.missing()]
    every = [*design.main, *design.pairs]
    for term in every:
        if not design.separable(term, every):
            partners = " or ".join(design.name(one) for one in design.confounded_with(term, every))
            lines.append(
                f"  cannot tell apart: {design.name(term)} and {partners or 'several others together'}"
            )
    return lines


def _proposal(
    profile: Profile, networks: planning.Networks, tests: Collection[str], budget_s: float
) -> list[str]:
    """Say what to cut, cheapest in conformance first."""
    if not budget_s > 0:
        raise ConfigError("PLAN-01", "--budget", expected="seconds, above 0", found=str(budget_s))
    proposal = budget.propose(profile, networks, budget_s, test_ids=tests)
    if not proposal.cuts:
        return [f"fits {clock_text(budget_s)}: nothing to cut" if proposal.fits else "nothing can be cut"]
    lines = [f"to fit {clock_text(budget_s)} (planned: {clock_text(proposal.before_s)}):"]
    for cut in proposal.cuts:
        clause = f" [{cut.requirement}]" if cut.requirement else ""
        lines.append(f"cut {cut.what}{clause}: saves {clock_text(cut.saves_s)}; {cut.cost}")
    verdict = "fits" if proposal.fits else "does not fit; take paths or networks out of the profile"
    return [*lines, f"then {clock_text(proposal.after_s)}: {verdict}"]


FRAMES: Room = _Frames()

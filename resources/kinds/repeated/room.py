"""A kind whose cells are answered by repetitions as a share of a run: testbed, profile and plan."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable
from pathlib import Path
from typing import ClassVar, Generic

import yaml

from bmwg.drivers.testbed.file import SIMULATED, Testbed, load_testbed, parse_testbed
from bmwg.drivers.testbed.hosts import HostSpec, hosts_of, under_test
from bmwg.drivers.testbed.medium import medium_of
from bmwg.drivers.undo.locks import claims
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.narrowed import narrowed
from bmwg.methodology.kinds.repeated.profile import Planned, Profile, SpecT
from bmwg.methodology.plan.shards import Pieces, Work
from bmwg.methodology.profiles.narrowed import Narrowing
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.resources.kinds.repeated.bench import RepeatedBench
from bmwg.resources.rooms import PlanAsked, Share
from bmwg.resources.run.early import require_drivers
from bmwg.resources.run.header import header_of
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.progress import clock_text
from bmwg.resources.run.schedule import Schedule, ScheduledCell
from bmwg.resources.run.settings import Settings


class NotSimulated:
    """Why a kind cannot be measured on simulated nodes, and the id of the error that says it."""

    def __init__(self, error_id: str, why: str) -> None:
        self.error_id = error_id
        self.why = why


def profile_of(
    kind: RepeatedKind[SpecT, ResultT], name: str, testbed: Testbed, wanted: Narrowing
) -> Profile[SpecT]:
    """Return a kind's profile by name, narrowed to what is asked for; raises what either does."""
    profile = kind.profiles.load(name)
    return kind.profiles.of(narrowed(profile.data, wanted, testbed.data["networks"]))


class RepeatedShare(ABC, Generic[SpecT, ResultT]):
    """What tests of the kind ask of a run. With a run that goes on, testbed and profile of its header.

    Raises ConfigError of the kind's profiles, and what reading a testbed file and `refuse` raise.
    """

    elsewhere = ""
    kind: RepeatedKind[SpecT, ResultT]
    bench: Callable[..., RepeatedBench[SpecT, ResultT]]
    simulated: ClassVar[NotSimulated]
    about: ClassVar[str]  # what is measured, as the run's first line says it

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        self._continued = continued
        if continued is None:
            self.testbed = load_testbed(settings.testbed)
            self.profile = profile_of(self.kind, settings.profile, self.testbed, settings.narrowing)
            self.plan = [one for one in self.profile.plan() if one.test_id in selected]
        else:
            text = yaml.safe_dump(dict(continued.testbed), sort_keys=False, allow_unicode=True)
            self.testbed = parse_testbed(text, Path(continued.testbed_source or "run.json"))
            self.profile = self.kind.profiles.of_header(continued.profile)
            planned_before = {cell.cell.cell_id for cell in continued.plan}
            self.plan = [planned for planned in self.profile.plan() if planned.cell.cell_id in planned_before]
        self.refuse()

    def refuse(self) -> None:
        """Raise ConfigError for a testbed whose nodes are not real, and what `require_drivers` raises."""
        if self.testbed.tester.driver == SIMULATED:
            raise ConfigError(
                self.simulated.error_id,
                f"{self.testbed.file}: tester.driver; nothing was started",
                expected=f"a testbed whose nodes are real: {self.simulated.why}",
                found=SIMULATED,
            )
        require_drivers(self.testbed)

    @abstractmethod
    def load_s(self, planned: Planned[SpecT]) -> float:
        """Return the seconds of load of one execution; 0 where they are what is measured."""

    @property
    def header(self) -> RunHeader:
        """The header of a run of this kind alone."""
        medium = medium_of(self.testbed)
        return header_of(
            testbed=self.testbed.data,
            testbed_source=self.testbed.file,
            profile=self.profile.data,
            medium_kind=medium.kind,
            line_rate_bps=medium.line_rate_bps,
            plan=tuple(
                PlannedCell(test_id=planned.test_id, metric=planned.metric, cell=planned.cell)
                for planned in self.plan
            ),
            families=self.kind.families,
        )

    @property
    def traffic_s(self) -> float:
        """Estimated seconds of load."""
        return sum(self.load_s(planned) * planned.asked.wanted for planned in self.plan)

    @property
    def work(self) -> Work:
        """The load of each test."""
        tests: dict[str, dict[Hashable, float]] = {}
        for planned in self.plan:
            tests.setdefault(planned.test_id, {})[planned.cell.cell_id] = (
                self.load_s(planned) * planned.asked.wanted
            )
        return Work(tests={name: Pieces(own=own) for name, own in tests.items()})

    @property
    def words(self) -> str:
        """Testbed, profile, cells and load."""
        load = f", about {clock_text(self.traffic_s)} of load" if self.traffic_s else ""
        return (
            f"{self.about} of testbed {self.testbed.name}, profile {self.profile.name}, "
            f"{len(self.plan)} cells{load}"
        )

    @property
    def claims(self) -> tuple[str, ...]:
        """CPUs and lab ports of the testbed."""
        return claims(self.testbed)

    @property
    def awake(self) -> tuple[KeepAwake, list[int]]:
        """The CPUs of tester, device and pods."""
        bed = self.testbed
        return self.profile.keep_awake, [*bed.tester_cpus_here, *bed.dut_cpus_here]

    @property
    def hosts(self) -> tuple[HostSpec, ...]:
        """Those of the testbed."""
        return hosts_of(self.testbed)

    @property
    def under_test(self) -> str:
        """The host that the tester is cabled to."""
        return under_test(self.testbed)

    def begin(self, run: OpenRun) -> RepeatedBench[SpecT, ResultT]:
        """Make the bench; nodes are made when the first cell needs them."""
        return self.bench(run, testbed=self.testbed, plan=self.plan)


class RepeatedRoom(ABC, Generic[SpecT, ResultT]):
    """The kind as runs know it."""

    of: RepeatedKind[SpecT, ResultT]
    opened: Callable[[Settings, Collection[str], Run | None], Share]
    test_ids: ClassVar[tuple[str, ...]]  # how the ids of its tests begin

    @property
    def kind(self) -> str:
        """The kind's name."""
        return self.of.name

    @abstractmethod
    def load(self, planned: Planned[SpecT]) -> str:
        """Say in some words what one cell asks for."""

    def estimate_s(self, planned: Planned[SpecT]) -> float | None:
        """Return the seconds of load of one cell, None where they are what is measured."""
        return None

    @abstractmethod
    def whole(self, planned: Collection[Planned[SpecT]]) -> str:
        """Say the same of all of them."""

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return those with ids of the kind's suites."""
        return frozenset(test_id for test_id in selected if test_id.startswith(self.test_ids))

    def planned(self, wanted: PlanAsked) -> Collection[Planned[SpecT]]:
        """Return all that the profile plans; refuses what a run would refuse of the testbed file."""
        testbed = load_testbed(wanted.testbed)
        require_drivers(testbed)
        return profile_of(self.of, wanted.profile, testbed, wanted.narrowing).plan()

    def schedule(self, wanted: PlanAsked, tests: Collection[str]) -> Schedule:
        """Return each cell with its executions, and what all of them take."""
        mine = [one for one in self.planned(wanted) if one.test_id in tests]
        known = [self.estimate_s(one) for one in mine]
        cells = (
            ScheduledCell(
                test_id=one.test_id,
                metric=one.metric,
                cell_id=one.cell.cell_id,
                words=self.load(one),
                estimate_s=estimate_s,
            )
            for one, estimate_s in zip(mine, known, strict=True)
        )
        return Schedule(
            kind=self.kind,
            profile=wanted.profile,
            cells=tuple(cells),
            whole_s=None if None in known else sum(one for one in known if one is not None),
            left_out=tuple(sorted(set(tests) - {planned.test_id for planned in mine})),
            notes=(self.whole(mine),),
        )

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return the share of the kind."""
        return self.opened(settings, selected, continued)

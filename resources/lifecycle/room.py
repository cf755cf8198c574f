"""Acts as a share of a run: testbed, profile and plan, and the bench that measures them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from pathlib import Path

import yaml

from bmwg.drivers.api import JsonValue
from bmwg.drivers.locks import claims
from bmwg.drivers.medium import medium_of
from bmwg.drivers.paths.simulated import SIMULATED
from bmwg.drivers.testbed import load_testbed, parse_testbed
from bmwg.methodology import keep_awake
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.keep_awake import Held, KeepAwake
from bmwg.methodology.kinds.acts import profile as profiles
from bmwg.methodology.kinds.acts.kind import FAMILIES
from bmwg.methodology.kinds.acts.records import KIND
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.resources.header import header_of
from bmwg.resources.lifecycle.bench import ActsBench
from bmwg.resources.open_run import OpenRun
from bmwg.resources.rooms import PlanAsked, Room, Share
from bmwg.resources.settings import Settings


class ActsShare:
    """What lifecycle tests ask of a run. With a run that goes on, testbed and profile of its header.

    Raises ConfigError APROF-01, APROF-02, ACTS-01, and what reading a testbed file raises.
    """

    elsewhere = ""

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        self._continued = continued
        if continued is None:
            self.testbed = load_testbed(settings.testbed)
            self.profile = profiles.load(settings.profile)
            self.plan = [one for one in self.profile.plan() if one.test_id in selected]
        else:
            text = yaml.safe_dump(dict(continued.testbed), sort_keys=False, allow_unicode=True)
            self.testbed = parse_testbed(text, Path(continued.testbed_source or "run.json"))
            if found := profiles.wrong(continued.profile):
                raise ConfigError("APROF-02", "run.json: profile", expected="one of its schema", found=found)
            self.profile = profiles.ActsProfile(name=continued.profile["name"], data=continued.profile)
            planned_before = {one.cell.cell_id for one in continued.plan}
            self.plan = [one for one in self.profile.plan() if one.cell.cell_id in planned_before]
        if self.testbed.tester.driver == SIMULATED:
            raise ConfigError(
                "ACTS-01",
                f"{self.testbed.file}: tester.driver; nothing was started",
                expected="a testbed whose nodes are real: pods or servers are made and removed on them",
                found=SIMULATED,
            )

    @property
    def header(self) -> RunHeader:
        """The header of a run of acts alone."""
        medium = medium_of(self.testbed)
        return header_of(
            testbed=self.testbed.data,
            testbed_source=self.testbed.file,
            profile=self.profile.data,
            medium_kind=medium.kind,
            line_rate_bps=medium.line_rate_bps,
            plan=tuple(
                PlannedCell(test_id=one.test_id, metric=one.metric, cell=one.cell) for one in self.plan
            ),
            families=FAMILIES,
        )

    @property
    def traffic_s(self) -> float:
        """Estimated seconds: none, for how long a pod takes is what is measured."""
        return 0.0

    @property
    def words(self) -> str:
        """Testbed, profile and cells."""
        return (
            f"the life of pods or servers of testbed {self.testbed.name}, profile {self.profile.name}, "
            f"{len(self.plan)} cells"
        )

    @property
    def claims(self) -> tuple[str, ...]:
        """CPUs and lab ports of the testbed."""
        return claims(self.testbed)

    @property
    def awake(self) -> tuple[KeepAwake, list[int]]:
        """The CPUs of tester, device and pods."""
        bed = self.testbed
        return self.profile.keep_awake, [*bed.tester.cpus, *bed.dut.cpus, *bed.pods.cpus]

    def awake_note(self, held: Held) -> str:
        """What is held in place of what was asked for."""
        return f"awake: {keep_awake.sentence(held.as_json())}" if held.reason else ""

    def prepare(self, stack: ExitStack) -> Callable[[], dict[str, JsonValue]] | None:
        """Nothing: the machine under test is this one."""
        return None

    def begin(self, run: OpenRun) -> ActsBench:
        """Make the bench; nodes are made when the first cell needs them."""
        return ActsBench(run, testbed=self.testbed, plan=self.plan, continued=self._continued)


class _Acts:
    """The kind as runs know it."""

    kind = KIND

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return those with ids of the lifecycle suites."""
        return frozenset(test_id for test_id in selected if test_id.startswith(profiles.TEST_IDS))

    def plan_lines(self, wanted: PlanAsked, tests: Collection[str]) -> list[str]:
        """Return each cell with its executions and the pods of each."""
        mine = [one for one in profiles.load(wanted.profile).plan() if one.test_id in tests]
        lines = []
        for one in mine:
            load = f"{one.asked.wanted} executions of {one.spec.cycles} {one.spec.noun}s"
            lines.append(f"{one.test_id:<14} {one.metric:<40} {one.cell.cell_id:<48} {load}")
        return [*lines, f"{len(mine)} cells of the life of pods or servers."]

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return the share of acts."""
        return ActsShare(settings, selected, continued)


ACTS: Room = _Acts()

"""Streams as a share of a run: testbed, profile and plan, and the bench that measures them."""

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
from bmwg.methodology.kinds.streams import profile as profiles
from bmwg.methodology.kinds.streams.kind import FAMILIES
from bmwg.methodology.kinds.streams.records import KIND
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.resources.header import header_of
from bmwg.resources.open_run import OpenRun
from bmwg.resources.pod_to_pod.bench import StreamsBench
from bmwg.resources.progress import clock_text
from bmwg.resources.rooms import PlanAsked, Room, Share
from bmwg.resources.settings import Settings


class StreamsShare:
    """What transport tests ask of a run. With a run that goes on, testbed and profile of its header.

    Raises ConfigError SPROF-01, SPROF-02, STREAMS-01, and what reading a testbed file raises.
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
                raise ConfigError("SPROF-02", "run.json: profile", expected="one of its schema", found=found)
            self.profile = profiles.StreamsProfile(name=continued.profile["name"], data=continued.profile)
            planned_before = {one.cell.cell_id for one in continued.plan}
            self.plan = [one for one in self.profile.plan() if one.cell.cell_id in planned_before]
        if self.testbed.tester.driver == SIMULATED:
            raise ConfigError(
                "STREAMS-01",
                f"{self.testbed.file}: tester.driver; nothing was started",
                expected="a testbed whose nodes are real: transport tests run programs in its pods",
                found=SIMULATED,
            )

    @property
    def header(self) -> RunHeader:
        """The header of a run of streams alone."""
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
        """Estimated seconds of load."""
        return sum((one.spec.duration_s + one.spec.omit_s) * one.asked.wanted for one in self.plan)

    @property
    def words(self) -> str:
        """Testbed, profile, cells and load."""
        return (
            f"transport tests between pods of testbed {self.testbed.name}, profile {self.profile.name}, "
            f"{len(self.plan)} cells, about {clock_text(self.traffic_s)} of load"
        )

    @property
    def claims(self) -> tuple[str, ...]:
        """CPUs and lab ports of the testbed."""
        return claims(self.testbed)

    @property
    def awake(self) -> tuple[KeepAwake, list[int]]:
        """The CPUs of the pods and of what forwards between them."""
        bed = self.testbed
        return self.profile.keep_awake, [*bed.tester.cpus, *bed.dut.cpus, *bed.pods.cpus]

    def awake_note(self, held: Held) -> str:
        """What is held in place of what was asked for."""
        return f"awake: {keep_awake.sentence(held.as_json())}" if held.reason else ""

    def prepare(self, stack: ExitStack) -> Callable[[], dict[str, JsonValue]] | None:
        """Nothing: the machine under test is this one."""
        return None

    def begin(self, run: OpenRun) -> StreamsBench:
        """Make the bench; nodes are made when the first cell needs them."""
        return StreamsBench(run, testbed=self.testbed, plan=self.plan, continued=self._continued)


class _Streams:
    """The kind as runs know it."""

    kind = KIND

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return those with ids of the suites of transport."""
        return frozenset(test_id for test_id in selected if test_id.startswith(profiles.TEST_IDS))

    def plan_lines(self, wanted: PlanAsked, tests: Collection[str]) -> list[str]:
        """Return each cell with its executions and the seconds that they take."""
        mine = [one for one in profiles.load(wanted.profile).plan() if one.test_id in tests]
        lines = []
        for one in mine:
            each_s = one.spec.duration_s + one.spec.omit_s
            load = f"{one.asked.wanted} executions of {each_s:g} s"
            lines.append(f"{one.test_id:<14} {one.metric:<40} {one.cell.cell_id:<48} {load}")
        whole_s = sum((one.spec.duration_s + one.spec.omit_s) * one.asked.wanted for one in mine)
        return [*lines, f"{len(mine)} cells of transport tests, about {clock_text(whole_s)} of load."]

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return the share of streams."""
        return StreamsShare(settings, selected, continued)


STREAMS: Room = _Streams()

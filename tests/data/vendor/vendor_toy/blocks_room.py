"""Blocks as a share of a run: the profile and its plan, and the bench that measures them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bmwg.drivers import registry
from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.plan.shards import Pieces, Work
from bmwg.methodology.records import Outcome
from bmwg.methodology.trial.keep_awake import KeepAwake
from bmwg.reports.store import PlannedCell, Run, RunHeader
from bmwg.resources.rooms import PlanAsked, Room, Share
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.header import header_of
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.platform import PlatformGuard
from bmwg.resources.run.schedule import Schedule, ScheduledCell
from bmwg.resources.run.settings import Settings
from vendor_toy import blocks


class BlocksBench:
    """The cells of blocks of one run."""

    def __init__(self, run: OpenRun, profile: dict[str, Any], continued: Run | None) -> None:
        self._run = run
        self._plan = blocks.plan_of(profile)
        self._workload = registry.workload(profile["workload"], kind=blocks.KIND)()
        earlier = run.continued.platform if run.continued else None
        self._guard = PlatformGuard(None, run.store.platform, run.display.note, run.machine, earlier)
        self._executions = continued.executions if continued else ()
        self._answers = Answers(run, blocks.KIND, lambda one: f"{one.cell.cell_id}: {self.line(one)}")
        self._deployments = continued.last_deployment if continued else 0

    @property
    def mends(self) -> Mapping[str, str]:
        """Return none: a cell of blocks lacks nothing that can be supplied."""
        return self._answers.mends

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self._guard.begin_suite(suite)

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        told = f"{outcome.values[0].number:.0f} blocks/s" if outcome.values else outcome.reason
        return f"{outcome.type.value}  {told}"

    def rest(self) -> None:
        """Nothing works on."""

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer the test: an outcome for each of its cells, measured now unless it stands already."""
        left = [one for name, one in self._plan.items() if name not in self._answers]
        if left:
            self._deployments += 1
            name = f"blocks-{self._deployments}"
            evidence = {"workload": self._workload.describe()}
            self._run.store.add_deployment(name, evidence)
            begun = any(self._recorded(one) for one in left)
            with self._workload, self._guard.watched(name, evidence, dict, goes_on=begun):
                self._workload.attach(())
                for planned in left:
                    self._keep(planned, name)
                self._workload.detach()
        return [self._answers[name] for name in self._plan]

    def _keep(self, planned: blocks.Planned, deployment: str) -> None:
        done = self._recorded(planned)
        while not planned.asked.ended(done, 0.0):
            spec = replace(planned.spec, number=len(done) + 1)
            body = blocks.body_of(spec, self._workload.run(spec))
            found = blocks.BLOCKS.assess(body)
            seq = self._run.store.append(
                cell_id=planned.cell.cell_id,
                deployment_id=deployment,
                metric=blocks.METRIC,
                test_id=blocks.TEST_ID,
                phase="measured",
                body=body,
                validity=found.validity,
                reason=found.reason,
            )
            done.append(blocks.tried(seq, body))
        (outcome,) = self._guard.judged([blocks.answered(planned, done)])
        self._answers.keep(outcome)

    def _recorded(self, planned: blocks.Planned) -> list[Tried[blocks.BlocksResult]]:
        mine = (one for one in self._executions if one.cell_id == planned.cell.cell_id)
        return [blocks.tried(one.seq, one.body) for one in mine]


class BlocksShare:
    """What blocks ask of a run: no port, no CPU of their own."""

    words = "blocks hashed on this machine"
    claims: tuple[str, ...] = ()
    awake: tuple[KeepAwake, Collection[int]] = (KeepAwake.NONE, ())
    elsewhere = ""
    hosts: tuple[HostSpec, ...] = ()
    under_test = ""
    traffic_s = 0.0
    work = Work(tests={blocks.TEST_ID: Pieces(own={blocks.METRIC: 0.0})})

    def __init__(self, settings: Settings, continued: Run | None) -> None:
        self._continued = continued
        # a file is a profile of frames, beside which blocks go by their own quick one
        name = "quick" if Path(settings.profile).suffix == ".yaml" else settings.profile
        if continued is None and name not in blocks.PROFILES:
            known = " or ".join(blocks.PROFILES)
            raise ConfigError("TOY-01", "profile of blocks", expected=known, found=name)
        self._profile = dict(continued.profile) if continued else blocks.PROFILES[name]

    @property
    def header(self) -> RunHeader:
        """The header of a run of blocks alone."""
        return header_of(
            testbed={"name": "this machine"},
            profile=self._profile,
            medium_kind="none",
            plan=tuple(
                PlannedCell(test_id=blocks.TEST_ID, metric=blocks.METRIC, cell=one.cell)
                for one in blocks.plan_of(self._profile).values()
            ),
            families=(blocks.METRIC,),
        )

    def begin(self, run: OpenRun) -> BlocksBench:
        """Make the bench."""
        return BlocksBench(run, self._profile, self._continued)


class _Blocks:
    """The kind as runs know it."""

    kind = blocks.KIND

    def tests(self, selected: Collection[str]) -> frozenset[str]:
        """Return the one test there is."""
        return frozenset(selected) & {blocks.TEST_ID}

    def schedule(self, wanted: PlanAsked, tests: Collection[str]) -> Schedule:
        """Return each cell; how long it takes is what is measured."""
        cells = (
            ScheduledCell(test_id=blocks.TEST_ID, metric=blocks.METRIC, cell_id=name, words="hashed")
            for name in blocks.plan_of(blocks.PROFILES["quick"])
        )
        return Schedule(kind=self.kind, profile="quick", cells=tuple(cells))

    def share(self, settings: Settings, selected: Collection[str], continued: Run | None) -> Share:
        """Return the share of blocks."""
        return BlocksShare(settings, continued)


BLOCKS: Room = _Blocks()

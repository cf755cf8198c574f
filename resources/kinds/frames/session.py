"""What the parts of the frames' share of a run have in common: testbed, profile, plan, bed and guard."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.watch.isolation import LeakWatch
from bmwg.methodology.plan import planning
from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.methodology.profiles import Profile
from bmwg.reports.store import RunStore
from bmwg.resources.kinds.frames.frames_continued import Continuation
from bmwg.resources.run.clock import Clock
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.platform import PlatformGuard
from bmwg.resources.run.progress import LineDisplay


@dataclass(slots=True, kw_only=True)
class Session:
    """What they share. `selected` are the test ids that the run is to answer, `plan` their cells."""

    run: OpenRun
    testbed: Testbed
    profile: Profile
    plan: Sequence[PlannedAnswer]
    selected: Collection[str]
    bed: Bed
    platform: PlatformGuard
    continued: Continuation | None = None
    watch: LeakWatch | None = None

    @property
    def store(self) -> RunStore:
        """The run's files."""
        return self.run.store

    @property
    def display(self) -> LineDisplay:
        """What a person sees."""
        return self.run.display

    @property
    def clock(self) -> Clock:
        """The clock by which waits are kept."""
        return self.run.clock

    @property
    def networks(self) -> planning.Networks:
        """The network options of the testbed with their 802.1Q tags."""
        return networks_of(self.testbed)


def networks_of(testbed: Testbed) -> planning.Networks:
    """Return the network options of a testbed with their 802.1Q tags."""
    return planning.Networks.of(testbed.data["networks"])

"""Streams as a share of a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bmwg.drivers.testbed.file import load_testbed
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.kind import STREAMS as KIND
from bmwg.methodology.kinds.streams.profile import TEST_IDS
from bmwg.methodology.kinds.streams.records import StreamsResult, StreamsSpec
from bmwg.reports.store import Run, RunHeader
from bmwg.resources.kinds.repeated.room import NotSimulated, RepeatedRoom, RepeatedShare, profile_of
from bmwg.resources.kinds.streams.bench import StreamsBench
from bmwg.resources.rooms import PlanAsked, Room
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.progress import clock_text
from bmwg.resources.run.schedule import Schedule
from bmwg.resources.run.settings import Settings


class StreamsShare(RepeatedShare[StreamsSpec, StreamsResult]):
    """What transport tests ask of a run. Raises ConfigError STREAMS-01 beside what every share raises."""

    kind = KIND
    about = "transport tests between pods"
    simulated = NotSimulated("STREAMS-01", "transport tests run programs in its pods")

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        super().__init__(settings, selected, continued)
        self._seed = settings.seed(continued.order_seed if continued else None)

    def load_s(self, planned: Planned[StreamsSpec]) -> float:
        """Return the seconds of one execution."""
        return seconds(planned)

    @property
    def header(self) -> RunHeader:
        """The header, with the seed by which forms of sweeps take turns where any do."""
        in_turns = any(order.sweep_of(self.profile.data, planned.cell) for planned in self.plan)
        return replace(super().header, order_seed=self._seed) if in_turns else super().header

    def begin(self, run: OpenRun) -> StreamsBench:
        """Make the bench; nodes are made when the first cell needs them."""
        return StreamsBench(
            run,
            testbed=self.testbed,
            plan=self.plan,
            profile=self.profile.data,
            seed=self._seed,
        )


class _Streams(RepeatedRoom[StreamsSpec, StreamsResult]):
    """The kind as runs know it."""

    of = KIND
    opened = StreamsShare
    test_ids = TEST_IDS

    def load(self, planned: Planned[StreamsSpec]) -> str:
        """Say how many executions of what time."""
        return f"{planned.asked.wanted} executions of {seconds(planned):g} s"

    def estimate_s(self, planned: Planned[StreamsSpec]) -> float:
        """Return the seconds of all executions of one cell."""
        return seconds(planned) * planned.asked.wanted

    def schedule(self, wanted: PlanAsked, tests: Collection[str]) -> Schedule:
        """Return the cells, and by which seed forms of sweeps take turns where any do."""
        told = super().schedule(wanted, tests)
        profile = profile_of(KIND, wanted.profile, load_testbed(wanted.testbed), wanted.narrowing)
        cells = [planned.cell for planned in profile.plan() if planned.test_id in tests]
        if seeded := KIND.order_seed_text(profile.data, cells, wanted.seed):
            seeded = f"{seeded}. A run draws its own seed unless BMWG_ORDER_SEED is set."
            told = replace(told, notes=(*told.notes, seeded))
        return told

    def whole(self, planned: Collection[Planned[StreamsSpec]]) -> str:
        """Say how long all of them offer load."""
        whole_s = sum(map(self.estimate_s, planned))
        return f"{len(planned)} cells of transport tests, about {clock_text(whole_s)} of load."


def seconds(planned: Planned[StreamsSpec]) -> float:
    """Return the seconds of one execution, with those that do not count."""
    return planned.spec.duration_s + planned.spec.omit_s


STREAMS: Room = _Streams()

"""Jobs as a share of a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from bmwg.methodology.kinds.jobs.kind import JOBS as KIND
from bmwg.methodology.kinds.jobs.profile import TEST_IDS
from bmwg.methodology.kinds.jobs.records import JobsResult, JobsSpec
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.reports.store import Run, RunHeader
from bmwg.resources.kinds.jobs.bench import JobsBench
from bmwg.resources.kinds.repeated.room import NotSimulated, RepeatedRoom, RepeatedShare
from bmwg.resources.rooms import Room
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.settings import Settings


class JobsShare(RepeatedShare[JobsSpec, JobsResult]):
    """What host tests ask of a run. Raises ConfigError JOBS-01 beside what every share raises."""

    kind = KIND
    about = "programs on a host and in forms on it,"
    simulated = NotSimulated("JOBS-01", "programs run on one of them")

    def __init__(self, settings: Settings, selected: Collection[str], continued: Run | None) -> None:
        super().__init__(settings, selected, continued)
        self._seed = settings.seed(continued.order_seed if continued else None)

    def load_s(self, planned: Planned[JobsSpec]) -> float:
        """Return the seconds of one execution, of those that end by time."""
        return planned.spec.duration_s

    @property
    def header(self) -> RunHeader:
        """The header, with the seed of the order in which forms take their executions."""
        return replace(super().header, order_seed=self._seed)

    def begin(self, run: OpenRun) -> JobsBench:
        """Make the bench; nodes are made when the first cell needs them."""
        return JobsBench(
            run,
            testbed=self.testbed,
            plan=self.plan,
            seed=self._seed,
            translated=bool(self.profile.data.get("translated_guests")),
        )


class _Jobs(RepeatedRoom[JobsSpec, JobsResult]):
    """The kind as runs know it."""

    of = KIND
    opened = JobsShare
    test_ids = TEST_IDS

    def load(self, planned: Planned[JobsSpec]) -> str:
        """Say how many executions, of what time where they end by it."""
        each = f" of {planned.spec.duration_s:g} s" if planned.spec.duration_s else ""
        return f"{planned.asked.wanted} executions{each}"

    def estimate_s(self, planned: Planned[JobsSpec]) -> float | None:
        """Return the seconds of executions that end by time; None where they end with their work."""
        return planned.spec.duration_s * planned.asked.wanted or None

    def whole(self, planned: Collection[Planned[JobsSpec]]) -> str:
        """Say how many cells there are."""
        return f"{len(planned)} cells of programs on hosts."


JOBS: Room = _Jobs()

"""Acts as a share of a run."""

from __future__ import annotations

from collections.abc import Collection

from bmwg.methodology.kinds.acts.kind import ACTS as KIND
from bmwg.methodology.kinds.acts.profile import TEST_IDS
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.resources.kinds.acts.bench import ActsBench
from bmwg.resources.kinds.repeated.room import NotSimulated, RepeatedRoom, RepeatedShare
from bmwg.resources.rooms import Room


class ActsShare(RepeatedShare[ActsSpec, ActsResult]):
    """What lifecycle tests ask of a run. Raises ConfigError ACTS-01 beside what every share raises."""

    kind = KIND
    bench = ActsBench
    about = "the life of pods or servers"
    simulated = NotSimulated("ACTS-01", "pods or servers are made and removed on them")

    def load_s(self, planned: Planned[ActsSpec]) -> float:
        """Return none: how long they take is what is measured."""
        return 0.0


class _Acts(RepeatedRoom[ActsSpec, ActsResult]):
    """The kind as runs know it."""

    of = KIND
    opened = ActsShare
    test_ids = (TEST_IDS,)

    def load(self, planned: Planned[ActsSpec]) -> str:
        """Say how many executions of how many pods or servers."""
        return f"{planned.asked.wanted} executions of {planned.spec.cycles} {planned.spec.nouns}"

    def whole(self, planned: Collection[Planned[ActsSpec]]) -> str:
        """Say how many cells there are."""
        return f"{len(planned)} cells of the life of pods, servers or policies."


ACTS: Room = _Acts()

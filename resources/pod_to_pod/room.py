"""Streams as a share of a run."""

from __future__ import annotations

from collections.abc import Collection

from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.streams.kind import STREAMS as KIND
from bmwg.methodology.kinds.streams.profile import TEST_IDS
from bmwg.methodology.kinds.streams.records import StreamsResult, StreamsSpec
from bmwg.resources.pod_to_pod.bench import StreamsBench
from bmwg.resources.progress import clock_text
from bmwg.resources.repeated.room import NotSimulated, RepeatedRoom, RepeatedShare
from bmwg.resources.rooms import Room


class StreamsShare(RepeatedShare[StreamsSpec, StreamsResult]):
    """What transport tests ask of a run. Raises ConfigError STREAMS-01 beside what every share raises."""

    kind = KIND
    bench = StreamsBench
    about = "transport tests between pods"
    simulated = NotSimulated("STREAMS-01", "transport tests run programs in its pods")

    def load_s(self, planned: Planned[StreamsSpec]) -> float:
        """Return the seconds of one execution."""
        return seconds(planned)


class _Streams(RepeatedRoom[StreamsSpec, StreamsResult]):
    """The kind as runs know it."""

    of = KIND
    opened = StreamsShare
    test_ids = TEST_IDS

    def load(self, planned: Planned[StreamsSpec]) -> str:
        """Say how many executions of what time."""
        return f"{planned.asked.wanted} executions of {seconds(planned):g} s"

    def whole(self, planned: Collection[Planned[StreamsSpec]]) -> str:
        """Say how long all of them offer load."""
        whole_s = sum(seconds(one) * one.asked.wanted for one in planned)
        return f"{len(planned)} cells of transport tests, about {clock_text(whole_s)} of load."


def seconds(planned: Planned[StreamsSpec]) -> float:
    """Return the seconds of one execution, with those that do not count."""
    return planned.spec.duration_s + planned.spec.omit_s


STREAMS: Room = _Streams()

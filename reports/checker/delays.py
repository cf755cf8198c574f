"""What is kept of the latencies of a trial when its histograms are not: enough to tell a copy."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from operator import itemgetter

from bmwg.methodology.records import TrialResult

_KEPT = 96  # buckets that hold most; fewer hold all of a calm trial
_LEAST_FRAMES, _LEAST_BUCKETS = 1000, 3  # of which two trials cannot be equal by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """The latencies of one stream: how many frames, in which buckets most of them, and a hash of all.

    `fullest` are (lower end in ns, frames) of the buckets that hold most. `telling` is whether there is
    enough for two trials never to be equal.
    """

    frames: int
    sha256: str
    telling: bool
    fullest: tuple[tuple[int, int], ...]


def delays_of(result: TrialResult) -> tuple[Delays, ...]:
    """Return what is kept, stream by stream."""
    found = []
    for stream in result.streams:
        latency = stream.latency
        numbers = array("q", chain.from_iterable(latency.buckets))
        counts = numbers[2::3]
        frames = sum(counts)
        # buckets stand in order of latency, and a stable sort keeps that among equal ones
        fullest = sorted(zip(numbers[::3], counts, strict=True), key=itemgetter(1), reverse=True)[:_KEPT]
        found.append(
            Delays(
                frames=frames,
                sha256=sha256(b"%d " % latency.sum_ns + numbers.tobytes()).hexdigest(),
                telling=frames >= _LEAST_FRAMES and len(latency.buckets) >= _LEAST_BUCKETS,
                fullest=tuple(fullest),
            )
        )
    return tuple(found)

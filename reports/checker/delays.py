"""What is kept of the latencies of a trial when its histograms are not: enough to tell a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from bmwg.methodology.records import TrialResult

Bucket = tuple[int, int, int]  # lower and upper end in ns, frames
_KEPT = 96  # buckets that hold most; fewer hold all of a calm trial
_FEW_FRAMES, _RARE_BUCKETS = 3, 32  # choice: buckets that one frame less would leave empty, and how many tell
_LEAST_FRAMES, _LEAST_BUCKETS = 1000, 3  # of which two trials cannot be equal by chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """The latencies of one stream: how many frames, in which buckets most of them, and a hash of all.

    `fingerprint` is a hash of all buckets and of their sum, for this process alone. `fullest` are (lower end
    in ns, frames) of the buckets that hold most. `telling` is whether there is enough for two trials never to
    be equal. `rare` is a hash of which buckets hold frames, where enough hold so few that chance alone says
    which; 0 elsewhere. A copy of which some counts were changed still has it.
    """

    frames: int
    fingerprint: int
    telling: bool
    fullest: tuple[tuple[int, int], ...]
    rare: int = 0


def delays_of(result: TrialResult) -> tuple[Delays, ...]:
    """Return what is kept, stream by stream."""
    found = []
    for stream in result.streams:
        latency = stream.latency
        counts = [bucket[2] for bucket in latency.buckets]
        frames = sum(counts)
        found.append(
            Delays(
                frames=frames,
                fingerprint=hash((latency.sum_ns, latency.buckets)),
                telling=frames >= _LEAST_FRAMES and len(counts) >= _LEAST_BUCKETS,
                fullest=_fullest(latency.buckets, counts),
                rare=_rare(latency.buckets, counts),
            )
        )
    return tuple(found)


def _rare(buckets: Sequence[Bucket], counts: Sequence[int]) -> int:
    if sum(count <= _FEW_FRAMES for count in counts) < _RARE_BUCKETS:
        return 0
    return hash(tuple([low for low, _, _ in buckets]))


def _fullest(buckets: Sequence[Bucket], counts: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return the buckets that hold most, fullest first; of equal ones those of less latency first."""
    least = sorted(counts)[-_KEPT] if len(counts) > _KEPT else 0
    chosen = [(low, count) for low, _, count in buckets if count >= least]
    # buckets stand in order of latency, and a stable sort keeps that among equal ones
    chosen.sort(key=itemgetter(1), reverse=True)
    return tuple(chosen[:_KEPT])

"""Trials that are too alike: latencies nearer to another trial's than chance gives.

Each trial of a cell is held against each earlier one, half a million pairs in a run of some thousand trials.
So a pair is first asked, by whole numbers used as sets of buckets, whether it can have enough of them in
common; chi squared is computed of what is left.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from bmwg.reports.checker.delays import Delays
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import listed

_BUCKETS = 48  # choice: of which chi squared tells
_FRAMES = 20  # choice: of a bucket in both trials; with fewer chi squared is too small
_CHANCE = 0.35  # choice: chi squared a bucket, at most
_QUANTILE = 6.0  # choice: standard deviations that chance is left: one of 10^9 pairs
_MOST_PAIRS = 4_000_000  # choice: of a run, some seconds; four times those of the largest run that was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One stream of a trial, ready to be held against others.

    `there` are its frames by bucket. `buckets` is a whole number with a bit for each bucket, `full` the same
    of those with at least half of `_FRAMES`.
    """

    delays: Delays
    there: Mapping[int, int]
    buckets: int
    full: int


def side_of(delays: Delays, bits: dict[int, int]) -> Side:
    """Prepare one stream. `bits` gives each bucket of a cell its bit, and learns new ones."""
    full = buckets = 0
    for low, count in delays.fullest:
        if low not in bits:
            bits[low] = 1 << len(bits)
        buckets |= bits[low]
        if 2 * count >= _FRAMES:
            full |= bits[low]
    return Side(delays=delays, there=dict(delays.fullest), buckets=buckets, full=full)


def alike(one: Side, earlier: Collection[Side]) -> bool:
    """Whether a stream is nearer to an earlier one than chance gives, but not equal."""
    buckets, full = one.buckets, one.full
    # with enough frames in both together, one of the two has at least half of them
    near = [
        (other, most)
        for other in earlier
        if (buckets & other.buckets).bit_count() >= _BUCKETS
        and (most := ((full & other.buckets) | (buckets & other.full)).bit_count()) >= _BUCKETS
    ]
    return any(
        _nearer_than_chance(one, other, most)
        for other, most in near
        if one.delays.fingerprint != other.delays.fingerprint
    )


@cache
def _limit(buckets: int) -> float:
    """Return the chi squared of so many buckets below which two samples of one distribution never lie.

    By Wilson and Hilferty's quantile: of few buckets chance alone gives less than `_CHANCE` now and then.
    """
    spread = 2 / (9 * buckets)
    return buckets * min(_CHANCE, (1 - spread - _QUANTILE * math.sqrt(spread)) ** 3)


def _nearer_than_chance(first: Side, second: Side, most: int) -> bool:
    """Compare two streams by the buckets that both have, `most` of them with enough frames."""
    scale = math.sqrt(second.delays.frames / first.delays.frames)
    too_much = _limit(most)
    total, common = 0.0, 0
    for low, count in first.delays.fullest:
        other = second.there.get(low, 0)
        if other and count + other >= _FRAMES:
            common += 1
            total += (count * scale - other / scale) ** 2 / (count + other)
            if total > too_much:
                return False
    return common >= _BUCKETS and total < _limit(common)


def near_copies(evidence: Evidence) -> Iterator[str]:
    """Name trials of a cell whose latencies lie in the same buckets as another's, nearer than chance gives.

    Two samples of one distribution differ by chi squared of about 1 a bucket; a histogram that was copied and
    shaken a little by much less. A tester and a device that repeat themselves to the frame look so as well.
    """
    by_cell: dict[tuple[str, str], list[Trial]] = {}
    for trial in evidence.trials:
        if not trial.fault and any(len(delays.fullest) >= _BUCKETS for delays in trial.delays):
            by_cell.setdefault((trial.cell_id, trial.metric), []).append(trial)
    window = _MOST_PAIRS // max(1, sum(map(len, by_cell.values())))
    found, cut = [], 0
    for mine in by_cell.values():
        cut += max(0, len(mine) - 1 - window)
        bits: dict[int, int] = {}
        earlier: defaultdict[int, deque[Side]] = defaultdict(lambda: deque(maxlen=window))  # by stream
        for trial in mine:
            sides = [side_of(delay, bits) for delay in trial.delays]
            if any(alike(one, earlier[stream]) for stream, one in enumerate(sides)):
                found.append(str(trial.trial.seq))
            for stream, one in enumerate(sides):
                earlier[stream].append(one)
    if cut:
        yield (
            f"copies: {cut} trials were held against the {window} of their cell before them alone, for there "
            "are too many: was one of them made from an earlier one?"
        )
    if found:
        yield (
            f"copies: the latencies of trial {listed(found)} are those of an earlier trial "
            "of the same cell, but for less than chance: was one made from the other?"
        )

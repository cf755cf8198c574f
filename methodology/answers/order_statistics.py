"""The median with an interval of order statistics, which asks nothing of the distribution. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = (
    0.9  # choice: five to seven values cover it with their range (94 to 98 %), eight without the ends
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MedianInterval:
    """The median of `count` values, and `low` to `high`, which cover it with `covers` (0 to 1).

    It is the narrowest interval of order statistics that covers at least 90 %; with fewer than five values
    the range covers less, and `covers` says how much.
    """

    count: int
    median: float
    low: float
    high: float
    covers: float


def median_interval(values: Sequence[float]) -> MedianInterval:
    """Summarize values. ValueError without any."""
    if not values:
        raise ValueError("values: expected at least one, found none")
    ordered, count = sorted(values), len(values)
    rank = 0
    while rank + 1 <= (count - 1) // 2 and _covered(count, rank + 1) >= CONFIDENCE:
        rank += 1
    return MedianInterval(
        count=count,
        median=statistics.median(ordered),
        low=ordered[rank],
        high=ordered[count - 1 - rank],
        covers=max(0.0, _covered(count, rank)),
    )


def _covered(count: int, rank: int) -> float:
    """Return with what probability the median lies between the values of this rank from either end."""
    outside: float = 2 * sum(math.comb(count, k) for k in range(rank + 1)) / math.ldexp(1.0, count)
    return 1.0 - outside

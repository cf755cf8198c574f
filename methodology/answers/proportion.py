"""A share of attempts with an interval that is exact for any number of them (Clopper and Pearson). Pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

CONFIDENCE = 0.95  # choice: as the intervals of means (docs/methods.md)
_STEPS = 100  # of a bisection, below a double's resolution


@dataclass(frozen=True, slots=True, kw_only=True)
class Proportion:
    """`hits` of `count` attempts; `low` to `high` covers the true share with at least 95 %.

    It takes attempts as independent of each other.
    """

    hits: int
    count: int
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """The share, 0 to 1."""
        return self.hits / self.count


def proportion(hits: int, count: int) -> Proportion:
    """Return a share with its interval. ValueError without attempts, or with more hits than attempts."""
    if count < 1 or not 0 <= hits <= count:
        raise ValueError(f"hits: expected 0 to the number of attempts, found {hits} of {count}")
    if hits * 2 > count:  # the misses' interval, seen from the other end: sums are over the smaller number
        other = proportion(count - hits, count)
        return Proportion(hits=hits, count=count, low=1 - other.high, high=1 - other.low)
    tail = (1 - CONFIDENCE) / 2
    low = _where(lambda share: 1 - _at_most(hits - 1, count, share) < tail) if hits else 0.0
    high = _where(lambda share: _at_most(hits, count, share) > tail)
    return Proportion(hits=hits, count=count, low=low, high=high)


def _at_most(hits: int, count: int, share: float) -> float:
    """Return the probability of at most so many hits, where each has the probability `share` (0 < it < 1)."""
    ways = math.lgamma(count + 1)
    logs = (
        ways
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
        for k in range(hits + 1)
    )
    return math.fsum(map(math.exp, logs))


def _where(is_below: Callable[[float], bool]) -> float:
    """Return where a share stops to be below."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return (low + high) / 2

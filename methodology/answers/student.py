"""Means with confidence intervals by Student's t, and Welch's comparison of two of them. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

CONFIDENCE = 0.95  # documents 000 and 001
_STEPS = 200  # of the bisection of a quantile, far below a double's resolution
_TINY = 1e-300
_FEWEST_ALIKE = 8  # choice: repetitions in which likeness can be told from luck
_CLEARLY = 2.326  # standard deviations: by luck in 1 of 100 answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean of `count` values with the half-width of its 95 % interval; None for fewer than two values."""

    count: int
    mean: float
    half_width: float | None
    minimum: float
    maximum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Mean of a less mean of b with the half-width of its 95 % interval (Welch)."""

    difference: float
    half_width: float

    @property
    def sign(self) -> int:
        """-1 when a is smaller, 1 when it is larger, 0 when the interval holds zero: no order is shown."""
        if abs(self.difference) <= self.half_width:
            return 0
        return 1 if self.difference > 0 else -1


def interval(values: Sequence[float]) -> Interval:
    """Summarize repetitions. ValueError without any value."""
    if not values:
        raise ValueError("values: expected at least one, found none")
    count, mean = len(values), math.fsum(values) / len(values)
    half = None
    if count > 1:
        half = quantile(0.5 + CONFIDENCE / 2, count - 1) * math.sqrt(_variance(values) / count)
    return Interval(count=count, mean=mean, half_width=half, minimum=min(values), maximum=max(values))


def likeness(values: Sequence[float]) -> float | None:
    """Return the correlation from each value to the next, where it is clearly above 0; else None.

    By von Neumann's ratio: of independent values it is 0 in the mean, with the variance (n - 2) / (n^2 - 1).
    A drift makes values follow each other as well. Fewer than eight values never show it.
    """
    count = len(values)
    scatter = _variance(values) * (count - 1) if count >= _FEWEST_ALIKE else 0.0
    if not scatter:
        return None
    steps = math.fsum((after - before) ** 2 for before, after in pairwise(values))
    found = 1 - steps / (2 * scatter)
    return found if found > _CLEARLY * math.sqrt((count - 2) / (count**2 - 1)) else None


def difference(a: Sequence[float], b: Sequence[float]) -> Difference | None:
    """Compare two sets of independent repetitions; None unless both hold two values and one varies."""
    return contrast([(1, a), (-1, b)])


def contrast(groups: Sequence[tuple[int, Sequence[float]]]) -> Difference | None:
    """Return the sum of weighted means of independent groups (Welch, Satterthwaite), as a difference.

    None unless each group holds two values and one of them varies.
    """
    if any(len(values) < 2 for _, values in groups):
        return None
    parts = [(weight**2 * _variance(values) / len(values), len(values) - 1) for weight, values in groups]
    whole = math.fsum(part for part, _ in parts)
    if whole == 0:
        return None
    freedom = whole**2 / math.fsum(part**2 / count for part, count in parts)
    half = quantile(0.5 + CONFIDENCE / 2, freedom) * math.sqrt(whole)
    middle = math.fsum(weight * math.fsum(values) / len(values) for weight, values in groups)
    return Difference(difference=middle, half_width=half)


@lru_cache(maxsize=1024)  # of as many freedoms
def quantile(share: float, freedom: float) -> float:
    """Return Student's t below which `share` of the distribution lies, for `freedom` degrees of freedom."""
    if not 0.5 <= share < 1:
        raise ValueError(f"share: expected 0.5 up to 1, found {share}")
    if freedom <= 0:
        raise ValueError(f"freedom: expected above 0, found {freedom}")
    low, high = 0.0, 1.0
    while _below(high, freedom) < share:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def _variance(values: Sequence[float]) -> float:
    if min(values) == max(values):
        return 0.0  # the mean of equal values may differ from them in its last digit
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _below(t: float, freedom: float) -> float:
    """Return the share of the distribution below t >= 0."""
    return 1 - 0.5 * _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function, by its continued fraction (Lentz's way)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(b, a, 1 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away(1 + term * d)
            c = _away(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found


def _away(value: float) -> float:
    """Keep a divisor away from zero."""
    return value if abs(value) > _TINY else _TINY

"""Summaries over repetitions, as the documents define them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean, minimum, maximum and standard deviation (n - 1; 0 for one value) of repeated values."""

    count: int
    mean: float
    minimum: float
    maximum: float
    deviation: float


def spread(values: Sequence[float]) -> Spread:
    """Summarize repeated values; ValueError without any."""
    if not values:
        raise ValueError("values: expected at least one, found none")
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Spread(
        count=len(values),
        mean=mean,
        minimum=min(values),
        maximum=max(values),
        deviation=math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else 0.0,
    )


def percentile(values: Sequence[float], share: Fraction) -> float:
    """Return the smallest value whose share of values at or below it is at least `share` (RFC 2330 11.3)."""
    if not 0 < share <= 1:
        raise ValueError(f"share: expected above 0 and at most 1, found {share}")
    if not values:
        raise ValueError("values: expected at least one, found none")
    rank = -(-share.numerator * len(values) // share.denominator)
    return sorted(values)[rank - 1]


def median(values: Sequence[float]) -> float:
    """Return the median after RFC 2330 11.3: the mean of the two middle values when their number is even."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("values: expected at least one, found none")
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2

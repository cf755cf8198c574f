"""Percentiles over the frames of several streams, each with an interval from the streams. Pure.

Frames of one stream are not independent of each other, since one delay holds up many of them; streams are.
So the interval asks how the share of frames below a latency varies from stream to stream (docs/adr/0457).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise

from bmwg.methodology.answers.student import quantile
from bmwg.methodology.trial.frame_times import LatencyHistogram

_NOMINAL = 0.99  # choice: with it 95 % are covered where delays come in bursts (docs/adr/0457)
_SEEN_S = 0.014  # choice: of stalls of 2 ms on average that fill it, some were met in 99.8 % of cases


@dataclass(frozen=True, slots=True, kw_only=True)
class PercentileInterval:
    """The percentile of all frames lies from `low_ns` to `high_ns`; None: the streams show no upper end."""

    low_ns: int
    high_ns: int | None


def merged(histograms: Sequence[LatencyHistogram]) -> LatencyHistogram:
    """Return the histogram of the frames of several; ValueError where their buckets are not the same."""
    counts: dict[tuple[int, int], int] = {}
    for histogram in histograms:
        for low, high, frames in histogram.buckets:
            counts[low, high] = counts.get((low, high), 0) + frames
    buckets = tuple((low, high, frames) for (low, high), frames in sorted(counts.items()))
    for (_, before, _), (after, _, _) in pairwise(buckets):
        if after <= before:
            raise ValueError(f"buckets: expected the same in each stream, found an overlap at {after} ns")
    least = [one.min_ns for one in histograms if one.min_ns is not None]
    largest = [
        latency_histogram.max_ns for latency_histogram in histograms if latency_histogram.max_ns is not None
    ]
    filled = sum(bool(one.buckets) for one in histograms)
    return LatencyHistogram(
        buckets=buckets,
        sum_ns=sum(one.sum_ns for one in histograms),
        min_ns=min(least) if least and len(least) == filled else None,
        max_ns=max(largest) if largest and len(largest) == filled else None,
    )


def intervals(
    histograms: Sequence[LatencyHistogram], shares: Sequence[Fraction], *, duration_s: float
) -> tuple[PercentileInterval, ...]:
    """Return where each percentile lies, by how streams differ; none for fewer than two streams with frames.

    A latency is an end when Student's t shows that the share of frames up to it is not the percentile's. Each
    end counts once more the stream that speaks most against it: a few streams tell too little of rare
    delays. There is no upper end where streams of `duration_s` seconds hold so little time beyond the
    percentile that they may have missed what fills it.
    """
    held = [latency_histogram for latency_histogram in histograms if latency_histogram.frames]
    if len(held) < 2:
        return ()
    whole, totals = merged(held), [one.frames for one in held]
    below = [_below(histogram, whole) for histogram in held]
    return tuple(
        _interval(whole, below, totals, share, may_close=len(held) * duration_s * (1 - share) >= _SEEN_S)
        for share in shares
    )


def _interval(
    whole: LatencyHistogram,
    below: Sequence[list[int]],
    totals: Sequence[int],
    share: Fraction,
    *,
    may_close: bool,
) -> PercentileInterval:
    rank = -(-share.numerator * whole.frames // share.denominator)
    place = next(at for at in range(len(whole.buckets)) if sum(column[at] for column in below) >= rank)
    at_percentile = _residuals(below, totals, share, place)
    t = _t(len(totals) - 1)
    first = place
    while first and not _below_zero((*_residuals(below, totals, share, first - 1), max(at_percentile)), t):
        first -= 1
    low_ns, high_ns = whole.buckets[first][0], None
    for at in range(place, len(whole.buckets)) if may_close else ():
        against = (*_residuals(below, totals, share, at), min(at_percentile))
        if _below_zero([-one for one in against], t):
            high_ns = whole.buckets[at][1]
            break
    return PercentileInterval(
        low_ns=low_ns if whole.min_ns is None else max(low_ns, whole.min_ns),
        high_ns=high_ns if high_ns is None or whole.max_ns is None else min(high_ns, whole.max_ns),
    )


@cache
def _t(freedom: int) -> float:
    return quantile(0.5 + _NOMINAL / 2, freedom)


def _below(histogram: LatencyHistogram, whole: LatencyHistogram) -> list[int]:
    """Return how many frames of a histogram lie in each bucket of the whole, and below."""
    own = {(low, high): frames for low, high, frames in histogram.buckets}
    return list(accumulate(own.get((low, high), 0) for low, high, _ in whole.buckets))


def _residuals(below: Sequence[list[int]], totals: Sequence[int], share: Fraction, at: int) -> list[int]:
    """Return by how many frames each stream has more below than the share, times its denominator."""
    return [
        share.denominator * column[at] - share.numerator * total
        for column, total in zip(below, totals, strict=True)
    ]


def _below_zero(values: Sequence[int], t: float) -> bool:
    """Whether the mean of some values is below zero by Student's t; sums are exact."""
    count, total = len(values), sum(values)
    scatter = count * sum(value * value for value in values) - total * total  # count^2 times the variance
    return total + t * math.sqrt(scatter / (count - 1)) < 0

"""Latency over all frames of one trial, from its histograms.

The metric ids begin with `latency.all_frames`. `latency.rfc2544_26_2` is reserved for the mean of 20 streams
with one tagged frame each (RFC2544-26.2-03, RFC2544-26.2-06) and is never given to these values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from bmwg.methodology.records import Cell, LatencyHistogram, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial import JudgedTrial, JudgedTrials

METRIC = "latency.all_frames"
RFC2544_METRIC = "latency.rfc2544_26_2"  # reserved, see the module's text
UNIT = "ns"
# The two definitions of RFC 1242 3.8, one of which a report states (RFC2544-26.2-08).
STORE_AND_FORWARD = "store-and-forward"  # from the last bit in to the first bit out
BIT_FORWARDING = "bit-forwarding"  # from the end of the first bit in to the start of the first bit out
REQUIREMENTS = ("RFC2544-26.2-01",)  # the rate is the throughput of the same frame size
PERCENTILES = (
    ("p50", Fraction(50, 100)),
    ("p90", Fraction(90, 100)),
    ("p99", Fraction(99, 100)),
    ("p99.9", Fraction(999, 1000)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencySummary:
    """Latency of all frames, ns. A percentile is the upper edge of its bucket, at most the maximum.

    So it is never below the true value, and above it by at most a bucket's width. Mean and maximum are exact.
    """

    frames: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    p99_9_ns: int
    max_ns: int
    mean_ns: float

    def quantities(self) -> tuple[Quantity, ...]:
        """Return the values with their metric ids, percentiles first."""
        percentiles = zip(
            (name for name, _ in PERCENTILES),
            (self.p50_ns, self.p90_ns, self.p99_ns, self.p99_9_ns),
            strict=True,
        )
        return (
            *(Quantity(metric=f"{METRIC}.{name}", number=value, unit=UNIT) for name, value in percentiles),
            Quantity(metric=f"{METRIC}.max", number=self.max_ns, unit=UNIT),
            Quantity(metric=f"{METRIC}.mean", number=self.mean_ns, unit=UNIT),
        )


def merge(histograms: Iterable[LatencyHistogram]) -> LatencyHistogram:
    """Join the histograms of several streams; ValueError when buckets overlap without being equal."""
    counts: dict[tuple[int, int], int] = {}
    total, lowest, highest = 0, [], []
    for histogram in histograms:
        total += histogram.sum_ns
        for low, high, count in histogram.buckets:
            counts[low, high] = counts.get((low, high), 0) + count
        if histogram.min_ns is not None:
            lowest.append(histogram.min_ns)
        if histogram.max_ns is not None:
            highest.append(histogram.max_ns)
    buckets = tuple((low, high, counts[low, high]) for low, high in sorted(counts))
    for before, after in pairwise(buckets):
        if after[0] <= before[1]:
            raise ValueError(f"buckets {before[0]}..{before[1]} and {after[0]}..{after[1]} ns overlap")
    return LatencyHistogram(
        buckets=buckets,
        sum_ns=total,
        min_ns=min(lowest) if lowest else None,
        max_ns=max(highest) if highest else None,
    )


def percentile_ns(histogram: LatencyHistogram, share: Fraction) -> int:
    """Return the upper edge of the bucket that holds the frame of rank `ceil(share * frames)`.

    Raises ValueError for an empty histogram or a share outside 0..1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share: expected above 0 and at most 1, found {share}")
    rank = -(-share.numerator * histogram.frames // share.denominator)
    seen = 0
    for _, high, count in histogram.buckets:
        seen += count
        if seen >= rank:
            return high if histogram.max_ns is None else min(high, histogram.max_ns)
    raise ValueError("the histogram holds no frame")


def summarize(histogram: LatencyHistogram) -> LatencySummary:
    """Return percentiles, maximum and mean. Raises ValueError for an empty histogram."""
    values = [percentile_ns(histogram, share) for _, share in PERCENTILES]
    return LatencySummary(
        frames=histogram.frames,
        p50_ns=values[0],
        p90_ns=values[1],
        p99_ns=values[2],
        p99_9_ns=values[3],
        max_ns=histogram.max_ns if histogram.max_ns is not None else histogram.buckets[-1][1],
        mean_ns=histogram.sum_ns / histogram.frames,
    )


def outcome(trials: JudgedTrials, cell: Cell, *, outcome_id: str) -> Outcome:
    """Return the latency outcome of one cell from the trial at its load.

    Without a valid trial it is `invalid` where something broke, `tester_limited` where the tester fell short
    each time, else `unstable`.
    """
    sequence = tuple(trial.seq for trial in trials.trials)
    trial = trials.valid
    reason = f"no valid trial in {len(sequence)}; the last: {trials.trials[-1].reason}"
    kind = _without_answer(trials)
    if trial is not None:
        histogram = merge(stream.latency for stream in trial.result.streams)
        if histogram.frames:
            return _measured(histogram, trial, cell, outcome_id, sequence)
        kind, reason = OutcomeType.INVALID, f"trial {trial.seq} holds no latency of any frame"
    return Outcome(
        outcome_id=outcome_id,
        metric=METRIC,
        cell=cell,
        type=kind,
        trials=sequence,
        statement="" if kind is OutcomeType.INVALID else reason,
        reason=reason,
        requirements=REQUIREMENTS,
    )


def _without_answer(trials: JudgedTrials) -> OutcomeType:
    found = {trial.validity for trial in trials.trials}
    if found & {Validity.FAULT, Validity.INCONSISTENT}:
        return OutcomeType.INVALID
    return OutcomeType.TESTER_LIMITED if found == {Validity.SENT_SHORT} else OutcomeType.UNSTABLE


def _measured(
    histogram: LatencyHistogram, trial: JudgedTrial, cell: Cell, outcome_id: str, sequence: tuple[int, ...]
) -> Outcome:
    quality = []
    if lost := trial.result.lost_frames:
        quality.append(f"{lost} frames of trial {trial.seq} were lost and have no latency")
    if histogram.frames < 10_000:  # choice: ten frames beyond p99.9
        quality.append(f"p99.9 rests on {histogram.frames} frames")
    return Outcome(
        outcome_id=outcome_id,
        metric=METRIC,
        cell=cell,
        type=OutcomeType.MEASURED,
        values=summarize(histogram).quantities(),
        trials=sequence,
        statement=f"at {trial.result.spec.load_fps} frames/s per port and direction",
        requirements=REQUIREMENTS,
        quality=tuple(quality),
    )

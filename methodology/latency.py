"""Latency over all frames of one trial, from the histogram of each direction.

The metric ids begin with `latency.all_frames`. `latency.rfc2544_26_2` is reserved for the mean of 20 streams
with one tagged frame each (RFC2544-26.2-03, RFC2544-26.2-06) and is never given to these values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from bmwg.methodology import directions
from bmwg.methodology.frame_times import LatencyHistogram
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial import JudgedTrial, JudgedTrials

METRIC = "latency.all_frames"
RFC2544_METRIC = "latency.rfc2544_26_2"  # reserved, see the module's text
UNIT = "ns"
# The two definitions of RFC 1242 3.8, one of which a report states (RFC2544-26.2-08).
STORE_AND_FORWARD = "store-and-forward"  # from the last bit in to the first bit out
BIT_FORWARDING = "bit-forwarding"  # from the end of the first bit in to the start of the first bit out
SOFTWARE_STAMPS = (  # what stamps of a program hold; docs/adr/0296
    "software: before a frame is handed to its port, after it was taken from one; where the medium has a "
    "rate, transmissions are within: two more than store-and-forward, one more than bit-forwarding"
)
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

    def quantities(self, way: str = "") -> tuple[Quantity, ...]:
        """Return the values with their metric ids, percentiles first; `way` is the direction they are of."""
        percentiles = zip(
            (name for name, _ in PERCENTILES),
            (self.p50_ns, self.p90_ns, self.p99_ns, self.p99_9_ns),
            strict=True,
        )
        return (
            *(
                Quantity(metric=directions.metric(METRIC, way, name), number=value, unit=UNIT)
                for name, value in percentiles
            ),
            Quantity(metric=directions.metric(METRIC, way, "max"), number=self.max_ns, unit=UNIT),
            Quantity(metric=directions.metric(METRIC, way, "mean"), number=self.mean_ns, unit=UNIT),
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
    """Return the latency outcome of one cell from the trial at its load: the values of each direction.

    Without a valid trial it is `invalid` where something broke, `tester_limited` where the tester fell short
    each time, else `unstable`.
    """
    sequence = tuple(trial.seq for trial in trials.trials)
    trial = trials.valid
    reason = f"no valid trial in {len(sequence)}; the last: {trials.trials[-1].reason}"
    kind = _without_answer(trials)
    if trial is not None:
        streams = tuple(zip(directions.ways(cell.direction), trial.result.streams, strict=True))
        empty = [way for way, stream in streams if not stream.latency.frames]
        if not empty:
            return _measured(trial, cell, outcome_id, sequence)
        reason = directions.of(f"trial {trial.seq} holds no latency of any frame", ", ".join(empty))
        kind = OutcomeType.INVALID
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


def _measured(trial: JudgedTrial, cell: Cell, outcome_id: str, sequence: tuple[int, ...]) -> Outcome:
    quality: list[str] = []
    values: list[Quantity] = []
    for way, stream in zip(directions.ways(cell.direction), trial.result.streams, strict=True):
        values += summarize(stream.latency).quantities(way)
        if lost := stream.lost_frames:
            said = f"{lost} frames of trial {trial.seq} were lost and have no latency"
            quality.append(directions.of(said, way))
        if stream.latency.frames < 10_000:  # choice: ten frames beyond p99.9
            quality.append(directions.of(f"p99.9 rests on {stream.latency.frames} frames", way))
    return Outcome(
        outcome_id=outcome_id,
        metric=METRIC,
        cell=cell,
        type=OutcomeType.MEASURED,
        values=tuple(values),
        trials=sequence,
        statement=f"at {trial.result.spec.load_fps} frames/s per port and direction",
        requirements=REQUIREMENTS,
        quality=tuple(quality),
    )

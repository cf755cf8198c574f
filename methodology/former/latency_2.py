"""Latency over all frames of one trial, version 2: the histograms of both directions were merged into one.

Frozen. Commits after 939b29af8664, up to 77e44c9b3248, measured by it; docs/adr/0265 says what version 3 does
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.frame_times import LatencyHistogram
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec, Validity
from bmwg.methodology.trial import JudgedTrial, JudgedTrials, RecordedTrial, valid_trial

_METRIC = "latency.all_frames"
_UNIT = "ns"
_REQUIREMENTS = ("RFC2544-26.2-01",)
PERCENTILES = (
    ("p50", Fraction(50, 100)),
    ("p90", Fraction(90, 100)),
    ("p99", Fraction(99, 100)),
    ("p99.9", Fraction(999, 1000)),
)


def measure(asked: Asked) -> Answered:
    """Measure as version 2 did, or replay what it recorded."""

    def one(wanted: TrialSpec) -> RecordedTrial:
        trial = asked.trial(wanted, "latency")
        return RecordedTrial(seq=trial.seq, result=trial.result)

    spec = asked.profile.latency_spec(asked.cell, asked.load_fps)
    tried = valid_trial(one, spec, asked.profile.policy)
    outcome = _outcome(tried, asked.cell, outcome_id=asked.outcome_id)
    assert asked.throughput is not None
    remarks = load_remark(asked.throughput)
    return Answered(outcomes=(replace(outcome, quality=(*outcome.quality, *remarks)),))


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


def _quantities(histogram: LatencyHistogram) -> tuple[Quantity, ...]:
    found: list[tuple[str, int | float]] = [
        (name, percentile_ns(histogram, share)) for name, share in PERCENTILES
    ]
    found.append(("max", histogram.max_ns if histogram.max_ns is not None else histogram.buckets[-1][1]))
    found.append(("mean", histogram.sum_ns / histogram.frames))
    return tuple(Quantity(metric=f"{_METRIC}.{name}", number=number, unit=_UNIT) for name, number in found)


def _outcome(trials: JudgedTrials, cell: Cell, *, outcome_id: str) -> Outcome:
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
        metric=_METRIC,
        cell=cell,
        type=kind,
        trials=sequence,
        statement="" if kind is OutcomeType.INVALID else reason,
        reason=reason,
        requirements=_REQUIREMENTS,
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
        metric=_METRIC,
        cell=cell,
        type=OutcomeType.MEASURED,
        values=_quantities(histogram),
        trials=sequence,
        statement=f"at {trial.result.spec.load_fps} frames/s per port and direction",
        requirements=_REQUIREMENTS,
        quality=tuple(quality),
    )


RULE = FormerRule(metric=_METRIC, version=2, measure=measure, needs_throughput=True, reads_latency=True)

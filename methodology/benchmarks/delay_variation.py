"""Delay variation: PDV and IPDV (RFC 8219 7.3, RFC 5481), from the frames of one stream or their histogram.

PDV of a frame is its delay less the smallest delay of the stream (RFC 5481 4.2). A histogram gives it for all
frames within a bucket's width. IPDV (RFC 3393, RFC 5481 4.1) needs the delays in the order sent, which a
histogram has lost: it is taken from the last frames of each stream, all of them tagged. RFC 8219 7.3.2 takes
every frame of the stream, so that the sample has a metric of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from bmwg.methodology.answers.latency import percentile_ns
from bmwg.methodology.benchmarks.concluded import Concluded
from bmwg.methodology.benchmarks.statistics import median, percentile
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, StreamCounts, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, repetitions
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.trial_limits import MAX_TAGS

PDV_METRIC = "pdv.rfc8219_7_3_1"  # RFC8219-7.3.1-04
IPDV_METRIC = "ipdv.rfc8219_7_3_2"  # RFC8219-7.3.2-02; of results from elsewhere: nothing here measures it
SAMPLE_METRIC = "ipdv.rfc5481_4_1.sample"
UNIT = "ns"
STREAM_S = 60.0  # RFC8219-7.3.1-02
REPETITIONS = 20  # RFC8219-7.3.1-05
PDV_REQUIREMENTS = ("RFC8219-7.3.1-01", "RFC8219-7.3.1-04", "RFC8219-7.3.1-05", "RFC8219-7.3.1-06")
SAMPLE_REQUIREMENTS = ("RFC8219-7.3.2-02", "RFC8219-7.3.2-03", "RFC8219-7.3.2-05")
_P999 = Fraction(999, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGoal:
    """`streams` equal streams one after the other, each a trial of `spec`."""

    spec: TrialSpec
    streams: int = REPETITIONS
    max_repeats: int = 5

    def __post_init__(self) -> None:
        """Refuse what is no series (ValueError naming field and clause)."""
        if self.streams < 1:
            raise ValueError(f"streams (RFC 8219 7.3.1): expected at least 1, found {self.streams}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ipdv:
    """Minimum, median and maximum of the differences between neighbours (ns), and how many there are."""

    minimum_ns: float
    median_ns: float
    maximum_ns: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OverRepetitions:
    """Median of a value over repetitions, with its 1st and 99th percentile (RFC8219-7.3.1-06), ns."""

    median_ns: float
    p1_ns: float
    p99_ns: float
    repetitions: int


def pdv_ns(delays_ns: Sequence[int | None]) -> float:
    """Return the 99.9th percentile delay less the smallest; lost frames (None) have no delay."""
    arrived = [float(delay) for delay in delays_ns if delay is not None]
    if not arrived:
        raise ValueError("delays_ns: expected at least one frame that arrived, found none")
    return percentile(arrived, _P999) - min(arrived)


def pdv_of_histogram_ns(histogram: LatencyHistogram) -> tuple[int, int]:
    """Return PDV from a histogram and how much too large it may be at most, ns.

    Raises ValueError for a histogram without frames.
    """
    if not histogram.buckets:
        raise ValueError("histogram: expected at least one frame, found none")
    high = percentile_ns(histogram, _P999)
    low, exact = histogram.buckets[0][0], histogram.min_ns is not None
    start = histogram.min_ns if histogram.min_ns is not None else low
    width = next(top - bottom for bottom, top, _ in histogram.buckets if bottom <= high <= top)
    return high - start, width + (0 if exact else histogram.buckets[0][1] - low)


def ipdv(delays_ns: Sequence[int | None]) -> Ipdv:
    """Return IPDV of frames in the order sent; a pair with a lost frame (None) has none (RFC 3393 2.6)."""
    pairs = [
        float(after - before)
        for before, after in pairwise(delays_ns)
        if before is not None and after is not None
    ]
    if not pairs:
        raise ValueError("delays_ns: expected two neighbours that arrived, found none")
    return Ipdv(minimum_ns=min(pairs), median_ns=median(pairs), maximum_ns=max(pairs), pairs=len(pairs))


def over_repetitions(values_ns: Sequence[float]) -> OverRepetitions:
    """Return median, 1st and 99th percentile over repetitions (RFC8219-12-02)."""
    return OverRepetitions(
        median_ns=median(values_ns),
        p1_ns=percentile(values_ns, Fraction(1, 100)),
        p99_ns=percentile(values_ns, Fraction(99, 100)),
        repetitions=len(values_ns),
    )


def procedure(goal: StreamsGoal) -> Procedure[tuple[JudgedTrial, ...]]:
    """Send the streams; each is repeated while it is not valid."""
    short = f"the tester could not send {goal.spec.load_fps} frames/s"
    return repetitions(goal.spec, goal.streams, "stream", max_repeats=goal.max_repeats, short=short)


def pdv_outcome(
    ended: Run[tuple[JudgedTrial, ...]],
    goal: StreamsGoal,
    cell: Cell,
    *,
    outcome_id: str,
    remarks: tuple[str, ...] = (),
) -> Outcome:
    """Return the median PDV of the streams of each direction with its 1st and 99th percentile.

    All frames of a stream take part; those of the other direction are another stream (RFC 5481 4.2).
    """
    streams = _by_way(ended.found or (), cell)
    kind, reason = OutcomeType.MEASURED, ended.reason
    if not ended.found:
        kind = ended.type
    elif any(not stream.latency.frames for _, found in streams for stream in found):
        kind, reason = OutcomeType.INVALID, "a stream of which no frame arrived has no delay"
    values: tuple[Quantity, ...] = ()
    quality: tuple[str, ...] = ()
    if kind is OutcomeType.MEASURED:
        largest = 0
        for way, sent in streams:
            found = [pdv_of_histogram_ns(stream.latency) for stream in sent]
            over = over_repetitions([float(pdv) for pdv, _ in found])
            largest = max(largest, *(excess for _, excess in found))
            numbers = (("", over.median_ns), ("p1", over.p1_ns), ("p99", over.p99_ns))
            values += directions.quantities(PDV_METRIC, way, UNIT, numbers)
        quality = (
            f"median of {goal.streams} streams of {goal.spec.duration_s:g} s, at most {largest} ns too large",
        )
        quality += _shortened(goal, streams_clause="RFC8219-7.3.1-05", length_clause="RFC8219-7.3.1-02")
        if lost := sum(trial.result.lost_frames for trial in ended.found or ()):
            quality += (f"{lost} frames were lost and have no delay",)
    at = f"at {goal.spec.load_fps} frames/s per port and direction" if values else ""
    quality += remarks
    return Concluded(type=kind, reason=reason, values=values, quality=quality, statement=at).outcome(
        ended.trials, outcome_id=outcome_id, metric=PDV_METRIC, cell=cell, requirements=PDV_REQUIREMENTS
    )


def _shortened(goal: StreamsGoal, *, streams_clause: str, length_clause: str) -> tuple[str, ...]:
    """Remark fewer or shorter streams than RFC 8219 asks for, with the clause of each."""
    remarks: tuple[str, ...] = ()
    if goal.streams < REPETITIONS:
        remarks += (f"{goal.streams} streams, at least {REPETITIONS} are required ({streams_clause})",)
    if goal.spec.duration_s < STREAM_S:
        remarks += (f"streams of {goal.spec.duration_s:g} s, at least {STREAM_S:g} s ({length_clause})",)
    return remarks


def with_last_frames_tagged(spec: TrialSpec) -> TrialSpec:
    """Return the trial with its last `MAX_TAGS` frames tagged, or all of them where it has fewer."""
    first = max(0, spec.first_frames - MAX_TAGS)
    tags = min(MAX_TAGS, spec.first_frames)
    return replace(spec, tag_after_s=(first + 0.5) / spec.load_fps, tags=tags)  # between two frames


def sample_of(stream: StreamCounts) -> Ipdv | None:
    """Return IPDV of the tagged neighbours of one direction of a trial; None where no two of them arrived."""
    arrived = any(a is not None and b is not None for a, b in pairwise(stream.tagged_ns))
    return ipdv(stream.tagged_ns) if arrived else None


def _by_way(trials: Sequence[JudgedTrial], cell: Cell) -> tuple[tuple[str, list[StreamCounts]], ...]:
    """Return each direction with its stream of every trial."""
    return tuple(
        (way, [trial.result.streams[place] for trial in trials])
        for place, way in enumerate(directions.ways(cell.direction))
    )


def ipdv_outcome(
    ended: Run[tuple[JudgedTrial, ...]],
    goal: StreamsGoal,
    cell: Cell,
    *,
    outcome_id: str,
    remarks: tuple[str, ...] = (),
) -> Outcome:
    """Return the medians over the streams of least, median and largest IPDV (RFC8219-7.3.2-05).

    Each direction has its own.
    """
    found = [(way, [sample_of(counts) for counts in sent]) for way, sent in _by_way(ended.found or (), cell)]
    kind, reason = OutcomeType.MEASURED, ended.reason
    if not ended.found:
        kind = ended.type
    elif any(one is None for _, sent in found for one in sent):
        kind, reason = OutcomeType.INVALID, "a stream of which no two tagged neighbours arrived has no IPDV"
    values: tuple[Quantity, ...] = ()
    quality: tuple[str, ...] = ()
    if kind is OutcomeType.MEASURED:
        fewest = MAX_TAGS
        for way, sent in found:
            samples = [one for one in sent if one is not None]
            fewest = min(fewest, *(one.pairs for one in samples))
            numbers = (
                ("", median([one.median_ns for one in samples])),
                ("min", median([sample.minimum_ns for sample in samples])),
                ("max", median([one.maximum_ns for one in samples])),
            )
            values += directions.quantities(SAMPLE_METRIC, way, UNIT, numbers)
        quality = (
            f"medians over {goal.streams} streams of {goal.spec.duration_s:g} s; of each the last"
            f" {goal.spec.tags} frames, at least {fewest} pairs of neighbours,"
            " not all frames (RFC8219-7.3.2-02)",
        )
        quality += _shortened(goal, streams_clause="RFC8219-7.3.2-04", length_clause="RFC8219-7.3.2-01")
    at = f"at {goal.spec.load_fps} frames/s per port and direction" if values else ""
    quality += remarks
    return Concluded(type=kind, reason=reason, values=values, quality=quality, statement=at).outcome(
        ended.trials, outcome_id=outcome_id, metric=SAMPLE_METRIC, cell=cell, requirements=SAMPLE_REQUIREMENTS
    )

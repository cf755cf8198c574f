"""Delay variation as it was: PDV by version 2, the sample of IPDV by version 1; directions were merged.

Frozen. Commits up to 77e44c9b3248 measured by it; docs/adr/0265 says what later versions do otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from bmwg.methodology.benchmarks.statistics import median, percentile
from bmwg.methodology.former.latency_2 import merge, percentile_ns
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.frame_times import LatencyHistogram
from bmwg.methodology.measurements.measurement import Answered, Asked, settings
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, TesterShortError, valid_trial
from bmwg.methodology.trial import JudgedTrial
from bmwg.methodology.trial_limits import MAX_TAGS

PDV_METRIC = "pdv.rfc8219_7_3_1"  # RFC8219-7.3.1-04
SAMPLE_METRIC = "ipdv.rfc5481_4_1.sample"
UNIT = "ns"
STREAM_S = 60.0  # RFC8219-7.3.1-02
REPETITIONS = 20  # RFC8219-7.3.1-05
PDV_REQUIREMENTS = ("RFC8219-7.3.1-01", "RFC8219-7.3.1-04", "RFC8219-7.3.1-05", "RFC8219-7.3.1-06")
SAMPLE_REQUIREMENTS = ("RFC8219-7.3.2-02", "RFC8219-7.3.2-03", "RFC8219-7.3.2-05")
_P999 = Fraction(999, 1000)


def _pdv(asked: Asked) -> Answered:
    """Measure PDV as version 2 did, or replay what it recorded."""
    goal = _goal(asked)
    ended = asked.run(procedure(goal))
    assert asked.throughput is not None
    remarks = load_remark(asked.throughput)
    outcome = pdv_outcome(ended, goal, asked.cell, outcome_id=asked.outcome_id, remarks=remarks)
    return Answered(outcomes=(outcome,), error=ended.error)


def _ipdv(asked: Asked) -> Answered:
    """Measure the sample of IPDV as version 1 did, or replay what it recorded."""
    goal = _goal(asked)
    goal = replace(goal, spec=with_last_frames_tagged(goal.spec))
    ended = asked.run(procedure(goal))
    assert asked.throughput is not None
    remarks = load_remark(asked.throughput)
    outcome = ipdv_outcome(ended, goal, asked.cell, outcome_id=asked.outcome_id, remarks=remarks)
    return Answered(outcomes=(outcome,), error=ended.error)


def _goal(asked: Asked) -> StreamsGoal:
    said, cell = settings(asked.profile, "delay_variation"), asked.cell
    return StreamsGoal(
        spec=TrialSpec(
            frame_octets=cell.frame_octets,
            load_fps=asked.load_fps,
            duration_s=float(said.get("stream_s", STREAM_S)),
            direction=cell.direction,
            frame_format=cell.frame_format,
            flows=cell.flows,
            vlan_id=cell.vlan_id,
        ),
        streams=int(said.get("streams", REPETITIONS)),
        max_repeats=asked.profile.policy.max_repeats,
    )


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
    streams = []
    for number in range(goal.streams):
        trial = yield from valid_trial(
            goal.spec,
            f"stream {number + 1}",
            max_repeats=goal.max_repeats,
            short_limit=1 + goal.max_repeats,
        )
        if trial is None:
            raise TesterShortError(f"the tester could not send {goal.spec.load_fps} frames/s")
        streams.append(trial)
    return tuple(streams)


def pdv_outcome(
    ended: Run[tuple[JudgedTrial, ...]],
    goal: StreamsGoal,
    cell: Cell,
    *,
    outcome_id: str,
    remarks: tuple[str, ...] = (),
) -> Outcome:
    """Return the median PDV of the streams with its 1st and 99th percentile; all frames of each take part."""
    histograms = [merge(stream.latency for stream in trial.result.streams) for trial in ended.found or ()]
    kind, reason = OutcomeType.MEASURED, ended.reason
    if not histograms:
        kind = ended.type
    elif any(not histogram.frames for histogram in histograms):
        kind, reason = OutcomeType.INVALID, "a stream of which no frame arrived has no delay"
    values: tuple[Quantity, ...] = ()
    quality: tuple[str, ...] = ()
    if kind is OutcomeType.MEASURED:
        found = [pdv_of_histogram_ns(histogram) for histogram in histograms]
        over = over_repetitions([float(pdv) for pdv, _ in found])
        numbers = (
            (PDV_METRIC, over.median_ns),
            (f"{PDV_METRIC}.p1", over.p1_ns),
            (f"{PDV_METRIC}.p99", over.p99_ns),
        )
        values = tuple(Quantity(metric=name, number=number, unit=UNIT) for name, number in numbers)
        quality = (
            f"median of {goal.streams} streams of {goal.spec.duration_s:g} s,"
            f" at most {max(excess for _, excess in found)} ns too large",
        )
        quality += _shortened(goal, streams_clause="RFC8219-7.3.1-05", length_clause="RFC8219-7.3.1-02")
        if lost := sum(trial.result.lost_frames for trial in ended.found or ()):
            quality += (f"{lost} frames were lost and have no delay",)
    return Outcome(
        outcome_id=outcome_id,
        metric=PDV_METRIC,
        cell=cell,
        type=kind,
        values=values,
        trials=tuple(trial.seq for trial in ended.trials),
        statement=f"at {goal.spec.load_fps} frames/s per port and direction" if values else ended.statement,
        reason=reason,
        requirements=PDV_REQUIREMENTS,
        quality=(*quality, *remarks),
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


def sample_of(trial: JudgedTrial) -> Ipdv | None:
    """Return IPDV of the tagged neighbours of a trial, all directions; None where no two of them arrived."""
    delays: list[int | None] = []
    for stream in trial.result.streams:
        delays += [*stream.tagged_ns, None]  # the last frame of one direction has no neighbour in the next
    arrived = any(a is not None and b is not None for a, b in pairwise(delays))
    return ipdv(delays) if arrived else None


def ipdv_outcome(
    ended: Run[tuple[JudgedTrial, ...]],
    goal: StreamsGoal,
    cell: Cell,
    *,
    outcome_id: str,
    remarks: tuple[str, ...] = (),
) -> Outcome:
    """Return the medians over the streams of least, median and largest IPDV (RFC8219-7.3.2-05)."""
    found = [sample_of(trial) for trial in ended.found or ()]
    samples = [one for one in found if one is not None]
    kind, reason = OutcomeType.MEASURED, ended.reason
    if not found:
        kind = ended.type
    elif len(samples) < len(found):
        kind, reason = OutcomeType.INVALID, "a stream of which no two tagged neighbours arrived has no IPDV"
    values: tuple[Quantity, ...] = ()
    quality: tuple[str, ...] = ()
    if kind is OutcomeType.MEASURED:
        numbers = (
            (SAMPLE_METRIC, median([one.median_ns for one in samples])),
            (f"{SAMPLE_METRIC}.min", median([one.minimum_ns for one in samples])),
            (f"{SAMPLE_METRIC}.max", median([one.maximum_ns for one in samples])),
        )
        values = tuple(Quantity(metric=name, number=number, unit=UNIT) for name, number in numbers)
        fewest = min(one.pairs for one in samples)
        quality = (
            f"medians over {goal.streams} streams of {goal.spec.duration_s:g} s; of each the last"
            f" {goal.spec.tags} frames, at least {fewest} pairs of neighbours,"
            " not all frames (RFC8219-7.3.2-02)",
        )
        quality += _shortened(goal, streams_clause="RFC8219-7.3.2-04", length_clause="RFC8219-7.3.2-01")
    return Outcome(
        outcome_id=outcome_id,
        metric=SAMPLE_METRIC,
        cell=cell,
        type=kind,
        values=values,
        trials=tuple(trial.seq for trial in ended.trials),
        statement=f"at {goal.spec.load_fps} frames/s per port and direction" if values else ended.statement,
        reason=reason,
        requirements=SAMPLE_REQUIREMENTS,
        quality=(*quality, *remarks),
    )


RULES = (
    FormerRule(metric=PDV_METRIC, version=2, measure=_pdv, needs_throughput=True, reads_latency=True),
    FormerRule(metric=SAMPLE_METRIC, version=1, measure=_ipdv, needs_throughput=True),
)

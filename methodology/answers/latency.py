"""Latency over all frames of equal streams at one load, from the histograms of each direction.

The metric ids begin with `latency.all_frames`. `latency.rfc2544_26_2` is reserved for the mean of 20 streams
with one tagged frame each (RFC2544-26.2-03, RFC2544-26.2-06) and is never given to these values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from bmwg.methodology.answers import stream_percentiles
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, StreamCounts, TrialSpec
from bmwg.methodology.search.sequential import refused
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "latency.all_frames"
RFC2544_METRIC = "latency.rfc2544_26_2"  # reserved, see the module's text
UNIT = "ns"
LOW, HIGH = "low", "high"  # the ends of a percentile's interval, behind its name
FLOOR = "floor"  # the tester's own at further loads: behind it the load in frames/s, and the percentile
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
class MayLose:
    """What the search for a load lets its trials lose: `share` of them (0..1) more than `loss_ratio`."""

    loss_ratio: float = 0.0
    share: float = 0.0


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


def outcome(
    ended: Run[tuple[JudgedTrial, ...]],
    spec: TrialSpec,
    cell: Cell,
    *,
    outcome_id: str,
    may_lose: MayLose,
    remarks: tuple[str, ...] = (),
) -> Outcome:
    """Return the latency of one cell from the valid streams at its load: the values of each direction.

    It is `unstable` where more streams lost frames than trials at the load may: it is none to measure at.
    """
    streams = ended.found or ()
    kind, reason, statement = ended.type, ended.reason, ended.statement
    values: tuple[Quantity, ...] = ()
    quality: tuple[str, ...] = ()
    if streams:
        by_way = [
            (way, [trial.result.streams[place] for trial in streams])
            for place, way in enumerate(directions.ways(cell.direction))
        ]
        lost = [remark for way, sent in by_way if (remark := _lost(way, sent))]
        try:
            told = [_told(way, sent, spec) for way, sent in by_way]
        except ValueError as error:
            kind, reason = OutcomeType.INVALID, str(error)
        else:
            quality = (_length(streams, spec), *lost)
            if lossy := lose_too_often(streams, may_lose):
                kind = OutcomeType.UNSTABLE
                reason = statement = lossy
            else:
                kind = OutcomeType.MEASURED
                statement = f"at {spec.load_fps} frames/s per port and direction"
                values = tuple(value for found, _ in told for value in found)
                quality += tuple(remark for _, said in told for remark in said)
    return Outcome(
        outcome_id=outcome_id,
        metric=METRIC,
        cell=cell,
        type=kind,
        values=values,
        trials=tuple(trial.seq for trial in ended.trials),
        statement=statement,
        reason=reason,
        requirements=REQUIREMENTS,
        quality=(*quality, *remarks),
    )


def with_floor(
    outcome: Outcome, ended: Run[tuple[JudgedTrial, ...]], load_fps: int, may_lose: MayLose
) -> Outcome:
    """Return the tester's own latency with what it is at one more load beside it (docs/adr/0517).

    There is a remark in its place where the streams at that load tell none. What stops the measurer leaves no
    answer at all, as anywhere.
    """
    trials = (*outcome.trials, *(trial.seq for trial in ended.trials))
    if ended.error is not None:
        kind = OutcomeType.INVALID
        return replace(
            outcome, type=kind, trials=trials, values=(), statement="", reason=ended.reason, quality=()
        )
    streams = ended.found or ()
    why = lose_too_often(streams, may_lose) if streams else ended.reason
    values: list[Quantity] = []
    try:
        for place, way in enumerate(directions.ways(outcome.cell.direction)) if not why else ():
            whole = stream_percentiles.merged([trial.result.streams[place].latency for trial in streams])
            for name, share in PERCENTILES:
                metric = directions.metric(METRIC, way, f"{FLOOR}.{load_fps}.{name}")
                values.append(Quantity(metric=metric, number=percentile_ns(whole, share), unit=UNIT))
    except ValueError as error:
        why = str(error)
    if why:
        told = f"at {load_fps} frames/s there is none of the tester's own: {why}"
        return replace(outcome, trials=trials, quality=(*outcome.quality, told))
    return replace(outcome, trials=trials, values=(*outcome.values, *values))


def floors(outcome: Outcome, way: str) -> dict[int, dict[str, int]]:
    """Return the tester's own percentiles by load (frames/s) and name, as `with_floor` put them there."""
    start = f"{directions.metric(METRIC, way, FLOOR)}."
    found: dict[int, dict[str, int]] = {}
    for value in outcome.values:
        load, _, name = value.metric.removeprefix(start).partition(".")
        if value.metric.startswith(start):
            found.setdefault(int(load), {})[name] = int(value.number)
    return found


def lose_too_often(streams: Sequence[JudgedTrial], may_lose: MayLose) -> str:
    """Say that more streams at a load lost frames than trials at it may; empty where they do not."""
    lossy = sum(trial.loss_ratio > may_lose.loss_ratio for trial in streams)
    if not refused(lossy, len(streams), may_lose.share):
        return ""
    return (
        f"{lossy} of {len(streams)} streams at {streams[0].load} frames/s lost frames,"
        f" more than a load may at which {may_lose.share:.0%} of the trials do"
    )


def _told(way: str, sent: Sequence[StreamCounts], spec: TrialSpec) -> tuple[list[Quantity], list[str]]:
    """Return the values of one direction, and what has to be read with them; ValueError without a frame."""
    histograms = [stream.latency for stream in sent]
    whole = stream_percentiles.merged(histograms)
    if not whole.frames:
        raise ValueError(directions.of("no stream holds the latency of any frame", way))
    values, quality = list(summarize(whole).quantities(way)), []
    shares = [share for _, share in PERCENTILES]
    ends = stream_percentiles.intervals(histograms, shares, duration_s=spec.duration_s)
    for (name, _), found in zip(PERCENTILES, ends, strict=False):  # one stream has none
        for end, number in ((LOW, found.low_ns), (HIGH, found.high_ns)):
            if number is not None:
                metric = directions.metric(METRIC, way, f"{name}.{end}")
                values.append(Quantity(metric=metric, number=number, unit=UNIT))
    if whole.frames < 10_000:  # choice: ten frames beyond p99.9
        quality.append(directions.of(f"p99.9 rests on {whole.frames} frames", way))
    return values, quality


def _length(streams: Sequence[JudgedTrial], spec: TrialSpec) -> str:
    lossy = sum(bool(trial.lost) for trial in streams)
    said = f"{len(streams)} stream{'s' if len(streams) > 1 else ''} of {spec.duration_s:g} s"
    return f"{said}, {lossy} of them lost frames" if lossy else f"{said}, none lost a frame"


def _lost(way: str, sent: Sequence[StreamCounts]) -> str:
    """Say what was lost in one direction, and up to which percentile that is less than what lies beyond."""
    lost = sum(stream.lost_frames for stream in sent)
    if not lost:
        return ""
    every = sum(stream.sent_frames for stream in sent)
    said = f"{lost} of {every} frames were lost and have no latency"
    if above := [name for name, share in PERCENTILES if lost > (1 - share) * every]:
        said += f": more than lie beyond {' and '.join(above)}"
    return directions.of(said, way)

"""Latency by tagged frames: RFC 2544 26.2 (one a stream) and RFC 8219 7.2 (at least 500 a stream).

The streams are trials; the time stamps of their tagged frames come beside them, by sequence number of the
trial. Latency over all frames is another metric (`methodology/answers/latency.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from bmwg.methodology.answers.latency import RFC2544_METRIC
from bmwg.methodology.benchmarks.concluded import Concluded
from bmwg.methodology.benchmarks.statistics import median, percentile, spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, repetitions
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic

TYPICAL_METRIC = "latency.rfc8219_7_2.typical"
WORST_METRIC = "latency.rfc8219_7_2.worst_case"
UNIT = "ns"
STREAMS = 20  # rfc2544-26.2
STREAM_S = 120.0  # rfc2544-26.2
TAG_AFTER_S = 60.0  # rfc2544-26.2
RFC8219_TAGS = 500  # RFC8219-7.2-03
_WORST = Fraction(999, 1000)  # RFC8219-7.2-07
REQUIREMENTS = ("RFC2544-26.2-01", "RFC2544-26.2-02", "RFC2544-26.2-03", "RFC2544-26.2-06")
RFC8219_REQUIREMENTS = ("RFC8219-7.2-02", "RFC8219-7.2-03", "RFC8219-7.2-06", "RFC8219-7.2-07")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggedFrame:
    """One tagged frame: when it was fully sent (A) and when it arrived (B), ns of one clock; B None: lost."""

    sent_ns: int
    received_ns: int | None
    after_s: float  # into the stream
    direction: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsGoal:
    """The streams of one frame size at its throughput (frames/s per port and direction)."""

    cell: Cell
    throughput_fps: int
    streams: int = STREAMS
    stream_s: float = STREAM_S
    tags: int = 1
    max_repeats: int = 5

    def __post_init__(self) -> None:
        """Refuse what is no stream (ValueError naming field and clause)."""
        if self.streams < 1:
            raise ValueError(f"streams (RFC 2544 26.2): expected at least 1, found {self.streams}")
        self.spec()

    def spec(self) -> TrialSpec:
        """Return the stream as a trial."""
        stream = Traffic.of(self.cell).spec(self.throughput_fps, self.stream_s)
        return replace(stream, tag_after_s=min(TAG_AFTER_S, self.stream_s / 2), tags=self.tags)


def tagged_frames(trial: JudgedTrial) -> tuple[TaggedFrame, ...]:
    """Return the tagged frames of a trial, all directions; a time at send is 0, for only differences count.

    The tester takes the time before it hands a frame to its port, so what the port takes is in the latency.
    """
    spec = trial.result.spec
    return tuple(
        TaggedFrame(
            sent_ns=0,
            received_ns=latency_ns,
            after_s=max(spec.tag_after_s or 0.0, sequence / spec.load_fps),
            direction=direction,
        )
        for direction, stream in enumerate(trial.result.streams)
        for sequence, latency_ns in zip(spec.tag_frames, stream.tagged_ns, strict=True)
    )


def procedure(goal: StreamsGoal) -> Procedure[tuple[int, ...]]:
    """Run the streams one after the other; return the sequence numbers of the valid ones."""
    short = f"the tester could not send {goal.throughput_fps} frames/s"
    streams = repetitions(goal.spec(), goal.streams, "stream", max_repeats=goal.max_repeats, short=short)
    return tuple(trial.seq for trial in (yield from streams))


def rfc2544_outcome(
    ended: Run[tuple[int, ...]],
    tags: Mapping[int, Sequence[TaggedFrame]],
    goal: StreamsGoal,
    *,
    outcome_id: str,
) -> Outcome:
    """Return the mean latency of one tagged frame a stream: the first that left after 60 s.

    Each direction is a stream of its own and has its own mean. Nothing is averaged around a stream without
    its tag: one that was lost makes the outcome `unstable`, since frames are lost at a throughput that was
    found without loss; one that never left makes it `invalid`.
    """
    of: dict[str, Any] = {"metric": RFC2544_METRIC, "cell": goal.cell, "requirements": REQUIREMENTS}
    ways = directions.ways(goal.cell.direction)
    latencies: list[list[float]] = [[] for _ in ways]
    missing: list[int] = []
    kind = OutcomeType.UNSTABLE
    for seq in ended.found or ():
        for place, found in enumerate(latencies):
            first = next(iter(_late_enough(tags.get(seq, ()), place, goal)), None)
            if first is None:
                kind = OutcomeType.INVALID
            if first is not None and first.received_ns is not None:
                found.append(first.received_ns - first.sent_ns)
            elif seq not in missing:
                missing.append(seq)
    reason = ended.reason
    if missing:
        reason = f"no tagged frame arrived in trials {', '.join(map(str, missing))}"
    if ended.found is None or missing or not all(latencies):
        kind = ended.type if ended.found is None else kind
        return Concluded(type=kind, reason=reason).outcome(ended.trials, outcome_id=outcome_id, **of)
    values: list[Quantity] = []
    for way, found in zip(ways, latencies, strict=True):
        over = spread(found)
        numbers = (("", over.mean), ("min", over.minimum), ("max", over.maximum))
        values += directions.quantities(RFC2544_METRIC, way, UNIT, numbers)
    each = " in each direction" if len(ways) > 1 else ""
    told = f"mean of {len(latencies[0])} streams of {goal.stream_s:g} s{each}, one tagged frame each"
    return _measured(goal, values, told).outcome(ended.trials, outcome_id=outcome_id, **of)


def rfc8219_outcome(
    ended: Run[tuple[int, ...]],
    tags: Mapping[int, Sequence[TaggedFrame]],
    goal: StreamsGoal,
    *,
    outcome_id: str,
) -> Outcome:
    """Return typical (median) and worst-case (99.9th percentile) latency, as medians over the streams.

    The 1st and 99th percentile over the streams stand beside each (RFC8219-7.2-11). Each direction has its
    own values, from its own tagged frames: at least 500 a stream of each.
    """
    of: dict[str, Any] = {"metric": TYPICAL_METRIC, "cell": goal.cell, "requirements": RFC8219_REQUIREMENTS}
    ways = directions.ways(goal.cell.direction)
    typical: list[list[float]] = [[] for _ in ways]
    worst: list[list[float]] = [[] for _ in ways]
    few: list[int] = []
    counts: list[int] = []
    kind = OutcomeType.UNSTABLE  # tagged frames lost at a load that was found without loss
    for seq in ended.found or ():
        for place in range(len(ways)):
            sent = _late_enough(tags.get(seq, ()), place, goal)
            samples = [float(tag.received_ns - tag.sent_ns) for tag in sent if tag.received_ns is not None]
            if len(sent) < RFC8219_TAGS:
                kind = OutcomeType.INVALID
            if len(samples) >= RFC8219_TAGS:
                counts.append(len(samples))
                typical[place].append(median(samples))
                worst[place].append(percentile(samples, _WORST))
            elif seq not in few:
                few.append(seq)
    reason = ended.reason
    if few:
        reason = f"fewer than {RFC8219_TAGS} tagged frames arrived in trials {', '.join(map(str, few))}"
    if ended.found is None or few or not all(typical):
        kind = ended.type if ended.found is None else kind
        return Concluded(type=kind, reason=reason).outcome(ended.trials, outcome_id=outcome_id, **of)
    values: list[Quantity] = []
    for place, way in enumerate(ways):
        for metric, series in ((TYPICAL_METRIC, typical[place]), (WORST_METRIC, worst[place])):
            numbers = (
                ("", median(series)),
                ("p1", percentile(series, Fraction(1, 100))),
                ("p99", percentile(series, Fraction(99, 100))),
            )
            values += directions.quantities(metric, way, UNIT, numbers)
    each = " in each direction" if len(ways) > 1 else ""
    told = f"medians over {len(typical[0])} streams of {goal.stream_s:g} s{each}"
    return _measured(goal, values, told, *_largest(min(counts))).outcome(
        ended.trials, outcome_id=outcome_id, **of
    )


def _measured(goal: StreamsGoal, values: Sequence[Quantity], told: str, *further: str) -> Concluded:
    return Concluded(
        type=OutcomeType.MEASURED,
        values=tuple(values),
        quality=(told, *_short(goal), *further),
        statement=f"at {goal.throughput_fps} frames/s per port and direction",
    )


def _late_enough(tags: Sequence[TaggedFrame], place: int, goal: StreamsGoal) -> list[TaggedFrame]:
    """Return the tagged frames of one direction, counted from 0, that left after 60 s."""
    return [
        tag for tag in tags if tag.direction == place and tag.after_s >= min(TAG_AFTER_S, goal.stream_s / 2)
    ]


def _short(goal: StreamsGoal) -> tuple[str, ...]:
    words = []
    if goal.streams < STREAMS:
        words.append(f"{goal.streams} streams, at least {STREAMS} are required (RFC2544-26.2-06)")
    if goal.stream_s < STREAM_S:
        words.append(f"streams of {goal.stream_s:g} s, at least {STREAM_S:g} s (RFC2544-26.2-02)")
    return tuple(words)


def _largest(tags: int) -> tuple[str, ...]:
    """Say that a worst case is a single frame's: so few tagged frames have none beyond the percentile."""
    rank = -(-_WORST.numerator * tags // _WORST.denominator)
    return (f"of {tags} tagged frames the 99.9th percentile is the largest",) if rank == tags else ()

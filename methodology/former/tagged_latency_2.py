"""Latency by tagged frames, version 2: the streams of both directions were pooled into one value.

Frozen. Commits after 939b29af8664, up to 77e44c9b3248, measured by it; docs/adr/0265 says what version 3 does
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from bmwg.methodology.benchmarks.statistics import median, percentile, spread
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked, settings
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run, TesterShortError, valid_trial
from bmwg.methodology.trial import JudgedTrial

RFC2544_METRIC = "latency.rfc2544_26_2"
TYPICAL_METRIC = "latency.rfc8219_7_2.typical"
WORST_METRIC = "latency.rfc8219_7_2.worst_case"
UNIT = "ns"
STREAMS = 20  # rfc2544-26.2
STREAM_S = 120.0  # rfc2544-26.2
TAG_AFTER_S = 60.0  # rfc2544-26.2
RFC8219_TAGS = 500  # RFC8219-7.2-03
REQUIREMENTS = ("RFC2544-26.2-01", "RFC2544-26.2-02", "RFC2544-26.2-03", "RFC2544-26.2-06")
RFC8219_REQUIREMENTS = ("RFC8219-7.2-02", "RFC8219-7.2-03", "RFC8219-7.2-06", "RFC8219-7.2-07")


def _measure(asked: Asked, tags_each: int, judge: Callable[..., Outcome]) -> Answered:
    """Measure as version 2 did, or replay what it recorded."""
    said = settings(asked.profile, "tagged_latency")
    goal = StreamsGoal(
        cell=asked.cell,
        throughput_fps=asked.load_fps,
        streams=int(said.get("streams", STREAMS)),
        stream_s=float(said.get("stream_s", STREAM_S)),
        tags=tags_each,
        max_repeats=asked.profile.policy.max_repeats,
    )
    ended = asked.run(procedure(goal))
    tags = {trial.seq: tagged_frames(trial) for trial in ended.trials if trial.valid}
    outcome = judge(ended, tags, goal, outcome_id=asked.outcome_id)
    assert asked.throughput is not None
    remarks = load_remark(asked.throughput)
    return Answered(outcomes=(replace(outcome, quality=(*outcome.quality, *remarks)),), error=ended.error)


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
        cell = self.cell
        return TrialSpec(
            frame_octets=cell.frame_octets,
            load_fps=self.throughput_fps,
            duration_s=self.stream_s,
            direction=cell.direction,
            frame_format=cell.frame_format,
            flows=cell.flows,
            vlan_id=cell.vlan_id,
            tag_after_s=min(TAG_AFTER_S, self.stream_s / 2),
            tags=self.tags,
        )


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
    valid = []
    for number in range(goal.streams):
        trial = yield from valid_trial(
            goal.spec(),
            f"stream {number + 1}",
            max_repeats=goal.max_repeats,
            short_limit=1 + goal.max_repeats,
        )
        if trial is None:
            raise TesterShortError(f"the tester could not send {goal.throughput_fps} frames/s")
        valid.append(trial.seq)
    return tuple(valid)


def rfc2544_outcome(
    ended: Run[tuple[int, ...]],
    tags: Mapping[int, Sequence[TaggedFrame]],
    goal: StreamsGoal,
    *,
    outcome_id: str,
) -> Outcome:
    """Return the mean latency of one tagged frame a stream: the first that left after 60 s.

    Nothing is averaged around a stream without its tag: one that was lost makes the outcome `unstable`, since
    frames are lost at a throughput that was found without loss; one that never left makes it `invalid`.
    """
    latencies: list[float] = []
    missing: list[int] = []
    kind = OutcomeType.UNSTABLE
    for seq in ended.found or ():
        first: dict[int, TaggedFrame] = {}
        for tag in tags.get(seq, ()):
            if tag.after_s >= min(TAG_AFTER_S, goal.stream_s / 2):
                first.setdefault(tag.direction, tag)
        arrived = [tag.received_ns - tag.sent_ns for tag in first.values() if tag.received_ns is not None]
        if not first:
            kind = OutcomeType.INVALID
        if not first or len(arrived) < len(first):
            missing.append(seq)
        else:
            latencies.extend(arrived)
    reason = ended.reason
    if missing:
        reason = f"no tagged frame arrived in trials {', '.join(map(str, missing))}"
    if ended.found is None or missing or not latencies:
        kind = ended.type if ended.found is None else kind
        return _unanswered(RFC2544_METRIC, goal, ended, outcome_id, (kind, reason), REQUIREMENTS)
    found = spread(latencies)
    numbers = (
        (RFC2544_METRIC, found.mean),
        (f"{RFC2544_METRIC}.min", found.minimum),
        (f"{RFC2544_METRIC}.max", found.maximum),
    )
    return Outcome(
        outcome_id=outcome_id,
        metric=RFC2544_METRIC,
        cell=goal.cell,
        type=OutcomeType.MEASURED,
        values=tuple(Quantity(metric=name, number=number, unit=UNIT) for name, number in numbers),
        trials=tuple(trial.seq for trial in ended.trials),
        statement=f"at {goal.throughput_fps} frames/s per port and direction",
        requirements=REQUIREMENTS,
        quality=(
            f"mean of {found.count} streams of {goal.stream_s:g} s, one tagged frame each",
            *_short(goal),
        ),
    )


def rfc8219_outcome(
    ended: Run[tuple[int, ...]],
    tags: Mapping[int, Sequence[TaggedFrame]],
    goal: StreamsGoal,
    *,
    outcome_id: str,
) -> Outcome:
    """Return typical (median) and worst-case (99.9th percentile) latency, as medians over the streams.

    The 1st and 99th percentile over the streams stand beside each (RFC8219-7.2-11).
    """
    typical: list[float] = []
    worst: list[float] = []
    few: list[int] = []
    kind = OutcomeType.UNSTABLE  # tagged frames lost at a load that was found without loss
    for seq in ended.found or ():
        samples = [
            float(tag.received_ns - tag.sent_ns)
            for tag in tags.get(seq, ())
            if tag.received_ns is not None and tag.after_s >= min(TAG_AFTER_S, goal.stream_s / 2)
        ]
        if len(tags.get(seq, ())) < RFC8219_TAGS:
            kind = OutcomeType.INVALID
        if len(samples) < RFC8219_TAGS:
            few.append(seq)
        else:
            typical.append(median(samples))
            worst.append(percentile(samples, Fraction(999, 1000)))
    reason = ended.reason
    if few:
        reason = f"fewer than {RFC8219_TAGS} tagged frames arrived in trials {', '.join(map(str, few))}"
    if ended.found is None or few or not typical:
        kind = ended.type if ended.found is None else kind
        return _unanswered(TYPICAL_METRIC, goal, ended, outcome_id, (kind, reason), RFC8219_REQUIREMENTS)
    numbers = []
    for metric, series in ((TYPICAL_METRIC, typical), (WORST_METRIC, worst)):
        numbers.append((metric, median(series)))
        numbers.append((f"{metric}.p1", percentile(series, Fraction(1, 100))))
        numbers.append((f"{metric}.p99", percentile(series, Fraction(99, 100))))
    return Outcome(
        outcome_id=outcome_id,
        metric=TYPICAL_METRIC,
        cell=goal.cell,
        type=OutcomeType.MEASURED,
        values=tuple(Quantity(metric=name, number=number, unit=UNIT) for name, number in numbers),
        trials=tuple(trial.seq for trial in ended.trials),
        statement=f"at {goal.throughput_fps} frames/s per port and direction",
        requirements=RFC8219_REQUIREMENTS,
        quality=(f"medians over {len(typical)} streams of {goal.stream_s:g} s", *_short(goal)),
    )


def _short(goal: StreamsGoal) -> tuple[str, ...]:
    words = []
    if goal.streams < STREAMS:
        words.append(f"{goal.streams} streams, at least {STREAMS} are required (RFC2544-26.2-06)")
    if goal.stream_s < STREAM_S:
        words.append(f"streams of {goal.stream_s:g} s, at least {STREAM_S:g} s (RFC2544-26.2-02)")
    return tuple(words)


def _unanswered(
    metric: str,
    goal: StreamsGoal,
    ended: Run[tuple[int, ...]],
    outcome_id: str,
    why: tuple[OutcomeType, str],
    requirements: tuple[str, ...],
) -> Outcome:
    kind, reason = why
    return Outcome(
        outcome_id=outcome_id,
        metric=metric,
        cell=goal.cell,
        type=kind,
        trials=tuple(trial.seq for trial in ended.trials),
        statement="" if kind is OutcomeType.INVALID else reason,
        reason=reason,
        requirements=requirements,
    )


RULES = (
    FormerRule(
        metric=RFC2544_METRIC,
        version=2,
        measure=lambda asked: _measure(asked, 1, rfc2544_outcome),
        needs_throughput=True,
    ),
    FormerRule(
        metric=TYPICAL_METRIC,
        version=2,
        measure=lambda asked: _measure(asked, RFC8219_TAGS, rfc8219_outcome),
        needs_throughput=True,
    ),
)

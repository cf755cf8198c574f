"""RFC 8219 as rules: latency by many tagged frames, and delay variation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from bmwg.methodology.benchmarks.delay_variation import (
    IPDV_METRIC,
    PDV_METRIC,
    SAMPLE_METRIC,
    ipdv,
    over_repetitions,
    pdv_of_histogram_ns,
)
from bmwg.methodology.benchmarks.statistics import median, percentile
from bmwg.methodology.benchmarks.tagged_latency import (
    RFC8219_TAGS,
    STREAM_S,
    STREAMS,
    TAG_AFTER_S,
    TYPICAL_METRIC,
    WORST_METRIC,
)
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.records import Direction, FrameFormat, Outcome, OutcomeType, StreamCounts, TrialSpec
from bmwg.methodology.trial import directions
from bmwg.reports.checker.clauses.benchmarks import LATENCY_DEFINITIONS
from bmwg.reports.checker.clauses.rfc2544_conditions import conditions
from bmwg.reports.checker.clauses.tester import told
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import NAMED, close, none_wrong, port_kinds, stated, throughputs
from bmwg.reports.checker.verdicts import Answer, Scope, Verdict, clause, held, not_applicable, not_assessed
from bmwg.reports.checker.waits import NO_LENGTH, shortest_s

SIZES = frozenset({64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216})
VARIATION_S = 60.0  # RFC8219-7.3.1-02
_LATENCY = ("latency.rfc8219",)
_PDV = (PDV_METRIC,)
_IPDV = (IPDV_METRIC, SAMPLE_METRIC)
_ALL = (*_LATENCY, *_PDV, *_IPDV)
_VIRTUAL = frozenset({"af_packet", "af_xdp", "xdp", "virtio_user", "memif", "pcap", "veth", "tap"})
_PHYSICAL = frozenset({"pci"})  # other kinds are any interface: which one is a lab's, `lab_ports` says


def _of(scope: Scope, beginnings: tuple[str, ...]) -> list[Outcome]:
    return [outcome for outcome in scope.outcomes if outcome.metric.startswith(beginnings)]


def _trials(scope: Scope, one: Outcome) -> list[Trial]:
    return [t for t in scope.evidence.of(one.cell.cell_id, recorded_as(one.metric)) if t.trial.valid]


def _measured(scope: Scope, beginnings: tuple[str, ...]) -> list[Outcome]:
    return [outcome for outcome in _of(scope, beginnings) if outcome.type is OutcomeType.MEASURED]


def _streams(scope: Scope, beginnings: tuple[str, ...], least: int) -> Answer:
    """Hold the number of streams behind each outcome that was tried against the least one."""
    outcomes = _of(scope, beginnings)
    if not outcomes:
        return not_applicable("the run holds no outcome of it")
    fewest = min(len(_trials(scope, outcome)) for outcome in outcomes)
    return held(fewest >= least, f"at least {least} repetitions", f"at least {fewest}")


def _length(scope: Scope, beginnings: tuple[str, ...], least_s: float) -> Answer:
    trials = [trial for outcome in _of(scope, beginnings) for trial in _trials(scope, outcome)]
    if not trials:
        return not_applicable("the run holds no valid stream of it")
    shortest = shortest_s(trials)
    if shortest is None:
        return not_assessed(NO_LENGTH)
    return held(shortest >= least_s, f"at least {least_s:g} s", f"{shortest:g} s")


def _pdv(streams: list[StreamCounts]) -> dict[str, float]:
    """Return what is told of the delay variation of streams of one direction, by part of the metric."""
    over = over_repetitions([float(pdv_of_histogram_ns(stream.latency)[0]) for stream in streams])
    return {"": over.median_ns, "p1": over.p1_ns, "p99": over.p99_ns}


def _ipdv(streams: list[StreamCounts]) -> dict[str, float]:
    """Return the medians over streams of one direction, by part of the metric (ValueError: one has none)."""
    samples = [ipdv(stream.tagged_ns) for stream in streams]
    return {
        "": median([one.median_ns for one in samples]),
        "min": median([one.minimum_ns for one in samples]),
        "max": median([one.maximum_ns for one in samples]),
    }


def _as_computed(
    scope: Scope, metric: str, numbers: Callable[[list[StreamCounts]], dict[str, float]], *parts: str
) -> Answer:
    """Hold parts of a metric's values against those that the streams of each direction give."""
    measured = [outcome for outcome in _measured(scope, (metric,)) if outcome.metric == metric]
    if not measured:
        return not_applicable("no outcome of it is a plain number")
    wrong = []
    for outcome in measured:
        trials = [scope.evidence.whole(trial).result.streams for trial in _trials(scope, outcome)]
        said = {value.metric: value.number for value in outcome.values}
        for place, way in enumerate(directions.ways(outcome.cell.direction)):
            try:
                wanted = numbers([streams[place] for streams in trials])
            except ValueError:  # a stream without times of its frames
                wanted = {}
            names = {part: directions.metric(metric, way, part) for part in parts}
            if not all(close(said.get(name), wanted.get(part)) for part, name in names.items()):
                wrong.append(directions.of(outcome.outcome_id, way))
    expected = ", ".join(directions.metric(metric, "", part) for part in parts)
    found = f"otherwise: {', '.join(wrong[:NAMED]) or 'none'}"
    return held(not wrong, f"{expected} of the streams of each direction", found)


def _has(one: Outcome, *names: str) -> bool:
    """Whether an outcome has these values of each direction of its cell."""
    present = {directions.without(value.metric) for value in one.values}
    return {(name, way) for name in names for way in directions.ways(one.cell.direction)} <= present


def _sent_as(scope: Scope, expected: str, fits: Callable[[TrialSpec], bool]) -> Answer:
    """Hold what was sent in every stream against the clause."""
    trials = [trial for outcome in _of(scope, _ALL) for trial in _trials(scope, outcome)]
    if not trials:
        return not_applicable("the run holds no valid stream")
    wrong = [trial.trial.seq for trial in trials if not fits(trial.trial.result.spec)]
    return none_wrong(wrong, len(trials), expected, "streams")


@clause("RFC8219-5")
def unicast(scope: Scope) -> Answer:
    """Frames of the streams are IP, and none of them is a broadcast."""
    return _sent_as(
        scope,
        "unicast IP",
        lambda spec: spec.frame_format is not FrameFormat.ETHERNET and spec.broadcast_every is None,
    )


@clause("RFC8219-5.1-02")
def media_noted(scope: Scope) -> Answer:
    """The medium in the header is the one that the tester's ports have, with its rate where it has one."""
    medium = scope.run["medium"]
    kind, rate = str(medium["kind"]), medium["line_rate_bps"]
    kinds = port_kinds(scope)
    physical = bool(kinds & _PHYSICAL) or bool(scope.run["testbed"].get("lab_ports"))
    noted = bool(rate) and kind not in _VIRTUAL if physical else True
    found = f"{kind}, {f'{rate} bit/s' if rate else 'no rate'}; ports of {', '.join(sorted(kinds)) or kind}"
    return held(noted, "the medium of the ports, with its rate where it is a physical one", found)


@clause("RFC8219-5.1.1-01")
def sizes(scope: Scope) -> Answer:
    """All sizes of the list, in each condition."""
    by_condition = conditions(scope.outcomes)
    lacking = {name: sorted(SIZES - found) for (name, _), found in by_condition.items() if SIZES - found}
    whole = bool(by_condition) and not lacking
    return held(whole, "the sizes of the list in each condition", f"without {lacking or 'none'}")


@clause("RFC8219-5.3-01")
def bidirectional(scope: Scope) -> Answer:
    """Both directions at once."""
    return _sent_as(scope, "both directions", lambda spec: spec.direction is Direction.BOTH)


@clause("RFC8219-5.3-03")
def udp(scope: Scope) -> Answer:
    """UDP over either version of IP."""
    return _sent_as(scope, "UDP", lambda spec: spec.frame_format is not FrameFormat.ETHERNET)


@clause("RFC8219-7.2-01")
def throughput_first(scope: Scope) -> Answer:
    """Each stream of latency ran at the throughput of its cell, which was found before."""
    outcomes = _of(scope, _LATENCY)
    if not outcomes:
        return not_applicable("the run holds no outcome of it")
    wrong = []
    for outcome in outcomes:
        trials = _trials(scope, outcome)
        found = throughputs(scope).get(outcome.cell.cell_id)
        first = min((trial.trial.seq for trial in trials), default=0)
        known = found is not None and found.lower is not None and found.type is not OutcomeType.UNSTABLE
        before = known and max(found.trials, default=0) < first  # type: ignore[union-attr]
        if not before or any(
            trial.trial.result.spec.load_fps != found.lower.load_fps  # type: ignore[union-attr]
            for trial in trials
        ):
            wrong.append(outcome.outcome_id)
    return held(
        not wrong,
        "the throughput of each size, and streams at it",
        f"{len(wrong)} of {len(outcomes)} otherwise",
    )


@clause("RFC8219-7.2-02")
def stream_length(scope: Scope) -> Answer:
    """At least 120 s."""
    return _length(scope, _LATENCY, STREAM_S)


@clause("RFC8219-7.2-03")
def tags(scope: Scope) -> Answer:
    """At least 500 tagged frames, from 60 s on."""
    trials = [trial for outcome in _of(scope, _LATENCY) for trial in _trials(scope, outcome)]
    if not trials:
        return not_applicable("the run holds no valid stream of it")
    wrong = [
        trial.trial.seq
        for trial in trials
        if len(trial.trial.result.spec.tag_frames) < RFC8219_TAGS
        or (trial.trial.result.spec.tag_after_s or 0.0) < TAG_AFTER_S
    ]
    return held(not wrong, f"{RFC8219_TAGS} tagged frames after 60 s", f"{len(wrong)} streams otherwise")


@clause("RFC8219-7.2-04")
def both_times(scope: Scope) -> Answer:
    """The journal holds for each tagged frame when it was sent, and its latency: so when it arrived."""
    trials = [trial for outcome in _of(scope, _LATENCY) for trial in _trials(scope, outcome)]
    if not trials:
        return not_applicable("the run holds no valid stream of it")
    lacking = [
        trial.trial.seq
        for trial in trials
        for stream in trial.trial.result.streams
        if not len(stream.tagged_at_ns) == len(stream.tagged_ns) >= len(trial.trial.result.spec.tag_frames)
        or any(
            at is None
            for at, took in zip(stream.tagged_at_ns, stream.tagged_ns, strict=True)
            if took is not None
        )
    ]
    found = f"{len(lacking)} of {len(trials)} streams with less {lacking[:NAMED]}"
    return held(not lacking, "both times of each tagged frame", found)


@clause("RFC8219-7.2-05")
def tag_behind_udp(scope: Scope) -> Answer:
    """The signature that tags a frame lies in the payload of UDP."""
    return udp.check(scope)


def _medians(scope: Scope, metric: str, summary: Callable[[list[float]], float]) -> Answer:
    """Hold a value against the median over the streams of a summary of each one's tagged frames."""
    measured = _measured(scope, _LATENCY)
    if not measured:
        return not_applicable("no outcome of it is a plain number")

    def fits(one: Outcome, place: int, way: str) -> bool:
        samples = [
            [float(ns) for ns in trial.trial.result.streams[place].tagged_ns if ns is not None]
            for trial in _trials(scope, one)
        ]
        wanted = median([summary(found) for found in samples]) if samples and all(samples) else None
        return close(stated(one, directions.metric(metric, way)), wanted)

    wrong = [
        directions.of(outcome.outcome_id, way)
        for outcome in measured
        for place, way in enumerate(directions.ways(outcome.cell.direction))
        if not fits(outcome, place, way)
    ]
    expected = f"{metric} of the tagged frames of each direction"
    return held(not wrong, expected, f"otherwise: {', '.join(wrong[:NAMED]) or 'none'}")


@clause("RFC8219-7.2-06")
def typical(scope: Scope) -> Answer:
    """The median of each stream's tagged frames, and of these the median."""
    return _medians(scope, TYPICAL_METRIC, median)


@clause("RFC8219-7.2-07")
def worst_case(scope: Scope) -> Answer:
    """The 99.9th percentile of each stream's tagged frames, and of these the median."""
    return _medians(scope, WORST_METRIC, lambda found: percentile(found, Fraction(999, 1000)))


@clause("RFC8219-7.2-08")
def latency_repeated(scope: Scope) -> Answer:
    """At least 20 streams; the values are medians over them: without a value there is none to report."""
    enough = _streams(scope, _LATENCY, STREAMS)
    for answer in (enough, typical.check(scope), worst_case.check(scope)):
        if answer.verdict != "met":
            return answer
    return enough


@clause("RFC8219-7.2-09")
def definition_stated(scope: Scope) -> Answer:
    """The tester says which definition of RFC 1242 its times follow."""
    if not _of(scope, _LATENCY):
        return not_applicable("the run holds no outcome of it")
    said = sorted(map(str, told(scope, "latency_definition")))
    fits = bool(said) and all(text in LATENCY_DEFINITIONS for text in said)
    return held(fits, " or ".join(LATENCY_DEFINITIONS), ", ".join(said) or "no driver states one")


@clause("RFC8219-7.3-01")
def pdv_measured(scope: Scope) -> Answer:
    """PDV is the recommended form."""
    return held(bool(_of(scope, _PDV)), "an outcome of PDV", f"{len(_of(scope, _PDV))}")


@clause("RFC8219-7.3.1-02")
def pdv_length(scope: Scope) -> Answer:
    """At least 60 s."""
    return _length(scope, _PDV, VARIATION_S)


@clause("RFC8219-7.3.1-05")
def pdv_repeated(scope: Scope) -> Answer:
    """At least 20 streams; the number is their median: without one there is none to report."""
    enough = _streams(scope, _PDV, STREAMS)
    if enough.verdict is not Verdict.MET:
        return enough
    number = _as_computed(scope, PDV_METRIC, _pdv, "")
    return enough if number.verdict is Verdict.MET else number


@clause("RFC8219-7.3.1-06")
def pdv_spread(scope: Scope) -> Answer:
    """1st and 99th percentile over the streams."""
    return _as_computed(scope, PDV_METRIC, _pdv, "p1", "p99")


@clause("RFC8219-7.3.2-01")
def ipdv_length(scope: Scope) -> Answer:
    """At least 60 s."""
    return _length(scope, _IPDV, VARIATION_S)


@clause("RFC8219-7.3.2-03")
def ipdv_values(scope: Scope) -> Answer:
    """Minimum, median and maximum; those of the last frames of the streams are computed anew."""
    measured = _measured(scope, _IPDV)
    if not measured:
        return not_applicable("no outcome of it is a plain number")
    lacking = [
        outcome.outcome_id
        for outcome in measured
        if not _has(outcome, f"{outcome.metric}.min", outcome.metric, f"{outcome.metric}.max")
    ]
    if lacking or all(outcome.metric != SAMPLE_METRIC for outcome in measured):
        return held(not lacking, "minimum, median and maximum", f"{len(lacking)} of {len(measured)} without")
    return _as_computed(scope, SAMPLE_METRIC, _ipdv, "", "min", "max")


@clause("RFC8219-7.3.2-04")
def ipdv_repeated(scope: Scope) -> Answer:
    """At least 20 streams."""
    return _streams(scope, _IPDV, STREAMS)


@clause("RFC8219-12-01")
def iterations(scope: Scope) -> Answer:
    """More than one stream a benchmark."""
    fewest = min((len(_trials(scope, outcome)) for outcome in scope.outcomes), default=0)
    return held(fewest > 1, "several iterations", f"at least {fewest}")

"""RFC 8219 as rules: latency by many tagged frames, and delay variation."""

from __future__ import annotations

from bmwg.methodology.benchmarks.delay_variation import IPDV_METRIC, PDV_METRIC
from bmwg.methodology.benchmarks.tagged_latency import (
    RFC8219_TAGS,
    STREAM_S,
    STREAMS,
    TYPICAL_METRIC,
    WORST_METRIC,
)
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.records import Direction, FrameFormat, Outcome, OutcomeType
from bmwg.reports.checker.clauses_benchmarks import LATENCY_DEFINITIONS
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

SIZES = frozenset({64, 128, 256, 512, 768, 1024, 1280, 1518, 1522, 2048, 4096, 8192, 9216})
VARIATION_S = 60.0  # RFC8219-7.3.1-02
_LATENCY = "latency.rfc8219"


def _of(scope: Scope, beginning: str) -> list[Outcome]:
    return [one for one in scope.outcomes if one.metric.startswith(beginning)]


def _trials(scope: Scope, one: Outcome) -> list[Trial]:
    return [t for t in scope.evidence.of(one.cell.cell_id, recorded_as(one.metric)) if t.trial.valid]


def _streams(scope: Scope, beginning: str, least: int) -> Answer:
    outcomes = _of(scope, beginning)
    if not outcomes:
        return not_applicable("the run holds no outcome of it")
    fewest = min(len(_trials(scope, one)) for one in outcomes)
    return held(fewest >= least, f"at least {least} repetitions", f"at least {fewest}")


def _length(scope: Scope, beginning: str, least_s: float) -> Answer:
    trials = [trial for one in _of(scope, beginning) for trial in _trials(scope, one)]
    if not trials:
        return not_applicable("the run holds no valid stream of it")
    shortest = min(trial.trial.result.spec.duration_s for trial in trials)
    return held(shortest >= least_s, f"at least {least_s:g} s", f"{shortest:g} s")


def _values(scope: Scope, beginning: str, *names: str) -> Answer:
    measured = [one for one in _of(scope, beginning) if one.type is OutcomeType.MEASURED]
    if not measured:
        return not_applicable("no outcome of it is a plain number")
    lacking = [one for one in measured if not set(names) <= {value.metric for value in one.values}]
    return held(not lacking, ", ".join(names), f"{len(lacking)} of {len(measured)} outcomes without")


@clause("RFC8219-5")
def unicast(scope: Scope) -> Answer:
    """Frames of the streams are unicast IP."""
    formats = {one.cell.frame_format for one in scope.outcomes}
    return held(FrameFormat.ETHERNET not in formats, "unicast IP", ", ".join(sorted(formats)))


@clause("RFC8219-5.1-02")
def media_noted(scope: Scope) -> Answer:
    """The header names the medium."""
    kind = scope.evidence.run["medium"]["kind"] if scope.evidence.run else ""
    return held(bool(kind), "the medium", kind or "none")


@clause("RFC8219-5.1.1-01")
def sizes(scope: Scope) -> Answer:
    """All sizes of the list."""
    found = {one.cell.frame_octets for one in scope.outcomes}
    return held(found >= SIZES, "the sizes of the list", f"{sorted(found)}")


@clause("RFC8219-5.3-01")
def bidirectional(scope: Scope) -> Answer:
    """Both directions at once."""
    found = sorted({one.cell.direction.value for one in scope.outcomes})
    return held(found == [Direction.BOTH.value], "both directions", ", ".join(found))


@clause("RFC8219-5.3-03")
def udp(scope: Scope) -> Answer:
    """UDP over either version of IP."""
    formats = {one.cell.frame_format for one in scope.outcomes}
    return held(FrameFormat.ETHERNET not in formats, "UDP", ", ".join(sorted(formats)))


@clause("RFC8219-7.2-01")
def throughput_first(scope: Scope) -> Answer:
    """Each cell has a load that was found before."""
    stated = [one for one in scope.outcomes if one.type is OutcomeType.MEASURED]
    lacking = [one for one in stated if "frames/s" not in one.statement]
    return held(bool(stated) and not lacking, "the throughput of each size", f"{len(lacking)} without")


@clause("RFC8219-7.2-02")
def stream_length(scope: Scope) -> Answer:
    """At least 120 s."""
    return _length(scope, _LATENCY, STREAM_S)


@clause("RFC8219-7.2-03")
def tags(scope: Scope) -> Answer:
    """At least 500 tagged frames, from 60 s on."""
    trials = [trial for one in _of(scope, _LATENCY) for trial in _trials(scope, one)]
    if not trials:
        return not_applicable("the run holds no valid stream of it")
    wrong = [
        trial.trial.seq
        for trial in trials
        if (trial.trial.result.spec.tags or 0) < RFC8219_TAGS
        or (trial.trial.result.spec.tag_after_s or 0.0) < VARIATION_S
    ]
    return held(not wrong, f"{RFC8219_TAGS} tagged frames after 60 s", f"{len(wrong)} streams otherwise")


@clause("RFC8219-7.2-04")
def both_times(scope: Scope) -> Answer:
    """The journal holds the difference of the two times of each tagged frame, not each time."""
    if not _of(scope, _LATENCY):
        return not_applicable("the run holds no outcome of it")
    return held(False, "both times of each tagged frame", "their difference")


@clause("RFC8219-7.2-05")
def tag_behind_udp(scope: Scope) -> Answer:
    """The signature lies in the payload."""
    return udp.check(scope)


@clause("RFC8219-7.2-06")
def typical(scope: Scope) -> Answer:
    """The median; verify computes it anew."""
    return _values(scope, _LATENCY, TYPICAL_METRIC)


@clause("RFC8219-7.2-07")
def worst_case(scope: Scope) -> Answer:
    """The 99.9th percentile; verify computes it anew."""
    return _values(scope, _LATENCY, WORST_METRIC)


@clause("RFC8219-7.2-08")
def latency_repeated(scope: Scope) -> Answer:
    """At least 20 streams, and medians over them."""
    return _streams(scope, _LATENCY, STREAMS)


@clause("RFC8219-7.2-09")
def definition_stated(scope: Scope) -> Answer:
    """The tester says which definition of RFC 1242 its times follow."""
    drivers = scope.evidence.run["drivers"] if scope.evidence.run else ()
    said = sorted({str(d["latency_definition"]) for d in drivers if "latency_definition" in d})
    fits = bool(said) and all(text in LATENCY_DEFINITIONS for text in said)
    return held(fits, " or ".join(LATENCY_DEFINITIONS), ", ".join(said) or "no driver states one")


@clause("RFC8219-7.3-01")
def pdv_measured(scope: Scope) -> Answer:
    """PDV is the recommended form."""
    return held(bool(_of(scope, PDV_METRIC)), "an outcome of PDV", f"{len(_of(scope, PDV_METRIC))}")


@clause("RFC8219-7.3.1-02")
def pdv_length(scope: Scope) -> Answer:
    """At least 60 s."""
    return _length(scope, PDV_METRIC, VARIATION_S)


@clause("RFC8219-7.3.1-05")
def pdv_repeated(scope: Scope) -> Answer:
    """At least 20 streams."""
    return _streams(scope, PDV_METRIC, STREAMS)


@clause("RFC8219-7.3.1-06")
def pdv_spread(scope: Scope) -> Answer:
    """1st and 99th percentile over the streams."""
    return _values(scope, PDV_METRIC, f"{PDV_METRIC}.p1", f"{PDV_METRIC}.p99")


@clause("RFC8219-7.3.2-01")
def ipdv_length(scope: Scope) -> Answer:
    """At least 60 s."""
    return _length(scope, IPDV_METRIC, VARIATION_S)


@clause("RFC8219-7.3.2-03")
def ipdv_values(scope: Scope) -> Answer:
    """Minimum, median and maximum."""
    return _values(scope, IPDV_METRIC, f"{IPDV_METRIC}.min", IPDV_METRIC, f"{IPDV_METRIC}.max")


@clause("RFC8219-7.3.2-04")
def ipdv_repeated(scope: Scope) -> Answer:
    """At least 20 streams."""
    return _streams(scope, IPDV_METRIC, STREAMS)


@clause("RFC8219-12-01")
def iterations(scope: Scope) -> Answer:
    """More than one stream a benchmark."""
    fewest = min((len(_trials(scope, one)) for one in scope.outcomes), default=0)
    return held(fewest > 1, "several iterations", f"at least {fewest}")


RULES: tuple[ClauseRule, ...] = (
    unicast,
    media_noted,
    sizes,
    bidirectional,
    udp,
    throughput_first,
    stream_length,
    tags,
    both_times,
    tag_behind_udp,
    typical,
    worst_case,
    latency_repeated,
    definition_stated,
    pdv_measured,
    pdv_length,
    pdv_repeated,
    pdv_spread,
    ipdv_length,
    ipdv_values,
    ipdv_repeated,
    iterations,
)

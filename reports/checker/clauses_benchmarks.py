"""RFC 2544 sections 26.1 and 26.2 as rules."""

from __future__ import annotations

from itertools import pairwise

from bmwg.methodology import latency, throughput
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.throughput import UNIT
from bmwg.reports.checker.verdicts import (
    Answer,
    ClauseRule,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)

LATENCY_STREAM_S = 120.0  # rfc2544-26.2
LATENCY_REPEATS = 20  # rfc2544-26.2
LATENCY_DEFINITIONS = ("store-and-forward", "bit-forwarding")  # rfc1242-3.8


@clause("RFC2544-26.1-01", "throughput")
def highest_lossless(scope: Scope) -> Answer:
    """A measured throughput has lossless trials at its load, and loss, or the medium's end, above it."""
    measured = [o for o in scope.outcomes if o.type is OutcomeType.MEASURED]
    if not measured:
        return not_assessed("no throughput of the run is a plain number")
    good = [o for o in measured if o.lower and o.lower.trials and o.values[0].number == o.lower.load_fps]
    return held(
        len(good) == len(measured),
        "each value is a load whose trials lost nothing",
        f"{len(good)} of {len(measured)}",
    )


@clause("RFC2544-26.1-02", "throughput")
def reduced_on_loss(scope: Scope) -> Answer:
    """In each search a lossy trial is followed by a lower load or by another trial at the same one."""
    wrong: list[int] = []
    for outcome in scope.outcomes:
        group = scope.evidence.of(outcome.cell.cell_id, outcome.metric)
        lossless = [t.trial.result.spec.load_fps for t in group if t.trial.lossless]
        for entry, after in pairwise(group):
            load = entry.trial.result.spec.load_fps
            lossy = entry.trial.valid and not entry.trial.lossless
            if lossy and after.trial.result.spec.load_fps > load and load not in lossless:
                wrong.append(after.trial.seq)
    return held(not wrong, "a lower or equal load after loss", f"{len(wrong)} trials higher {wrong[:5]}")


@clause("RFC2544-26.1-08", "throughput")
def in_frames_per_second(scope: Scope) -> Answer:
    """Values are in frames per second."""
    units = sorted({value.unit for outcome in scope.outcomes for value in outcome.values})
    if not units:
        return not_applicable("no value is stated")
    return held(units == [UNIT], UNIT, ", ".join(units))


@clause("RFC2544-26.1-10", "throughput")
def statement_whole(scope: Scope) -> Answer:
    """A stated value needs the media theoretical limit beside it; a medium without one cannot give it."""
    if not any(outcome.values for outcome in scope.outcomes):
        return not_applicable("no value is stated")
    rate = scope.evidence.run["medium"]["line_rate_bps"] if scope.evidence.run else None
    kind = scope.evidence.run["medium"]["kind"] if scope.evidence.run else "unknown"
    return held(
        rate is not None,
        "maximum rate, frame size, media theoretical limit and protocol",
        f"line rate {rate} bit/s" if rate else f"no theoretical limit of the medium ({kind})",
    )


@clause("RFC2544-26.2-01", "latency")
def at_throughput(scope: Scope) -> Answer:
    """Each latency stream ran at the throughput of the same cell."""
    loads = {
        outcome.cell.cell_id: outcome.lower.load_fps
        for outcome in scope.evidence.outcomes
        if outcome.metric in (throughput.METRIC, throughput.ENVELOPE_METRIC) and outcome.lower
    }
    wrong = [t.trial.seq for t in scope.trials if t.trial.result.spec.load_fps != loads.get(t.cell_id)]
    return held(
        bool(scope.trials) and not wrong, "the load of the throughput", f"{len(wrong)} trials otherwise"
    )


@clause("RFC2544-26.2-02", "latency")
def stream_length(scope: Scope) -> Answer:
    """Each latency stream lasts at least 120 s."""
    shortest = min((trial.trial.result.spec.duration_s for trial in scope.trials), default=0.0)
    return held(shortest >= LATENCY_STREAM_S, f"at least {LATENCY_STREAM_S} s", f"{shortest} s")


@clause("RFC2544-26.2-03", "latency")
def tagged_frame(scope: Scope) -> Answer:
    """One tagged frame after 60 s belongs to the metric that is reserved for it."""
    return _own_metric(scope, "one tagged frame a stream, after 60 s")


@clause("RFC2544-26.2-04", "latency")
def tag_recognized(scope: Scope) -> Answer:
    """The receiver recognizes what it times: every received frame of a trial is in its histogram."""
    wrong = [
        entry.trial.seq
        for entry in scope.trials
        if entry.trial.valid
        and any(s.latency.frames != s.received_frames for s in scope.evidence.whole(entry).result.streams)
    ]
    return held(
        bool(scope.trials) and not wrong,
        "an arrival time for each frame recognized",
        f"{len(wrong)} of {len(scope.trials)} trials otherwise",
    )


@clause("RFC2544-26.2-06", "latency")
def repeated(scope: Scope) -> Answer:
    """At least 20 streams a condition, and their mean as the value."""
    counts = [
        sum(trial.trial.valid for trial in scope.evidence.of(outcome.cell.cell_id, outcome.metric))
        for outcome in scope.outcomes
        if outcome.metric == latency.RFC2544_METRIC
    ]
    least = min(counts, default=0)
    other = sum(outcome.metric != latency.RFC2544_METRIC for outcome in scope.outcomes)
    return held(
        bool(counts) and least >= LATENCY_REPEATS and not other,
        f"at least {LATENCY_REPEATS} streams for each value of {latency.RFC2544_METRIC}",
        f"{len(counts)} values, the least of {least} streams; {other} values of another metric",
    )


@clause("RFC2544-26.2-08", "latency")
def definition_stated(scope: Scope) -> Answer:
    """The tester's description says which definition of RFC 1242 its time stamps follow."""
    drivers = scope.evidence.run["drivers"] if scope.evidence.run else ()
    said = sorted({str(d["latency_definition"]) for d in drivers if "latency_definition" in d})
    fits = bool(said) and all(text in LATENCY_DEFINITIONS for text in said)
    return held(fits, " or ".join(LATENCY_DEFINITIONS), ", ".join(said) or "no driver states one")


def _own_metric(scope: Scope, expected: str) -> Answer:
    other = sum(outcome.metric != latency.RFC2544_METRIC for outcome in scope.outcomes)
    return held(other == 0 and bool(scope.outcomes), expected, f"{other} values over all frames instead")


RULES: tuple[ClauseRule, ...] = (
    highest_lossless,
    reduced_on_loss,
    in_frames_per_second,
    statement_whole,
    at_throughput,
    stream_length,
    tagged_frame,
    tag_recognized,
    repeated,
    definition_stated,
)

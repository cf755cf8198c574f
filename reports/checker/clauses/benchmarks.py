"""RFC 2544 sections 26.1 and 26.2 as rules."""

from __future__ import annotations

import math
from itertools import pairwise

from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.answers.throughput import UNIT
from bmwg.methodology.benchmarks.tagged_latency import TAG_AFTER_S
from bmwg.methodology.records import Outcome, OutcomeType, TrialResult
from bmwg.methodology.trial import directions
from bmwg.reports.checker.clauses.tester import told
from bmwg.reports.checker.proof import LEAST_SENT, close, stated, whole
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    by_construction,
    clause,
    held,
    not_applicable,
    not_assessed,
)
from bmwg.reports.checker.waits import NO_LENGTH, shortest_s

LATENCY_STREAM_S = 120.0  # rfc2544-26.2
LATENCY_REPEATS = 20  # rfc2544-26.2
LATENCY_DEFINITIONS = (latency.STORE_AND_FORWARD, latency.BIT_FORWARDING)  # rfc1242-3.8


@clause("RFC2544-26.1-01", "throughput")
def highest_lossless(scope: Scope) -> Answer:
    """At a plain number all frames were sent and came back; above it frames were lost, or the medium ends."""
    measured = [o for o in scope.outcomes if o.type is OutcomeType.MEASURED]
    if not measured:
        return not_applicable("no throughput of the run is a plain number")
    by_seq = {trial.trial.seq: trial.trial for trial in scope.trials}
    wrong = []
    for outcome in measured:
        below = [by_seq[seq] for seq in (outcome.lower.trials if outcome.lower else ()) if seq in by_seq]
        above = [by_seq[seq] for seq in (outcome.upper.trials if outcome.upper else ()) if seq in by_seq]
        full = scope.evidence.medium_fps(outcome.cell) or math.inf  # nothing can be tried above it
        ended = outcome.upper is None and outcome.lower is not None and outcome.lower.load_fps >= full
        kept = bool(below) and any(trial.lossless and whole(trial.result) for trial in below)
        if not kept or not (ended or any(trial.valid and not trial.lossless for trial in above)):
            wrong.append(outcome.outcome_id)
    return held(
        not wrong,
        "every frame of the load sent and received, and frames lost at the next higher load",
        f"{len(wrong)} of {len(measured)} values without such trials {wrong[:2]}",
    )


@clause("RFC2544-26.1-02", "throughput")
def reduced_on_loss(scope: Scope) -> Answer:
    """In each search a lossy trial is followed by a lower load or by another trial at the same one.

    A trial that was not valid answers nothing, and so does not stand between two others.
    """
    wrong: list[int] = []
    for outcome in scope.outcomes:
        group = [t for t in scope.evidence.of(outcome.cell.cell_id, outcome.metric) if t.trial.valid]
        lossless: set[int] = set()  # loads at which a trial had lost nothing by then
        for entry, after in pairwise(group):
            load = entry.trial.result.spec.load_fps
            if entry.trial.lossless:
                lossless.add(load)
            elif after.trial.result.spec.load_fps > load and load not in lossless:
                wrong.append(after.trial.seq)
    return held(not wrong, "a lower or equal load after loss", f"{len(wrong)} trials higher {wrong[:5]}")


@clause("RFC2544-26.1-08", "throughput")
def in_frames_per_second(scope: Scope) -> Answer:
    """Each value is the number of frames that its trials really sent in a second."""
    stated = [(outcome, value) for outcome in scope.outcomes for value in outcome.values]
    if not stated:
        return not_applicable("no value is stated")
    by_seq = {trial.trial.seq: trial.trial.result for trial in scope.trials}
    wrong = [
        f"{value.number} {value.unit}"
        for one, value in stated
        if value.unit != UNIT
        or one.lower is None
        or not one.lower.trials
        or not all(seq in by_seq and _is_rate(value.number, by_seq[seq]) for seq in one.lower.trials)
    ]
    found = f"{len(wrong)} of {len(stated)} values otherwise {wrong[:2]}"
    return held(not wrong, f"{UNIT}, as many as were sent", found)


@clause("RFC2544-26.1-10", "throughput")
def statement_whole(scope: Scope) -> Answer:
    """A stated value needs the media theoretical limit beside it; a medium without one cannot give it."""
    if not any(outcome.values for outcome in scope.outcomes):
        return not_applicable("no value is stated")
    rate, kind = scope.evidence.line_rate_bps, scope.run["medium"]["kind"]
    return held(
        rate is not None,
        "maximum rate, frame size, media theoretical limit and protocol",
        f"line rate {rate} bit/s" if rate else f"no theoretical limit of the medium ({kind})",
    )


@clause("RFC2544-26.2-01", "latency")
def at_throughput(scope: Scope) -> Answer:
    """Each latency stream of a device ran at the throughput of its cell, found before; no conditional one."""
    loads = {
        outcome.cell.cell_id: (outcome.lower.load_fps, max(outcome.trials, default=0))
        for outcome in scope.evidence.outcomes
        if (outcome.metric == throughput.METRIC or stated(outcome, throughput.METRIC) is not None)
        and outcome.lower
        and outcome.type is not OutcomeType.UNSTABLE
    }
    wire = {one.cell.cell_id for one in scope.outcomes if one.cell.qualifies_tester}
    trials = [t for t in scope.trials if t.cell_id not in wire]  # no device there: docs/adr/0458
    wrong = []
    for trial in trials:
        load_fps, found_at = loads.get(trial.cell_id, (None, 0))
        if trial.trial.result.spec.load_fps != load_fps or trial.trial.seq < found_at:
            wrong.append(trial.trial.seq)
    return held(
        bool(trials) and not wrong,
        "the load of RFC 2544's throughput, found before",
        f"{len(wrong)} of {len(trials)} trials otherwise",
    )


@clause("RFC2544-26.2-02", "latency")
def stream_length(scope: Scope) -> Answer:
    """Each latency stream lasts at least 120 s."""
    shortest = shortest_s(scope.trials)
    if shortest is None:
        return not_assessed(NO_LENGTH)
    return held(shortest >= LATENCY_STREAM_S, f"at least {LATENCY_STREAM_S} s", f"{shortest:g} s")


@clause("RFC2544-26.2-03", "latency")
def tagged_frame(scope: Scope) -> Answer:
    """One frame of each stream is tagged, and it is due after 60 s."""
    wrong = []
    for trial in scope.trials:
        spec = trial.trial.result.spec
        due_s = [sequence / spec.load_fps for sequence in spec.tag_frames]
        if len(due_s) != 1 or due_s[0] < TAG_AFTER_S - 1 / spec.load_fps:
            wrong.append(trial.trial.seq)
    found = f"{len(wrong)} of {len(scope.trials)} streams otherwise {wrong[:5]}"
    return held(bool(scope.trials) and not wrong, f"one tagged frame after {TAG_AFTER_S:g} s", found)


@clause("RFC2544-26.2-04", "latency")
def tag_recognized(scope: Scope) -> Answer:
    """The receiver recognizes each tag and takes the time of its arrival."""
    tagged = [t for t in scope.trials if t.trial.valid and t.trial.result.spec.tag_frames]
    if not tagged:
        return not_applicable("no valid stream has a tagged frame")
    wrong = [
        t.trial.seq
        for t in tagged
        if any(not s.tagged_ns or None in s.tagged_ns for s in t.trial.result.streams)
    ]
    found = f"none in {len(wrong)} of {len(tagged)} streams {wrong[:5]}"
    return held(not wrong, "the time at which each tagged frame arrived", found)


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
    no_mean = sum(bool(outcome.values) and not _is_mean(scope, outcome) for outcome in scope.outcomes)
    told = [f"{len(counts)} values, each of at least {least} streams"] if counts else []
    told += [] if counts else ["the latency of RFC 2544 was not measured"]
    told += [f"{other} values are of another latency metric"] if other else []
    told += [f"{no_mean} values are no mean"] if no_mean else []
    return held(
        bool(counts) and least >= LATENCY_REPEATS and not other and not no_mean,
        f"the mean of at least {LATENCY_REPEATS} streams for each value of {latency.RFC2544_METRIC}",
        "; ".join(told),
    )


def _is_mean(scope: Scope, outcome: Outcome) -> bool:
    """Whether a latency of tagged frames is the mean of its streams, each direction's of its own."""
    streams = [
        t.trial.result.streams
        for t in scope.evidence.of(outcome.cell.cell_id, outcome.metric)
        if t.trial.valid
    ]
    for place, way in enumerate(directions.ways(outcome.cell.direction)):
        tags = [stream[place].tagged_ns[0] for stream in streams if stream[place].tagged_ns]
        known = [tag for tag in tags if tag is not None]
        number = stated(outcome, directions.metric(latency.RFC2544_METRIC, way))
        if len(known) < len(streams) or not close(number, sum(known) / max(1, len(known))):
            return False
    return True


@clause("RFC2544-26.2-08", "latency")
def definition_stated(scope: Scope) -> Answer:
    """The tester's description, which the report prints, says which definition of RFC 1242 it has."""
    said = [str(one) for one in told(scope, "latency_definition")]
    expected = " or ".join(LATENCY_DEFINITIONS)
    if said and all(text in LATENCY_DEFINITIONS for text in said):
        return by_construction(expected, ", ".join(said))
    return held(False, expected, ", ".join(said) or "no driver states one")


def _is_rate(number: float, result: TrialResult) -> bool:
    """Whether a number is what each direction of a trial, or each sender of a pattern, sent in a second."""
    pattern = result.spec.pattern
    loads = [1.0] * len(result.streams) if pattern is None else map(pattern.loads_at, pattern.receivers)
    rates = [s.sent_frames / result.spec.total_s / load for s, load in zip(result.loaded, loads, strict=True)]
    return all(LEAST_SENT * number <= rate <= number / LEAST_SENT for rate in rates)

"""ETSI GS NFV-TST 009 as rules, of its throughput search and of the latency at its load."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.answers.throughput import ENVELOPE_METRIC, UNIT
from bmwg.methodology.records import Direction, Outcome, OutcomeType
from bmwg.methodology.search import closing, tst009
from bmwg.methodology.search.stepwise import Step, UnexpectedTrialError
from bmwg.methodology.search.tst009 import METRIC, Tst009Goal, parameters
from bmwg.methodology.trial.medium import cell_fps
from bmwg.reports.checker.clauses.rfc2544_conditions import MIN_SIZES, conditions
from bmwg.reports.checker.clauses.tester import told
from bmwg.reports.checker.deployed import recorded
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import NAMED, stated, taken, whole
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable

_THROUGHPUTS = (throughput.METRIC, throughput.ENVELOPE_METRIC, METRIC)
WAYS = ("one-way", "round-trip")
_LATENCY = (latency.METRIC, latency.RFC2544_METRIC, "latency.rfc8219")


def _goal(scope: Scope, one: Outcome) -> Tst009Goal | None:
    """Return the goal that the profile and the tester's envelope make; None of what is no goal."""
    envelope = scope.evidence.envelope_fps(one.cell)
    if envelope is None:
        return None
    try:
        return scope.profile.searching("tst009").tst009_goal(
            one.cell,
            max_load_fps=envelope,
            envelope_fps=envelope,
            medium_fps=cell_fps(scope.run["medium"]["line_rate_bps"], one.cell),
        )
    except ValueError:
        return None


def _all(outcomes: tuple[Outcome, ...], expected: str, wrong: list[str]) -> Answer:
    found = f"{len(wrong)} of {len(outcomes)} answers otherwise {wrong[:NAMED]}"
    return held(bool(outcomes) and not wrong, expected, found)


@clause("TST009-6.3")
def configuration(scope: Scope) -> Answer:
    """The machine and each deployment stand in the platform file."""
    return recorded(scope, "a record and each deployment")


@clause("TST009-7")
def tester_counts(scope: Scope) -> Answer:
    """Each frame received in a trial behind an answer is timed; the tester says how it checks sequence."""
    named = {
        seq
        for outcome in scope.outcomes
        for b in (outcome.lower, outcome.upper)
        if b is not None
        for seq in b.trials
    }
    proving = [trial for trial in scope.trials if trial.trial.seq in named]
    untimed = [one.trial.seq for one in proving if not _timed(scope, one)]
    counting = told(scope, "counting")
    said = bool(counting) and all(isinstance(one, Mapping) for one in counting)
    found = (
        f"{len(untimed)} of {len(proving)} trials untimed; sequence checks {'' if said else 'not '}described"
    )
    return held(bool(proving) and not untimed and said, "counts, sequence checks and times", found)


def _timed(scope: Scope, one: Trial) -> bool:
    streams = scope.evidence.whole(one).result.streams
    return all(stream.latency.frames == stream.received_frames for stream in streams)


@clause("TST009-8-01")
def lossless(scope: Scope) -> Answer:
    """A plain number is a load that was sent whole in a trial that lost nothing, in frames per second."""
    measured = [one for one in scope.outcomes if one.type is OutcomeType.MEASURED]
    if not measured:
        return not_applicable("no throughput of this search is a plain number")
    by_seq = {trial.trial.seq: trial.trial for trial in scope.trials}
    good = [
        outcome
        for outcome in measured
        if outcome.lower
        and outcome.values[0].number == outcome.lower.load_fps
        and outcome.values[0].unit == UNIT
        and any(
            seq in by_seq and by_seq[seq].lossless and whole(by_seq[seq].result)
            for seq in outcome.lower.trials
        )
    ]
    return held(
        len(good) == len(measured), f"{UNIT} of a trial without loss", f"{len(good)} of {len(measured)}"
    )


@clause("TST009-9-01")
def latency_at_throughput(scope: Scope) -> Answer:
    """Each latency was taken at its cell's throughput, and the tester says which way its times go."""
    loads: dict[str, set[int]] = {}
    for outcome in scope.evidence.outcomes:
        if (
            outcome.lower is not None
            and outcome.type is not OutcomeType.UNSTABLE
            and (outcome.metric in _THROUGHPUTS or stated(outcome, throughput.METRIC) is not None)
        ):
            loads.setdefault(outcome.cell.cell_id, set()).add(outcome.lower.load_fps)
    timed = [
        one
        for one in scope.evidence.outcomes
        if one.metric.startswith(_LATENCY)
        and one.type is not OutcomeType.NOT_ASSESSED
        and not one.cell.qualifies_tester  # no device there: docs/adr/0458
    ]
    if not timed:
        return not_applicable("the run holds no latency")
    wrong = [
        one.outcome_id
        for one in timed
        if any(t.trial.result.spec.load_fps not in loads.get(one.cell.cell_id, ()) for t in taken(scope, one))
    ]
    said = {str(one) for one in told(scope, "latency_way")}
    found = f"{len(wrong)} of {len(timed)} at another load; {', '.join(sorted(said)) or 'no way stated'}"
    fits = not wrong and bool(said) and said <= set(WAYS)
    return held(fits, f"the load of the throughput, and {' or '.join(WAYS)}", found)


@clause("TST009-12.1")
def tester_qualified(scope: Scope) -> Answer:
    """The tester was measured alone for the same traffic, before any trial of it on the device."""
    lacking = [outcome.outcome_id for outcome in scope.outcomes if not _qualified_first(scope, outcome)]
    found = f"{len(lacking)} of {len(scope.outcomes)} results otherwise {lacking[:2]}"
    return held(not lacking, "the tester's own envelope first", found)


def _qualified_first(scope: Scope, one: Outcome) -> bool:
    alone = scope.evidence.of(one.cell.qualification.cell_id, ENVELOPE_METRIC)
    ends = max((trial.trial.seq for trial in alone), default=0)
    begins = min((trial.trial.seq for trial in taken(scope, one)), default=ends + 1)
    return scope.evidence.envelope_fps(one.cell) is not None and ends < begins


@clause("TST009-12.3")
def algorithm(scope: Scope) -> Answer:
    """The trials are those that binary search with loss verification calls for, one after the other.

    Those that try its answer again after it (docs/adr/0262) are no part of it.
    """
    wrong = [outcome.outcome_id for outcome in scope.outcomes if not _follows(scope, outcome)]
    return _all(scope.outcomes, "the trials of binary search with loss verification", wrong)


def _follows(scope: Scope, one: Outcome) -> bool:
    goal = _goal(scope, one)
    if goal is None:
        return False
    try:
        searched = [t.trial for t in taken(scope, one) if t.phase != closing.PHASE]
        return not isinstance(tst009.legal_next(searched, goal), Step)
    except UnexpectedTrialError:
        return False


@clause("TST009-12.3.3-04")
def input_parameters(scope: Scope) -> Answer:
    """Each answer says the parameters of its search, and they are those of profile and trials."""
    wrong = []
    for outcome in scope.outcomes:
        goal = _goal(scope, outcome)
        searched = [t for t in taken(scope, outcome) if t.phase != closing.PHASE]
        lengths = {t.trial.result.spec.duration_s for t in searched}
        if goal is None or parameters(goal) not in outcome.quality or lengths != {goal.duration_s}:
            wrong.append(outcome.outcome_id)
    return _all(scope.outcomes, "max(r), threshold, step, maximum and duration as they were", wrong)


@clause("TST009-all-01")
def reported(scope: Scope) -> Answer:
    """Each answer names its trials, and size, flows and direction of its cell are those of the trials."""
    wrong = []
    for outcome in scope.outcomes:
        trials, cell = taken(scope, outcome), outcome.cell
        said = (cell.frame_octets, cell.flows, cell.destination_networks, cell.direction, cell.frame_format)
        specs = [t.trial.result.spec for t in trials]
        kinds = {
            (s.frame_octets, s.flows, s.destination_networks, s.direction, s.frame_format) for s in specs
        }
        if kinds != {said} or len(trials) != len(set(outcome.trials)):
            wrong.append(outcome.outcome_id)
    return _all(scope.outcomes, "size, flows, direction and trials as they were", wrong)


@clause("TST009-all-02")
def sizes_and_directions(scope: Scope) -> Answer:
    """At least five sizes in each condition (RFC 2544 section 9), in both directions at once."""
    directions = sorted({outcome.cell.direction.value for outcome in scope.outcomes})
    sizes = list(conditions(scope.outcomes).values())
    few = sum(len(size) < MIN_SIZES for size in sizes)
    fits = bool(sizes) and not few and directions == [Direction.BOTH.value]
    found = f"{few} of {len(sizes)} conditions with fewer, {', '.join(directions)}"
    return held(fits, f"{MIN_SIZES} sizes in each condition, both directions", found)

"""RFC 9971 sections 4.3 to 4.5 and 4.9 as rules: the trials of a search, and what goes on around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.mlrsearch.classify import LOSS_DEFINITION
from bmwg.methodology.mlrsearch.outcome import METRIC, UNIT
from bmwg.methodology.mlrsearch.stated import CONSTANT, EQUAL, interface_shares, load_shape
from bmwg.methodology.records import Outcome, TrialSpec
from bmwg.methodology.search import closing
from bmwg.reports.checker.clauses.waits import learning, residual_wait, restabilize, routing_wait
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import (
    NAMED,
    close,
    none_wrong,
    of_all_interfaces,
    per_interface,
    proving,
    stated,
    taken,
    tester_ports,
)
from bmwg.reports.checker.recorded_goals import conditional
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    Verdict,
    clause,
    held,
    not_applicable,
    not_assessed,
)
from bmwg.reports.checker.waits import NO_TIMES

FACTOR = "load_factor.rfc9971"  # of an aggregate load: how many interfaces it is of


def _trials_hold(trials: Sequence[Trial], expected: str, fits: Callable[[Trial], bool]) -> Answer:
    wrong = [trial.trial.seq for trial in trials if not fits(trial)]
    found = f"{len(wrong)} of {len(trials)} trials otherwise {wrong[:NAMED]}"
    return held(bool(trials) and not wrong, expected, found)


def _shorter_phases(scope: Scope) -> list[str]:
    """Return the rows of RFC 2544 section 23 whose phases were shorter, by the journal's times."""
    rules = (routing_wait, learning, residual_wait, restabilize)
    return [rule.requirement for rule in rules if rule.check(scope).verdict is Verdict.NOT_MET]


def _untold_phases(scope: Scope) -> bool:
    """Whether the journal does not tell of a phase, and none was shorter."""
    answers = [rule.check(scope).verdict for rule in (routing_wait, learning, residual_wait, restabilize)]
    return Verdict.NOT_ASSESSED in answers and Verdict.NOT_MET not in answers


@clause("RFC9971-4.3")
def units_stated(scope: Scope) -> Answer:
    """Each number says frames/s, and is the number in frames/s that its trials bear out."""
    wrong = [outcome.outcome_id for outcome in scope.outcomes if not _in_its_unit(outcome)]
    return none_wrong(wrong, len(scope.outcomes), f"numbers in {UNIT}, as their trials have it", "results")


def _in_its_unit(outcome: Outcome) -> bool:
    if any(quantity.unit != UNIT for quantity in outcome.values if quantity.metric != FACTOR):
        return False
    for name, bound in (("relevant_lower_bound", outcome.lower), ("relevant_upper_bound", outcome.upper)):
        number = stated(outcome, name)
        if number is not None and (bound is None or not close(number, bound.load_fps)):
            return False
    value = stated(outcome, METRIC)
    return value is None or (outcome.lower is not None and 0 <= value <= outcome.lower.load_fps * (1 + 1e-9))


@clause("RFC9971-4.4.3-02")
def deviations_described(scope: Scope) -> Answer:
    """Each phase of RFC 2544 section 23 that is shortened is declared."""
    declared = {entry.requirement for entry in scope.evidence.deviations}
    shorter = _shorter_phases(scope)
    if _untold_phases(scope):
        return not_assessed(NO_TIMES)
    if not shorter:
        return not_applicable("no phase of RFC 2544 section 23 is shortened")
    lacking = [row for row in shorter if row not in declared]
    return held(not lacking, "a declaration for each shortened phase", f"undeclared: {lacking or 'none'}")


@clause("RFC9971-4.4.3-03")
def no_deviation(scope: Scope) -> Answer:
    """No phase of RFC 2544 section 23 is shortened."""
    if _untold_phases(scope):
        return not_assessed(NO_TIMES)
    shorter = _shorter_phases(scope)
    return held(not shorter, "the phases of RFC 2544 section 23", f"shortened: {shorter or 'none'}")


@clause("RFC9971-4.4.3-04")
def learning_each_trial(scope: Scope) -> Answer:
    """Learning frames went before each trial, as the journal's times have it."""
    if any(trial.times is None for trial in scope.trials):
        return not_assessed(NO_TIMES)
    return _trials_hold(
        scope.trials,
        "learning frames before each trial",
        lambda one: one.times is not None and one.times.learnt_ns is not None,
    )


@clause("RFC9971-4.4.4.4-03")
def scope_of_loads(scope: Scope) -> Answer:
    """Loads are said to be of one interface: each trial behind one bears that out, or tells its factor."""
    trials = proving(scope, scope.outcomes)
    if not trials:
        return not_applicable("no load is stated as a bound")
    factors = {outcome.cell.cell_id for outcome in scope.outcomes if stated(outcome, FACTOR) is not None}
    return _trials_hold(
        trials,
        "loads of one interface, as the report says, or with the factor of all of them",
        lambda one: per_interface(one.trial.result) or one.cell_id in factors,
    )


@clause("RFC9971-4.4.4.4-04")
def aggregate_loads(scope: Scope) -> Answer:
    """Only for loads that are the sum of several interfaces."""
    sums = [
        outcome
        for outcome in scope.outcomes
        if any(of_all_interfaces(trial.trial.result) for trial in proving(scope, (outcome,)))
    ]
    if not sums:
        return not_applicable("no load is the sum of several interfaces")
    wrong = [
        one.outcome_id
        for one in sums
        if stated(one, FACTOR)
        not in {float(len(trial.trial.result.streams)) for trial in proving(scope, (one,))}
    ]
    found = f"{len(wrong)} of {len(sums)} results without {wrong[:NAMED]}"
    return held(not wrong, f"{FACTOR}: how many interfaces", found)


@clause("RFC9971-4.5.2-01")
def constant_load(scope: Scope) -> Answer:
    """Only for loads that are not constant: one that follows the Trial Load is told by the report."""
    told, words = load_shape(trial.trial.result.spec for trial in scope.trials)
    return not_applicable(words) if words == CONSTANT else held(told, "how the load varies", words)


@clause("RFC9971-4.5.2-02")
def equal_loads(scope: Scope) -> Answer:
    """Only for loads that differ between interfaces: fixed shares are told by the report."""
    told, words = interface_shares(trial.trial.result for trial in scope.trials)
    return (
        not_applicable(words) if words == EQUAL else held(told, "how the loads follow the Trial Load", words)
    )


@clause("RFC9971-4.5.3")
def input_of_two(scope: Scope) -> Answer:
    """Within a search, trials differ in duration and load, and in nothing else."""
    return _one_kind(scope, "trials that differ in duration and load only", _all_but_load)


@clause("RFC9971-4.5.4-01")
def traffic_constant(scope: Scope) -> Answer:
    """The traffic of a search does not change."""
    return _one_kind(scope, "one traffic profile a search", _traffic)


def _traffic(spec: TrialSpec) -> tuple[object, ...]:
    frames = (spec.frame_octets, spec.direction, spec.frame_format, spec.flows, spec.vlan_id, spec.mix_octets)
    return (*frames, spec.destination_networks, spec.broadcast_every, spec.modifier)


def _all_but_load(spec: TrialSpec) -> tuple[object, ...]:
    share = None if spec.then_load_fps is None else round(spec.then_load_fps / spec.load_fps, 3)
    more = (spec.burst, share, spec.loss_times, spec.act, spec.act_at_s, spec.tag_after_s, spec.tags)
    return (*_traffic(spec), *more)


def _one_kind(scope: Scope, expected: str, kind: Callable[[TrialSpec], tuple[object, ...]]) -> Answer:
    kinds: dict[str, set[tuple[object, ...]]] = {}
    for trial in scope.trials:
        kinds.setdefault(trial.cell_id, set()).add(kind(trial.trial.result.spec))
    wrong = [cell for cell, found in kinds.items() if len(found) > 1]
    return held(bool(kinds) and not wrong, expected, f"{len(wrong)} of {len(kinds)} searches otherwise")


@clause("RFC9971-4.5.4-02")
def traffic_mentioned(scope: Scope) -> Answer:
    """What the report says of directions, formats, flows and ports is what the trials were sent with."""
    wrong = [outcome.outcome_id for outcome in scope.outcomes if not _as_mentioned(scope, outcome)]
    known = bool(tester_ports(scope))
    found = f"{len(wrong)} of {len(scope.outcomes)} results otherwise {wrong[:NAMED]}"
    found += "" if known else "; no ports in the testbed: meshing unknown"
    return held(known and not wrong, "directions, meshing and IP versions as the trials had them", found)


def _as_mentioned(scope: Scope, outcome: Outcome) -> bool:
    cell = outcome.cell
    frames = (cell.frame_octets, cell.direction, cell.frame_format, cell.vlan_id)
    said = (*frames, cell.flows, cell.destination_networks)
    specs = [trial.trial.result.spec for trial in taken(scope, outcome)]
    return bool(specs) and all(
        (
            spec.frame_octets,
            spec.direction,
            spec.frame_format,
            spec.vlan_id,
            spec.flows,
            spec.destination_networks,
        )
        == said
        for spec in specs
    )


@clause("RFC9971-4.5.5-01")
def forwarding_ratio(scope: Scope) -> Answer:
    """No trial that a bound rests on received more than was sent."""
    trials = proving(scope, scope.outcomes)
    if not trials:
        return not_applicable("no bound rests on a trial")
    return _trials_hold(
        trials, "0 to 1", lambda one: 0 <= one.trial.result.received_frames <= one.trial.result.sent_frames
    )


def _unsent(scope: Scope) -> list[Trial]:
    """Return the trials behind bounds in which sent and intended frames differ, and so the denominators."""
    return [
        trial
        for trial in proving(scope, scope.outcomes)
        if any(stream.sent_frames != stream.intended_frames for stream in trial.trial.result.streams)
    ]


@clause("RFC9971-4.5.5-02")
def default_denominator(scope: Scope) -> Answer:
    """The toolkit divides by the frames sent: the same number where all that was intended was sent."""
    trials = proving(scope, scope.outcomes)
    if not trials:
        return not_applicable("no bound rests on a trial")
    unsent = _unsent(scope)
    found = f"{LOSS_DEFINITION}; in {len(unsent)} of {len(trials)} trials not all was sent"
    return held(not unsent, "frames intended as denominator", found)


@clause("RFC9971-4.5.5-03")
def denominator_described(scope: Scope) -> Answer:
    """Where the denominators differ, each result says how its ratio is computed, and it is computed so."""
    if not _unsent(scope):
        return not_applicable("all that was intended was sent: both denominators are the same number")
    valued = [one for one in scope.outcomes if stated(one, METRIC) is not None]
    wrong = [
        outcome.outcome_id
        for outcome in valued
        if not any(LOSS_DEFINITION in text for text in outcome.quality)
        or not close(stated(outcome, METRIC), conditional(scope, outcome))
    ]
    return none_wrong(wrong, len(valued), "the definition, and the number that it gives", "results")


@clause("RFC9971-4.5.8-03")
def effective_duration(scope: Scope) -> Answer:
    """The Trial Duration classifies, as the report says; each trial behind a bound sent for as long."""
    trials = proving(scope, scope.outcomes)
    if not trials:
        return not_applicable("no bound rests on a trial")
    apart = [
        trial.trial.seq
        for trial in trials
        for stream in trial.trial.result.loaded
        if abs(stream.effective_duration_ns / 1e9 - trial.trial.result.spec.total_s)
        > _apart_s(trial.trial.result.spec)
    ]
    found = f"{len(apart)} of {len(trials)} trials sent for another time {apart[:NAMED]}"
    return held(not apart, "trials that sent for as long as they count", found)


def _apart_s(spec: TrialSpec) -> float:
    """Return how much first and last frame may miss the duration: a hundredth, or a frame's time."""
    return max(0.01 * spec.total_s, 2 / spec.load_fps)  # choice: as RFC 2544's trial counts its seconds


@clause("RFC9971-4.5.9-01")
def trial_output(scope: Scope) -> Answer:
    """Each valid trial has what loss ratio, effective duration and forwarding rate are computed from."""
    return _trials_hold(
        [trial for trial in scope.trials if trial.trial.valid],
        "sent and received frames, and an effective duration",
        lambda one: all(
            stream.sent_frames and (stream.effective_duration_ns > 0 or stream.sent_frames == 1)
            for stream in one.trial.result.loaded
        ),
    )


@clause("RFC9971-4.6.8.2-01")
def above_least(scope: Scope) -> Answer:
    """No trial of the search below the lowest load; half of an answer is tried again after it."""
    least = scope.profile.search.min_load_fps
    return _trials_hold(
        [trial for trial in scope.trials if trial.phase != closing.PHASE],
        f"at least {least} frames/s",
        lambda one: one.trial.result.spec.load_fps >= least,
    )


@clause("RFC9971-4.6.8.1")
def below_highest(scope: Scope) -> Answer:
    """No trial above the highest load, which is the tester's envelope; only where one was given."""
    limits = {outcome.cell.cell_id: scope.evidence.envelope_fps(outcome.cell) for outcome in scope.outcomes}
    given = [trial for trial in scope.trials if limits.get(trial.cell_id) is not None]
    if not given:
        return not_applicable("the run records no highest load")
    return _trials_hold(
        given,
        "at most the highest load of the search",
        lambda one: one.trial.result.spec.load_fps <= (limits[one.cell_id] or 0),
    )

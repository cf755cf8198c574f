"""RFC 9971 as rules: what a search of several goals was given, did, and says."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bmwg.methodology.mlr.classify import LOSS_DEFINITION
from bmwg.methodology.mlr.outcome import METRIC, UNIT
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.trial import Learning
from bmwg.reports.checker.clauses_rfc9971_goals import goals
from bmwg.reports.checker.clauses_waits import RESTABILIZE_S, WAIT_S
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable

IRREGULAR = "irregular result"


def _regular(scope: Scope) -> tuple[Outcome, ...]:
    return tuple(
        one
        for one in scope.outcomes
        if one.type is OutcomeType.MEASURED and not any(IRREGULAR in text for text in one.quality)
    )


def _code(outcome: Outcome) -> str:
    return outcome.metric.removeprefix(f"{METRIC}.")


def _number(outcome: Outcome, beginning: str) -> float | None:
    return next((v.number for v in outcome.values if v.metric.startswith(beginning)), None)


def _trials_hold(scope: Scope, expected: str, fits: Callable[[Trial], bool]) -> Answer:
    wrong = [one.trial.seq for one in scope.trials if not fits(one)]
    found = f"{len(wrong)} of {len(scope.trials)} trials otherwise {wrong[:5]}"
    return held(bool(scope.trials) and not wrong, expected, found)


def _outcomes_hold(outcomes: Iterable[Outcome], expected: str, fits: Callable[[Outcome], bool]) -> Answer:
    given = tuple(outcomes)
    if not given:
        return not_applicable("no result of that kind in the run")
    wrong = [one.outcome_id for one in given if not fits(one)]
    return held(not wrong, expected, f"{len(wrong)} of {len(given)} results otherwise {wrong[:3]}")


def _shorter_phases(scope: Scope) -> list[str]:
    """Return the rows of RFC 2544 section 23 whose phases the profile shortens."""
    policy = scope.profile.policy
    phases = (
        ("RFC2544-23-02", policy.learning is Learning.TRIAL and policy.learning_wait_s >= WAIT_S),
        ("RFC2544-23-04", policy.drain_s >= WAIT_S),
        ("RFC2544-23-05", policy.restabilize_s >= RESTABILIZE_S),
    )
    return [row for row, kept in phases if not kept]


@clause("RFC9971-4.3")
def units_stated(scope: Scope) -> Answer:
    """Every number has a unit."""
    lacking = sum(not value.unit for one in scope.outcomes for value in one.values)
    values = sum(len(one.values) for one in scope.outcomes)
    return held(
        bool(scope.outcomes) and not lacking, "a unit on each number", f"{lacking} of {values} lack one"
    )


@clause("RFC9971-4.4.3-02")
def deviations_described(scope: Scope) -> Answer:
    """Each phase of RFC 2544 section 23 that is shortened is declared."""
    declared = {entry.requirement for entry in scope.evidence.deviations}
    lacking = [row for row in _shorter_phases(scope) if row not in declared]
    return held(not lacking, "a declaration for each shortened phase", f"undeclared: {lacking or 'none'}")


@clause("RFC9971-4.4.3-03")
def no_deviation(scope: Scope) -> Answer:
    """No phase of RFC 2544 section 23 is shortened."""
    shorter = _shorter_phases(scope)
    return held(not shorter, "the phases of RFC 2544 section 23", f"shortened: {shorter or 'none'}")


@clause("RFC9971-4.4.3-04")
def learning_each_trial(scope: Scope) -> Answer:
    """Learning frames go before each trial."""
    word = scope.profile.policy.learning.value
    return held(scope.profile.policy.learning is Learning.TRIAL, "before each trial", f"once a {word}")


@clause("RFC9971-4.4.4.4-03")
def scope_of_loads(scope: Scope) -> Answer:
    """Loads are of one interface: the unit is frames/s per port and direction, everywhere."""
    units = {v.unit for one in scope.outcomes for v in one.values if v.metric.startswith(METRIC)}
    return held(
        units <= {UNIT} and bool(scope.outcomes), f"{UNIT} per port and direction", f"{sorted(units)}"
    )


@clause("RFC9971-4.4.4.4-04")
def aggregate_loads(scope: Scope) -> Answer:
    """Only for loads over several interfaces."""
    return not_applicable("every load is of one interface; no aggregate is stated")


@clause("RFC9971-4.5.1-01")
def positive_duration(scope: Scope) -> Answer:
    """Each trial has a duration."""
    return _trials_hold(scope, "a duration above 0", lambda one: one.trial.result.spec.duration_s > 0)


@clause("RFC9971-4.5.2-01")
def constant_load(scope: Scope) -> Answer:
    """Only for loads that are not constant."""
    bursts = sum(one.trial.result.spec.burst for one in scope.trials)
    if not bursts:
        return not_applicable("the load of every trial is constant")
    return held(False, "how the load varies", f"{bursts} trials of bursts without a description")


@clause("RFC9971-4.5.2-02")
def equal_loads(scope: Scope) -> Answer:
    """Only for loads that differ between interfaces."""
    return not_applicable("every interface that sends has the trial's load")


@clause("RFC9971-4.5.3")
def input_of_two(scope: Scope) -> Answer:
    """Within a search, trials differ in duration and load, and in nothing else."""
    return _one_traffic(scope, "trials that differ in duration and load only")


@clause("RFC9971-4.5.4-01")
def traffic_constant(scope: Scope) -> Answer:
    """The traffic of a search does not change."""
    return _one_traffic(scope, "one traffic profile a search")


def _one_traffic(scope: Scope, expected: str) -> Answer:
    kinds: dict[str, set[tuple[object, ...]]] = {}
    for one in scope.trials:
        spec = one.trial.result.spec
        traffic = (spec.frame_octets, spec.direction, spec.frame_format, spec.flows, spec.vlan_id)
        kinds.setdefault(one.cell_id, set()).add((*traffic, spec.mix_octets))
    wrong = [cell for cell, found in kinds.items() if len(found) > 1]
    return held(bool(kinds) and not wrong, expected, f"{len(wrong)} of {len(kinds)} searches otherwise")


@clause("RFC9971-4.5.4-02")
def traffic_mentioned(scope: Scope) -> Answer:
    """Each cell says directions and IP version; the report's items say ports and modifiers."""
    cells = [one.cell for one in scope.outcomes]
    said = sorted({f"{cell.direction.value}, {cell.frame_format.value}" for cell in cells})
    return held(bool(said), "directions, meshing, modifiers and IP versions", "; ".join(said) or "none")


@clause("RFC9971-4.5.5-01")
def forwarding_ratio(scope: Scope) -> Answer:
    """No trial received more than was sent, duplicates apart."""
    return _trials_hold(
        scope, "0 to 1", lambda one: 0 <= one.trial.result.received_frames <= one.trial.result.sent_frames
    )


@clause("RFC9971-4.5.5-02")
def default_denominator(scope: Scope) -> Answer:
    """The toolkit divides by the frames sent, not by those intended."""
    return held(False, "frames intended as denominator", LOSS_DEFINITION)


@clause("RFC9971-4.5.5-03")
def denominator_described(scope: Scope) -> Answer:
    """Each result says how its loss ratio is computed."""
    return _outcomes_hold(
        scope.outcomes, "the definition", lambda one: any(LOSS_DEFINITION in text for text in one.quality)
    )


@clause("RFC9971-4.5.9-01")
def trial_output(scope: Scope) -> Answer:
    """Each valid trial has what loss ratio, effective duration and forwarding rate are computed from."""
    return _trials_hold(
        scope,
        "sent and received frames, and an effective duration",
        lambda one: (
            not one.trial.valid
            or all(s.sent_frames and s.effective_duration_ns > 0 for s in one.trial.result.streams)
        ),
    )


@clause("RFC9971-4.6.8.2-01")
def above_least(scope: Scope) -> Answer:
    """No trial below the lowest load."""
    least = scope.profile.search.min_load_fps
    return _trials_hold(
        scope, f"at least {least} frames/s", lambda one: one.trial.result.spec.load_fps >= least
    )


@clause("RFC9971-4.8.4.1-01")
def both_bounds(scope: Scope) -> Answer:
    """A regular result has both relevant bounds."""
    return _outcomes_hold(_regular(scope), "both relevant bounds", lambda one: bool(one.lower and one.upper))


@clause("RFC9971-4.8.4.1-02")
def conditional_throughput(scope: Scope) -> Answer:
    """A regular result has a conditional throughput."""
    return _outcomes_hold(
        _regular(scope), "a conditional throughput", lambda one: _number(one, METRIC) is not None
    )


@clause("RFC9971-4.8.4.1-03")
def lower_displayed(scope: Scope) -> Answer:
    """Each regular result states its relevant lower bound."""
    name = "relevant_lower_bound"
    return _outcomes_hold(_regular(scope), name, lambda one: _number(one, name) is not None)


@clause("RFC9971-4.8.4.1-04")
def upper_displayed(scope: Scope) -> Answer:
    """Each regular result states its relevant upper bound."""
    name = "relevant_upper_bound"
    return _outcomes_hold(_regular(scope), name, lambda one: _number(one, name) is not None)


@clause("RFC9971-4.8.4.1-06")
def within_width(scope: Scope) -> Answer:
    """The bounds of a regular result are no farther apart than the goal's width."""
    widths = {goal.code: goal.goal_width for goal in goals(scope)}

    def fits(one: Outcome) -> bool:
        if one.lower is None or one.upper is None:
            return False
        apart = (one.upper.load_fps - one.lower.load_fps) / one.upper.load_fps
        return apart <= widths.get(_code(one), 0.0)

    return _outcomes_hold(_regular(scope), "at most the goal width", fits)


@clause("RFC9971-4.8.4.2-02")
def irregular_marked(scope: Scope) -> Answer:
    """What is not regular is no plain number, or carries the mark."""
    regular = set(map(id, _regular(scope)))
    others = [one for one in scope.outcomes if id(one) not in regular]
    return _outcomes_hold(
        others,
        "a type that is no plain number, or the remark that it is irregular",
        lambda one: not one.values or any(IRREGULAR in text for text in one.quality),
    )


@clause("RFC9971-4.8.5-01")
def entry_each_goal(scope: Scope) -> Answer:
    """Each search has one result a goal."""
    codes = {goal.code for goal in goals(scope)}
    found: dict[str, list[str]] = {}
    for one in scope.outcomes:
        found.setdefault(one.cell.cell_id, []).append(_code(one))
    wrong = [cell for cell, mine in found.items() if sorted(mine) != sorted(codes)]
    return held(
        bool(found) and not wrong, f"{len(codes)} results a search", f"{len(wrong)} searches otherwise"
    )


@clause("RFC9971-4.8.6-01")
def result_there(scope: Scope) -> Answer:
    """The outcomes are the search result."""
    return held(bool(scope.outcomes), "a search result", f"{len(scope.outcomes)} results")


@clause("RFC9971-4.9.1-01")
def freedoms_documented(scope: Scope) -> Answer:
    """Duplicates and reordering are counted apart and never as loss; the glossary and each trial say so."""
    return held(bool(scope.trials), "how duplicates and reordering count", "counted apart in each trial")


@clause("RFC9971-4.9.1-02")
def tester_first(scope: Scope) -> Answer:
    """The tester alone was measured for the same traffic, and is the highest load."""
    lacking = [one.cell.cell_id for one in scope.outcomes if scope.evidence.envelope_fps(one.cell) is None]
    return held(not lacking, "the tester's own envelope as highest load", f"{len(lacking)} results without")


@clause("RFC9971-4.6.8.1")
def below_highest(scope: Scope) -> Answer:
    """No trial above the highest load, which is the tester's envelope."""
    limits = {one.cell.cell_id: scope.evidence.envelope_fps(one.cell) for one in scope.outcomes}
    return _trials_hold(
        scope,
        "at most the highest load of the search",
        lambda one: one.trial.result.spec.load_fps <= (limits.get(one.cell_id) or 0),
    )


@clause("RFC9971-4.9.1-03")
def short_counts_as_loss(scope: Scope) -> Answer:
    """A trial that sent too few frames takes no part; it is not made into loss."""
    return held(False, "frames that were not sent count as lost", "such a trial is set aside and repeated")


@clause("RFC9971-4.9.3-02")
def configuration_held(scope: Scope) -> Answer:
    """A record of the machine, and each deployment that trials ran on."""
    platform = scope.evidence.platform or {"base": {"before": None}, "deployments": {}}
    lacking = {one.deployment_id for one in scope.trials} - set(platform["deployments"])
    return held(
        platform["base"]["before"] is not None and not lacking,
        "a record, and each deployment's configuration",
        f"{'a' if platform['base']['before'] else 'no'} record; {len(lacking)} deployments not described",
    )


RULES: tuple[ClauseRule, ...] = (
    units_stated,
    deviations_described,
    no_deviation,
    learning_each_trial,
    scope_of_loads,
    aggregate_loads,
    positive_duration,
    constant_load,
    equal_loads,
    input_of_two,
    traffic_constant,
    traffic_mentioned,
    forwarding_ratio,
    default_denominator,
    denominator_described,
    trial_output,
    above_least,
    both_bounds,
    conditional_throughput,
    lower_displayed,
    upper_displayed,
    within_width,
    irregular_marked,
    entry_each_goal,
    result_there,
    freedoms_documented,
    tester_first,
    below_highest,
    short_counts_as_loss,
    configuration_held,
)

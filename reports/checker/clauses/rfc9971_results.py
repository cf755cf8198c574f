"""RFC 9971 sections 4.5.8 and 4.8 as rules: results, held against what the trials prove."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bmwg.methodology.mlrsearch.outcome import IRREGULAR, METRIC
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.proof import NAMED, close, each_outcome, stated, taken
from bmwg.reports.checker.recorded_goals import code_of, conditional, goals, result_of
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_applicable


def _regular(scope: Scope) -> tuple[Outcome, ...]:
    """Return the results that are given as regular: plain numbers without the mark."""
    return tuple(
        outcome
        for outcome in scope.outcomes
        if outcome.type is OutcomeType.MEASURED and not any(IRREGULAR in text for text in outcome.quality)
    )


def _outcomes_hold(outcomes: Iterable[Outcome], expected: str, fits: Callable[[Outcome], bool]) -> Answer:
    return each_outcome(outcomes, expected, fits, without="no result of that kind in the run")


@clause("RFC9971-4.5.8-02")
def duration_stands_in(scope: Scope) -> Answer:
    """Where a tester does not tell how long it sent, the bounds are those that the Trial Durations prove."""

    def untimed(one: Outcome) -> bool:
        return any(
            stream.sent_frames > 1 and stream.effective_duration_ns == 0
            for trial in taken(scope, one)
            for stream in trial.trial.result.streams
        )

    def fits(one: Outcome) -> bool:
        found = result_of(scope, one)
        lower, upper = (None if bound is None else bound.load_fps for bound in (one.lower, one.upper))
        if found is None:
            return False
        proven = found.relevant_lower_bound_fps or found.effective_lower_fps
        return (proven, found.relevant_upper_bound_fps) == (lower, upper)

    return _outcomes_hold(filter(untimed, scope.outcomes), "bounds by the Trial Durations", fits)


@clause("RFC9971-4.8.4.1-01")
def both_bounds(scope: Scope) -> Answer:
    """A regular result has both relevant bounds."""
    return _outcomes_hold(_regular(scope), "both relevant bounds", lambda one: bool(one.lower and one.upper))


@clause("RFC9971-4.8.4.1-02")
def conditional_throughput(scope: Scope) -> Answer:
    """A regular result has the conditional throughput that its trials give."""
    return _outcomes_hold(
        _regular(scope),
        "the conditional throughput of the relevant lower bound",
        lambda one: close(stated(one, METRIC), conditional(scope, one)),
    )


@clause("RFC9971-4.8.4.1-03")
def lower_displayed(scope: Scope) -> Answer:
    """Each regular result states its relevant lower bound."""
    return _outcomes_hold(
        _regular(scope),
        "relevant_lower_bound",
        lambda one: one.lower is not None and close(stated(one, "relevant_lower_bound"), one.lower.load_fps),
    )


@clause("RFC9971-4.8.4.1-04")
def upper_displayed(scope: Scope) -> Answer:
    """Each regular result states its relevant upper bound."""
    return _outcomes_hold(
        _regular(scope),
        "relevant_upper_bound",
        lambda one: one.upper is not None and close(stated(one, "relevant_upper_bound"), one.upper.load_fps),
    )


@clause("RFC9971-4.8.4.1-05")
def stopped_rightly(scope: Scope) -> Answer:
    """The trials of a regular result, classified anew, prove its two bounds and leave nothing to search."""

    def fits(one: Outcome) -> bool:
        found = result_of(scope, one)
        if found is None or not found.regular or one.lower is None or one.upper is None:
            return False
        bounds = (found.relevant_lower_bound_fps, found.relevant_upper_bound_fps)
        return bounds == (one.lower.load_fps, one.upper.load_fps)

    return _outcomes_hold(_regular(scope), "bounds that the trials prove", fits)


@clause("RFC9971-4.8.4.1-06")
def within_width(scope: Scope) -> Answer:
    """The bounds of a regular result are no farther apart than the goal's width."""
    widths = {goal.code: goal.goal_width for goal in goals(scope)}

    def fits(one: Outcome) -> bool:
        if one.lower is None or one.upper is None:
            return True  # 4.8.4.1-01 says that they are missing
        return (one.upper.load_fps - one.lower.load_fps) / one.upper.load_fps <= widths[code_of(one)]

    known = [outcome for outcome in _regular(scope) if code_of(outcome) in widths]
    return _outcomes_hold(known, "at most the goal width", fits)


@clause("RFC9971-4.8.4.2-02")
def irregular_marked(scope: Scope) -> Answer:
    """A number of a result whose trials prove no regular one carries the mark."""

    def irregular(one: Outcome) -> bool:
        found = result_of(scope, one)
        return found is None or not found.regular

    return _outcomes_hold(
        [outcome for outcome in scope.outcomes if irregular(outcome)],
        "no plain number, or the remark that it is irregular",
        lambda one: not one.values or any(IRREGULAR in text for text in one.quality),
    )


@clause("RFC9971-4.8.4.3")
def regularity_told(scope: Scope) -> Answer:
    """Type and remarks of each result say whether it is regular, as its trials do."""

    def fits(one: Outcome) -> bool:
        found = result_of(scope, one)
        if found is None:
            return False
        told = any(IRREGULAR in text for text in one.quality)
        return not told if found.regular else told or bool(one.reason)

    return _outcomes_hold(scope.outcomes, "a result that says by itself whether it is regular", fits)


@clause("RFC9971-4.8.5-01")
def entry_each_goal(scope: Scope) -> Answer:
    """Each search has one result a goal."""
    wanted = sorted(goal.code for goal in goals(scope))
    found = _codes_by_search(scope)
    wrong = [cell for cell, mine in found.items() if sorted(mine) != wanted]
    return held(
        bool(found) and not wrong, f"{len(wanted)} results a search", f"{len(wrong)} searches otherwise"
    )


@clause("RFC9971-4.8.5-02")
def in_order_of_goals(scope: Scope) -> Answer:
    """The results of a search stand in the order of its goals."""
    order = [goal.code for goal in goals(scope)]
    found = _codes_by_search(scope)
    if all(len(mine) < 2 for mine in found.values()):
        return not_applicable("no search has several goals")
    wrong = [cell for cell, mine in found.items() if mine != [code for code in order if code in mine]]
    return held(not wrong, "the order of the goals", f"{len(wrong)} of {len(found)} searches otherwise")


def _codes_by_search(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for outcome in scope.outcomes:
        found.setdefault(outcome.cell.cell_id, []).append(code_of(outcome))
    return found


@clause("RFC9971-4.8.6-01")
def result_there(scope: Scope) -> Answer:
    """Each search that the journal holds has a result."""
    answered = {
        outcome.cell.cell_id for outcome in scope.evidence.outcomes if outcome.metric.startswith(METRIC)
    }
    searched = {cell for cell, metric in scope.evidence.by_group if metric.startswith(METRIC)}
    lacking = sorted(searched - answered)
    found = f"{len(lacking)} of {len(searched)} searches without {lacking[:NAMED]}"
    return held(bool(answered) and not lacking, "a search result for each search", found)

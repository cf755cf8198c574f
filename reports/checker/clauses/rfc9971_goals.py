"""RFC 9971 sections 4.6 and 4.10 as rules: the goals that a run records, by its profile and its results."""

from __future__ import annotations

from collections.abc import Callable

from bmwg.reports.checker.proof import NAMED
from bmwg.reports.checker.recorded_goals import RecordedGoal, code_of, codes, goals, recorded
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
)


def _goals_hold(scope: Scope, expected: str, fits: Callable[[RecordedGoal], bool]) -> Answer:
    given = recorded(scope)
    wrong = [goal.code for goal in given if not fits(goal)]
    return held(bool(given) and not wrong, expected, f"{len(given)} goals, otherwise: {wrong or 'none'}")


def _unprofiled(scope: Scope) -> list[str]:
    """Return the codes of results whose goal the profile does not have, and so not its other attributes."""
    known = {goal.code for goal in goals(scope)}
    return [code for code in codes(scope) if code not in known]


@clause("RFC9971-4.6.1-01")
def final_duration(scope: Scope) -> Answer:
    """Goal Final Trial Duration."""
    return _goals_hold(scope, "above 0 s", lambda goal: goal.final_s > 0)


@clause("RFC9971-4.6.1-02")
def one_final_duration(scope: Scope) -> Answer:
    """All goals have the same one."""
    lengths = sorted({goal.final_s for goal in recorded(scope)})
    return held(
        len(lengths) == 1, "one final trial duration", ", ".join(f"{length:g} s" for length in lengths)
    )


@clause("RFC9971-4.6.2-01")
def duration_sum(scope: Scope) -> Answer:
    """Goal Duration Sum."""
    return _goals_hold(scope, "above 0 s", lambda goal: goal.sum_s > 0)


@clause("RFC9971-4.6.2-02")
def sum_covers_final(scope: Scope) -> Answer:
    """The sum is not below the final duration."""
    return _goals_hold(scope, "at least the final trial duration", lambda goal: goal.sum_s >= goal.final_s)


@clause("RFC9971-4.6.3")
def loss_ratio(scope: Scope) -> Answer:
    """Goal Loss Ratio."""
    return _goals_hold(scope, "0 up to below 1", lambda goal: 0 <= goal.loss_ratio < 1)


@clause("RFC9971-4.6.4-01")
def exceed_ratio(scope: Scope) -> Answer:
    """Goal Exceed Ratio."""
    return _goals_hold(scope, "0 up to below 1", lambda goal: 0 <= goal.exceed_ratio < 1)


@clause("RFC9971-4.6.4-02")
def recommended_exceed(scope: Scope) -> Answer:
    """A half, or none for the goal of RFC 2544."""
    return _goals_hold(
        scope,
        "0.5, or 0 for RFC 2544's goal",
        lambda goal: goal.exceed_ratio == 0.5 or (not goal.exceed_ratio and not goal.loss_ratio),
    )


@clause("RFC9971-4.6.5-03")
def other_stop(scope: Scope) -> Answer:
    """Only without a goal width: a result whose goal the profile does not have tells what ended it."""
    without = _unprofiled(scope)
    if not without:
        return not_applicable("every goal has a width")
    silent = [
        outcome.outcome_id for outcome in scope.outcomes if code_of(outcome) in without and not outcome.reason
    ]
    found = f"goals without a width: {without[:NAMED]}; no other stop in {silent[:NAMED] or 'none'}"
    return held(not silent, "another stop of the search", found)


@clause("RFC9971-4.6.5-05")
def width_recommended(scope: Scope) -> Answer:
    """Not below the loss ratio."""
    low = [goal.code for goal in goals(scope) if goal.goal_width < goal.goal_loss_ratio]
    return held(not low, "at least the goal loss ratio", f"{len(goals(scope))} goals, below: {low or 'none'}")


@clause("RFC9971-4.6.7-01")
def goal_whole(scope: Scope) -> Answer:
    """Each result says the four attributes of the goal that it answers, by the code in its metric's name."""
    known = {goal.code for goal in recorded(scope)}
    lacking = [code or "none" for code in codes(scope) if code not in known]
    expected = "final duration, duration sum, loss ratio and exceed ratio of each goal"
    return held(not lacking, expected, f"{len(codes(scope))} goals, not told: {lacking[:NAMED] or 'none'}")


@clause("RFC9971-4.6.8-01")
def goals_given(scope: Scope) -> Answer:
    """The results answer goals that the profile lists."""
    known = {goal.code for goal in goals(scope)}
    listed = [code for code in codes(scope) if code in known]
    found = f"{len(listed)} of {len(codes(scope))} are listed"
    return held(bool(listed) and len(listed) == len(codes(scope)), "results of listed search goals", found)


@clause("RFC9971-4.6.8.2-02")
def a_frame_at_least(scope: Scope) -> Answer:
    """The lowest load sends a frame in the shortest trial."""
    frames = scope.profile.search.min_load_fps * min(goal.initial_trial_duration_s for goal in goals(scope))
    return held(frames >= 1, "at least one frame", f"{frames:g} frames")


@clause("RFC9971-4.9.3-03")
def attributes_reported(scope: Scope) -> Answer:
    """Each goal that a result answers is in the profile with all attributes, which the report lists."""
    lacking = _unprofiled(scope)
    found = f"{len(codes(scope))} goals, without their other attributes: {lacking[:NAMED] or 'none'}"
    return held(not lacking, "every attribute of each goal", found)


@clause("RFC9971-4.10.2-01")
def rfc2544_goal(scope: Scope) -> Answer:
    """A goal of 60 s, 60 s, no loss, no exceeding."""
    return _has_goal(scope, 60.0, 60.0, 0.0, 0.0)


@clause("RFC9971-4.10.3-01")
def tst009_goal(scope: Scope) -> Answer:
    """A goal of 60 s, 120 s, no loss, half exceeding."""
    return _has_goal(scope, 60.0, 120.0, 0.0, 0.5)


def _has_goal(scope: Scope, *wanted: float) -> Answer:
    found = [
        (goal.final_s, goal.sum_s, goal.loss_ratio, goal.exceed_ratio)
        for goal in recorded(scope)
        if goal.code in codes(scope)
    ]
    return held(wanted in found, f"a goal of {wanted}", f"{found}")

"""RFC 9971 sections 4.6 and 4.10 as rules: the goals that a search was given."""

from __future__ import annotations

from collections.abc import Callable

from bmwg.methodology.mlr.goal import SearchGoal
from bmwg.methodology.profiles.profile import MLRSEARCH
from bmwg.reports.checker.verdicts import Answer, ClauseRule, Scope, clause, held, not_applicable


def goals(scope: Scope) -> tuple[SearchGoal, ...]:
    """Return the goals that the profile gives to the search."""
    return scope.profile.searching(MLRSEARCH).search.goals


def _goals_hold(scope: Scope, expected: str, fits: Callable[[SearchGoal], bool]) -> Answer:
    given = goals(scope)
    wrong = [goal.name for goal in given if not fits(goal)]
    return held(bool(given) and not wrong, expected, f"{len(given)} goals, otherwise: {wrong or 'none'}")


@clause("RFC9971-4.6.1-01")
def final_duration(scope: Scope) -> Answer:
    """Goal Final Trial Duration."""
    return _goals_hold(scope, "above 0 s", lambda goal: goal.goal_final_trial_duration_s > 0)


@clause("RFC9971-4.6.1-02")
def one_final_duration(scope: Scope) -> Answer:
    """All goals have the same one."""
    lengths = sorted({goal.goal_final_trial_duration_s for goal in goals(scope)})
    return held(len(lengths) == 1, "one final trial duration", ", ".join(f"{one:g} s" for one in lengths))


@clause("RFC9971-4.6.2-01")
def duration_sum(scope: Scope) -> Answer:
    """Goal Duration Sum."""
    return _goals_hold(scope, "above 0 s", lambda goal: goal.goal_duration_sum_s > 0)


@clause("RFC9971-4.6.2-02")
def sum_covers_final(scope: Scope) -> Answer:
    """The sum is not below the final duration."""
    return _goals_hold(
        scope,
        "at least the final trial duration",
        lambda goal: goal.goal_duration_sum_s >= goal.goal_final_trial_duration_s,
    )


@clause("RFC9971-4.6.3")
def loss_ratio(scope: Scope) -> Answer:
    """Goal Loss Ratio."""
    return _goals_hold(scope, "0 up to below 1", lambda goal: 0 <= goal.goal_loss_ratio < 1)


@clause("RFC9971-4.6.4-01")
def exceed_ratio(scope: Scope) -> Answer:
    """Goal Exceed Ratio."""
    return _goals_hold(scope, "0 up to below 1", lambda goal: 0 <= goal.goal_exceed_ratio < 1)


@clause("RFC9971-4.6.4-02")
def recommended_exceed(scope: Scope) -> Answer:
    """A half, or none for the goal of RFC 2544."""
    return _goals_hold(
        scope, "0.5, or 0 for RFC 2544's goal", lambda goal: goal.goal_exceed_ratio in (0, 0.5)
    )


@clause("RFC9971-4.6.5-02")
def width_positive(scope: Scope) -> Answer:
    """Goal Width."""
    return _goals_hold(scope, "above 0", lambda goal: goal.goal_width > 0)


@clause("RFC9971-4.6.5-03")
def other_stop(scope: Scope) -> Answer:
    """Only without a goal width."""
    return not_applicable("every goal has a width")


@clause("RFC9971-4.6.5-04")
def width_named(scope: Scope) -> Answer:
    """The goals of the toolkit have a relative width; the profile in the run says each."""
    given = goals(scope)
    return held(
        bool(given), "which quantity the width is", f"relative to the upper bound, {len(given)} goals"
    )


@clause("RFC9971-4.6.5-05")
def width_recommended(scope: Scope) -> Answer:
    """Not below the loss ratio."""
    return _goals_hold(
        scope, "at least the goal loss ratio", lambda goal: goal.goal_width >= goal.goal_loss_ratio
    )


@clause("RFC9971-4.6.6-02")
def initial_duration(scope: Scope) -> Answer:
    """Goal Initial Trial Duration."""
    return _goals_hold(scope, "above 0 s", lambda goal: goal.initial_trial_duration_s > 0)


@clause("RFC9971-4.6.7-01")
def goal_whole(scope: Scope) -> Answer:
    """A goal without one of its four attributes cannot be read at all."""
    return _goals_hold(scope, "final duration, duration sum, loss ratio, exceed ratio", lambda goal: True)


@clause("RFC9971-4.6.8-01")
def goals_given(scope: Scope) -> Answer:
    """The search has goals."""
    return held(bool(goals(scope)), "at least one search goal", f"{len(goals(scope))}")


@clause("RFC9971-4.6.8.2-02")
def a_frame_at_least(scope: Scope) -> Answer:
    """The lowest load sends a frame in the shortest trial."""
    frames = scope.profile.search.min_load_fps * min(
        (goal.initial_trial_duration_s for goal in goals(scope)), default=0.0
    )
    return held(frames >= 1, "at least one frame", f"{frames:g} frames")


@clause("RFC9971-4.9.3-03")
def attributes_reported(scope: Scope) -> Answer:
    """The report's section on RFC 9971 lists every attribute of each goal, defaults as well."""
    return held(
        bool(goals(scope)), "every attribute of each goal", f"{len(goals(scope))} goals, all attributes"
    )


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
        (
            goal.goal_final_trial_duration_s,
            goal.goal_duration_sum_s,
            goal.goal_loss_ratio,
            goal.goal_exceed_ratio,
        )
        for goal in goals(scope)
    ]
    return held(wanted in found, f"a goal of {wanted}", f"{found}")


RULES: tuple[ClauseRule, ...] = (
    final_duration,
    one_final_duration,
    duration_sum,
    sum_covers_final,
    loss_ratio,
    exceed_ratio,
    recommended_exceed,
    width_positive,
    other_stop,
    width_named,
    width_recommended,
    initial_duration,
    goal_whole,
    goals_given,
    a_frame_at_least,
    attributes_reported,
    rfc2544_goal,
    tst009_goal,
)

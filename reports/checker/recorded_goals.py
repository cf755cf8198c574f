"""The search goals that a run records: its profile's, and those that its results claim by their code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.mlrsearch.classify import (
    GoalResult,
    conditional_throughput_fps,
    goal_result,
    trial_outputs,
)
from bmwg.methodology.mlrsearch.goal import SearchGoal
from bmwg.methodology.mlrsearch.outcome import METRIC
from bmwg.methodology.profiles.profile import MLRSEARCH
from bmwg.methodology.records import Outcome
from bmwg.methodology.search import closing
from bmwg.reports.checker.proof import numbered, taken
from bmwg.reports.checker.verdicts import Scope

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:e[-+][0-9]+)?"
_CODE = re.compile(rf"({_NUMBER})f({_NUMBER})d({_NUMBER})l({_NUMBER})e")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedGoal:
    """One goal as recorded, durations in s, ratios 0..1; `goal` is the profile's, if it has one."""

    code: str
    final_s: float
    sum_s: float
    loss_ratio: float
    exceed_ratio: float
    goal: SearchGoal | None = None


def goals(scope: Scope) -> tuple[SearchGoal, ...]:
    """Return the goals that the profile gives to the search."""
    return scope.profile.searching(MLRSEARCH).search.goals


def code_of(outcome: Outcome) -> str:
    """Return the code of the goal that an outcome answers; empty where it names none."""
    return outcome.metric.removeprefix(METRIC).removeprefix(".")


def codes(scope: Scope) -> tuple[str, ...]:
    """Return the codes that the results claim, each once."""
    return tuple(dict.fromkeys(code_of(outcome) for outcome in scope.outcomes))


def recorded(scope: Scope) -> tuple[RecordedGoal, ...]:
    """Return the goals of profile and results, each once; a code that is none of a goal is left out."""
    found = {
        goal.code: RecordedGoal(
            code=goal.code,
            final_s=goal.goal_final_trial_duration_s,
            sum_s=goal.goal_duration_sum_s,
            loss_ratio=goal.goal_loss_ratio,
            exceed_ratio=goal.goal_exceed_ratio,
            goal=goal,
        )
        for goal in goals(scope)
    }
    for code in codes(scope):
        if code not in found and (one := _read(code)) is not None:
            found[code] = one
    return tuple(found.values())


def _read(code: str) -> RecordedGoal | None:
    match = _CODE.fullmatch(code)
    if match is None:
        return None
    final, whole, loss, exceed = map(float, match.groups())
    return RecordedGoal(
        code=code, final_s=final, sum_s=whole, loss_ratio=loss / 100, exceed_ratio=exceed / 100
    )


def goal_of(scope: Scope, outcome: Outcome) -> SearchGoal | None:
    """Return the goal that an outcome answers: the profile's, or one of its code; None of what is no goal."""
    code = code_of(outcome)
    for goal in recorded(scope):
        if goal.code == code:
            return goal.goal or _made(goal)
    return None


def _made(one: RecordedGoal) -> SearchGoal | None:
    try:
        return SearchGoal(
            name=one.code,
            goal_final_trial_duration_s=one.final_s,
            goal_duration_sum_s=one.sum_s,
            goal_loss_ratio=one.loss_ratio,
            goal_exceed_ratio=one.exceed_ratio,
        )
    except ConfigError:
        return None


def conditional(scope: Scope, outcome: Outcome) -> float | None:
    """Compute the conditional throughput (frames/s) anew, from the trials at the relevant lower bound."""
    goal = goal_of(scope, outcome)
    if goal is None or outcome.lower is None:
        return None
    trials = [trial.trial for trial in numbered(scope, outcome.lower.trials)]
    outputs = [output for output in trial_outputs(trials) if output.load_fps == outcome.lower.load_fps]
    return conditional_throughput_fps(outputs, outcome.lower.load_fps, goal)


def result_of(scope: Scope, outcome: Outcome) -> GoalResult | None:
    """Classify the loads anew, from the trials of the search; None of what answers no goal.

    The trial that warms up, which the profile asks for, proves nothing: it is all until the first valid one.
    Those that try the answer again after the search (docs/adr/0262) are no part of it.
    """
    goal = goal_of(scope, outcome)
    trials = [one.trial for one in taken(scope, outcome) if one.phase != closing.PHASE]
    if goal is None or not trials:
        return None
    if scope.profile.searching(MLRSEARCH).search.warmup_s:
        first = next((number for number, one in enumerate(trials) if one.valid), len(trials))
        trials = trials[first + 1 :]
    highest = max((trial.result.spec.load_fps for trial in trials), default=0)
    return goal_result(trial_outputs(trials), goal, max_load_fps=highest)

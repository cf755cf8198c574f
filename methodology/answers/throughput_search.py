"""The throughput of one cell by whichever search its profile names: one call, one outcome or one a goal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bmwg.methodology.answers import throughput
from bmwg.methodology.mlrsearch import engine
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import MLRSEARCH, TST009
from bmwg.methodology.records import Cell, Outcome, TrialSpec
from bmwg.methodology.search import bisection, tst009
from bmwg.methodology.trial.judging import JudgedTrial


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Outcomes of one search, the first under the id asked for, and its trials.

    `error` is what stopped a measurer.
    """

    outcomes: tuple[Outcome, ...]
    trials: tuple[JudgedTrial, ...] = ()
    error: Exception | None = None


def search(
    measure: Callable[[TrialSpec], JudgedTrial],
    profile: Profile,
    cell: Cell,
    *,
    outcome_id: str,
    max_load_fps: int,
    envelope_fps: int | None = None,
    medium_fps: int | None = None,
) -> Answered:
    """Search one cell below a tester's qualified load. `measure` runs, records and judges one single trial.

    Several goals of one search give several outcomes: the first keeps `outcome_id`, the others get their
    goal's code appended. Each carries the metric of its own search.
    """
    taken: list[JudgedTrial] = []

    def take(spec: TrialSpec) -> JudgedTrial:
        taken.append(measure(spec))
        return taken[-1]

    if profile.search.algorithm == MLRSEARCH:
        wanted = profile.controller_input(
            cell, max_load_fps=max_load_fps, envelope_fps=envelope_fps, medium_fps=medium_fps
        )
        found = engine.search(take, wanted)
        first, *others = goal_outcomes.outcomes(found, wanted, cell, outcome_id=outcome_id)
        return Answered(
            outcomes=(replace(first, outcome_id=outcome_id), *others), trials=tuple(taken), error=found.error
        )
    if profile.search.algorithm == TST009:
        stepped = tst009.search(
            take,
            profile.tst009_goal(
                cell, max_load_fps=max_load_fps, envelope_fps=envelope_fps, medium_fps=medium_fps
            ),
        )
        outcome = throughput.outcome(stepped, cell, outcome_id=outcome_id, metric=tst009.METRIC)
        outcome = replace(outcome, requirements=("TST009-8-01", "TST009-12.3.3-04"))
        return Answered(outcomes=(outcome,), trials=tuple(taken), error=stepped.error)
    bisected = bisection.search(
        take,
        profile.goal(
            cell, max_load_fps=max_load_fps, envelope_fps=envelope_fps, medium_fps=medium_fps, closes=True
        ),
    )
    outcome = throughput.outcome(bisected, cell, outcome_id=outcome_id)
    return Answered(outcomes=(outcome,), trials=tuple(taken), error=bisected.error)

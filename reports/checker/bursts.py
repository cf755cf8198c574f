"""The searches for the longest burst of a run, read from its trials alone (RFC 9004)."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.benchmarks import back_to_back
from bmwg.methodology.benchmarks.back_to_back import LONGEST_BURST_S, METRIC, BurstGoal
from bmwg.methodology.measurements.back_to_back import NAME, burst_goal
from bmwg.methodology.measurements.measurement import settings
from bmwg.methodology.records import Outcome
from bmwg.methodology.search.stepwise import Step, UnexpectedTrialError, replay
from bmwg.methodology.trial.medium import cell_fps
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import close, taken, throughputs
from bmwg.reports.checker.verdicts import Scope

_BURST, _VERIFICATION = "burst", "loss verification"


def burst_searches(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Part the trials of an outcome by search, by the journal's phases; verifying trials go along."""
    parted: list[list[Trial]] = []
    last = None
    for trial in trials:
        phase = trial.phase.replace("_", " ")
        if (phase.startswith(_BURST) and phase != last) or not parted:
            parted.append([])
        if phase != _VERIFICATION:
            last = phase
        parted[-1].append(trial)
    return parted


def longest_frames(trials: Sequence[Trial]) -> int | None:
    """Return the longest burst of a search that lost no frame."""
    return max(
        (trial.trial.result.spec.first_frames for trial in trials if trial.trial.lossless), default=None
    )


def lengths(scope: Scope, outcome: Outcome) -> tuple[int, ...]:
    """Return the longest burst without loss of each search (frames); a search without one has none."""
    found = [longest_frames(search) for search in burst_searches(taken(scope, outcome))]
    return tuple(one for one in found if one is not None)


def averages(scope: Scope, outcome: Outcome) -> bool:
    """Whether mean, shortest and longest burst of an answer are those of its searches."""
    found = lengths(scope, outcome)
    if not found:
        return False
    wanted = {METRIC: sum(found) / len(found), f"{METRIC}.min": min(found), f"{METRIC}.max": max(found)}
    said = {value.metric: value.number for value in outcome.values if value.metric in wanted}
    return all(close(number, wanted[metric]) for metric, number in said.items())


def throughput_of(scope: Scope, outcome: Outcome) -> Outcome | None:
    """Return the throughput (RFC 2544) of the same traffic."""
    return throughputs(scope).get(outcome.cell.cell_id)


def throughput_fps(scope: Scope, outcome: Outcome) -> int | None:
    """Return the highest load without loss of that throughput, frames/s."""
    found = throughput_of(scope, outcome)
    return found.lower.load_fps if found is not None and found.lower is not None else None


def burst_rates_fps(scope: Scope, outcome: Outcome) -> set[int]:
    """Return the rates at which bursts were sent, frames/s."""
    return {trial.trial.result.spec.load_fps for trial in taken(scope, outcome)}


def theoretical_fps(scope: Scope, outcome: Outcome) -> int | None:
    """Return the medium's maximum frame rate for the outcome's frames; None of a medium without one."""
    return cell_fps(scope.run["medium"]["line_rate_bps"], outcome.cell)


def limit_s(scope: Scope) -> float:
    """Return the longest time for which a burst may be sent, by the profile."""
    return float(settings(scope.profile, NAME).get("max_burst_s", LONGEST_BURST_S))


def goal_of(scope: Scope, outcome: Outcome) -> BurstGoal | None:
    """Return the goal that profile and trials make; None of trials that no goal asks for."""
    rates = burst_rates_fps(scope, outcome)
    try:
        return burst_goal(scope.profile, outcome.cell, min(rates), throughput_fps(scope, outcome))
    except ValueError:
        return None


def follows_search(scope: Scope, outcome: Outcome) -> bool:
    """Whether each trial is the one that TST009's search over burst lengths calls for, to its end."""
    goal = goal_of(scope, outcome)
    if goal is None:
        return False
    trials = [trial.trial for trial in taken(scope, outcome)]
    try:
        return not isinstance(replay(back_to_back.procedure(goal), trials), Step)
    except UnexpectedTrialError:
        return False

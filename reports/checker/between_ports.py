"""What rules of trials between several ports ask of a run: which trials, which answers, what was learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bmwg.methodology.answers import throughput
from bmwg.methodology.cells import patterns
from bmwg.methodology.mlrsearch import outcome as goal_outcome
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.methodology.search import tst009
from bmwg.methodology.trial.pattern import Pattern
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import NAMED, none_wrong, taken
from bmwg.reports.checker.verdicts import Answer, Scope, not_applicable, not_assessed

_THROUGHPUTS = (throughput.METRIC, tst009.METRIC, f"{goal_outcome.METRIC}.")
NO_PATTERN = "no trial between several ports of a switch"


def pattern_of(trial: Trial) -> Pattern | None:
    """Return who sends to whom in a trial; None where frames go between two ports."""
    return trial.trial.result.spec.pattern


def prepared(scope: Scope) -> list[tuple[Trial, Pattern]]:
    """Return the trials of a pattern that learning frames are to precede."""
    pairs = [(one, pattern_of(one)) for one in scope.trials]
    return [(one, found) for one, found in pairs if found is not None and not found.unprepared]


def of_metric(scope: Scope, metric: str) -> list[Trial]:
    """Return the trials of a metric."""
    return [one for one in scope.trials if one.metric == metric]


def measured(scope: Scope, metric: str) -> list[Outcome]:
    """Return the answers of a metric that are numbers."""
    return [one for one in scope.outcomes if one.metric == metric and one.type is OutcomeType.MEASURED]


def throughputs_of_patterns(scope: Scope) -> list[Outcome]:
    """Return plain throughputs of patterns, by whatever search: bursts have a lower bound as well."""
    return [
        one
        for one in scope.outcomes
        if one.metric.startswith(_THROUGHPUTS)
        and one.type is OutcomeType.MEASURED
        and one.lower is not None
        and patterns.of(one.cell.axes) is not None
    ]


def each_trial(
    trials: Iterable[Trial], expected: str, right: Callable[[Trial], bool], *, without: str
) -> Answer:
    """Hold each trial to be right; `without` says why there is none."""
    mine = list(trials)
    if not mine:
        return not_applicable(without)
    return none_wrong([one.trial.seq for one in mine if not right(one)], len(mine), expected, "trials")


def all_of(scope: Scope, metric: str, expected: str, right: Callable[[Outcome, list[Trial]], bool]) -> Answer:
    """Hold each measured outcome of a metric, with its valid trials, to be right."""
    mine = measured(scope, metric)
    if not mine:
        return not_applicable("the run has no number of it")
    wrong = [
        one.outcome_id for one in mine if not right(one, [t for t in taken(scope, one) if t.trial.valid])
    ]
    return none_wrong(wrong, len(mine), expected, "answers")


def number_of(outcome: Outcome, metric: str) -> float | None:
    """Return a number of an answer by its name."""
    return next((value.number for value in outcome.values if value.metric == metric), None)


def learned(trials: Sequence[Trial]) -> Answer:
    """Hold that learning frames went before each trial, or before an earlier one of its cell and deployment.

    Those of another cell told the switch the addresses of another pattern.
    """
    wrong: list[int] = []
    told: set[tuple[str, str]] = set()
    for one in trials:
        if one.times is not None and one.times.learnt_ns is not None:
            told.add((one.cell_id, one.deployment_id))
        elif (one.cell_id, one.deployment_id) not in told:
            wrong.append(one.trial.seq)
    return none_wrong(wrong, len(trials), "learning frames before the trials of a deployment", "trials")


def ages_later(scope: Scope, trials: Sequence[Trial], needed_s: Callable[[Trial], float]) -> Answer:
    """Hold the ageing time that each switch told to be longer than what each trial needs."""
    if not trials:
        return not_applicable("no trial of it")
    told = scope.evidence.deployments
    known = {one.deployment_id: ageing_s(told.get(one.deployment_id)) for one in trials}
    if unknown := sorted(name for name, found in known.items() if found is None):
        return not_assessed(f"no ageing time was read of {len(unknown)} deployments {unknown[:NAMED]}")
    wrong = [one.trial.seq for one in trials if (known[one.deployment_id] or 0) <= needed_s(one)]
    return none_wrong(wrong, len(trials), "an ageing time longer than each trial", "trials")


def ageing_s(told: object) -> float | None:
    """Return the ageing time (seconds) that a deployment read back of its switch."""
    found = below(told, "function", "settings", "found", "ageing_s")
    return float(found) if isinstance(found, int | float) else None

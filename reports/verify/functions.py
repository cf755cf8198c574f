"""What to ask of functions that filter or translate: their own counters, held against the tester's counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bmwg.methodology.answers.data_plane_functions import disagreements, told_of
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import listed

_NAMED = 3  # trials that a question names


def questions(evidence: Evidence) -> Iterator[str]:
    """Ask where a function's counts are not of the tester's frames, and where its counters told nothing."""
    run = evidence.run
    if run is None or run["simulated"] or not evidence.of_frames:
        return
    counting = _counting(evidence)
    silent: list[int] = []
    differing: list[int] = []
    first = ""
    for trial in evidence.trials:
        if trial.fault:
            continue
        result = trial.trial.result
        if trial.deployment_id in counting and not told_of(result):
            silent.append(trial.trial.seq)
        if said := next(disagreements(result), ""):
            differing.append(trial.trial.seq)
            first = first or said
    if silent:
        yield f"function: of trial {listed(silent, _NAMED)} no counts of its own are told: what did it do?"
    if differing:
        named = listed(differing, _NAMED)
        yield f"function: in trial {named} its counts and the tester's differ ({first}): why?"


def _counting(evidence: Evidence) -> frozenset[str]:
    """Return the deployments whose function has a table with counters."""
    return frozenset(
        name
        for name, told in evidence.deployments.items()
        if isinstance(told, Mapping)
        and isinstance(told.get("function"), Mapping)
        and "table" in told["function"]
    )

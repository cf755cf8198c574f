"""Outcomes that are invalid because the platform changed while they were measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bmwg.methodology.record.drift import Change, named_drift, reason
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import Shortfall


def drift_of(evidence: Evidence, outcome: Outcome) -> tuple[Change, ...]:
    """Return the changes that platform.json names for an outcome; none for one that stands."""
    return named_drift(evidence.platform or {}, outcome.outcome_id)


def drifted(outcome: Outcome, changes: tuple[Change, ...], group: Sequence[Trial]) -> Iterator[Shortfall]:
    """Say where an outcome claims more than a platform that changed allows: it is invalid, and says why.

    `group` are the recorded trials of its measurement; none may be hidden.
    """
    where = outcome.outcome_id
    if outcome.type is not OutcomeType.INVALID:
        yield where, "invalid, as platform.json: drift says", outcome.type.value
    if outcome.reason != reason(changes):
        yield f"{where}: reason", reason(changes), outcome.reason or "none"
    if outcome.lower or outcome.upper or outcome.values or outcome.statement:
        yield where, "no bound and no value while the platform changed", "some"
    recorded = {entry.trial.seq for entry in group}
    if recorded != set(outcome.trials):
        yield where, f"all {len(recorded)} trials of the cell", f"{len(outcome.trials)} trials"

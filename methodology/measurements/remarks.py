"""What is said beside an answer and of a cell that gave no plain number, live and replayed alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bmwg.methodology.answers import throughput
from bmwg.methodology.answers.latency import MayLose, lose_too_often
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.trial.judging import JudgedTrial

_PLAIN_LOADS = (OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED)
CONTINUED = "the run was cut off in the midst of these trials and continued"


def load_remark(found: Outcome) -> tuple[str, ...]:
    """Say beside a result at the throughput that its load is no plain throughput."""
    if found.type is OutcomeType.MEASURED or found.lower is None:
        return ()
    return (f"at {found.lower.load_fps} frames/s, the highest load without loss ({found.type.value})",)


def streams_remark(found: Outcome) -> tuple[str, ...]:
    """Say beside streams at the throughput at which load they were, where that is not its bound."""
    load_fps = throughput.streams_fps(found)
    if found.lower is None or load_fps == found.lower.load_fps:
        return load_remark(found)
    return (f"at {load_fps} frames/s, where the wide interval of the throughput begins", *load_remark(found))


def is_plain_load(found: Outcome) -> bool:
    """Whether a throughput is a load to measure at, or to compute with.

    A load that nobody found a limit above is one at which no more was lost than may be: it is plain.
    """
    return found.type in _PLAIN_LOADS


def without_plain_load(cell: Cell, found: Outcome, outcome_id: str, metric: str) -> Outcome | None:
    """Say that a measurement at the throughput was not assessed where that is no plain load; else None."""
    if is_plain_load(found):
        return None
    return throughput.not_assessed(
        cell,
        outcome_id=outcome_id,
        metric=metric,
        reason=f"the throughput of this cell is {found.type.value}, so that there is no load to measure at",
    )


def held_to_load(outcome: Outcome, trials: Sequence[JudgedTrial], may_lose: MayLose) -> Outcome:
    """Return an answer at a load, `unstable` where its valid trials lost frames more often than they may."""
    if outcome.type is not OutcomeType.MEASURED:
        return outcome
    reason = lose_too_often([trial for trial in trials if trial.valid], may_lose)
    if not reason:
        return outcome
    return replace(outcome, type=OutcomeType.UNSTABLE, values=(), statement=reason, reason=reason)


def without_load(cell: Cell, found: Outcome, *, outcome_id: str, metric: str) -> Outcome:
    """Say that a measurement at the throughput was not assessed: there is none (RFC 2544 26.2)."""
    return throughput.not_assessed(
        cell,
        outcome_id=outcome_id,
        metric=metric,
        reason=f"no load without loss is known: throughput is {found.type.value}",
    )

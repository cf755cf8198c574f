"""What is said beside an answer and of a cell that gave no plain number, live and replayed alike."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology import throughput
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.trial import JudgedTrial

CONTINUED = "the run was cut off in the midst of these trials and continued"


def load_remark(found: Outcome) -> tuple[str, ...]:
    """Say beside a result at the throughput that its load is no plain throughput."""
    if found.type is OutcomeType.MEASURED or found.lower is None:
        return ()
    return (f"at {found.lower.load_fps} frames/s, the highest load without loss ({found.type.value})",)


def without_load(cell: Cell, found: Outcome, *, outcome_id: str, metric: str) -> Outcome:
    """Say that a measurement at the throughput was not assessed: there is none (RFC 2544 26.2)."""
    return throughput.not_assessed(
        cell,
        outcome_id=outcome_id,
        metric=metric,
        reason=f"no load without loss is known: throughput is {found.type.value}",
    )


def trial_remarks(trials: Sequence[JudgedTrial], *, continued: bool) -> tuple[str, ...]:
    """Say what must stand beside every answer: the share of trials set aside, with the value over all.

    `continued` says that the run was cut off between these trials.
    """
    remarks: tuple[str, ...] = ()
    share = throughput.set_aside_share(trials)
    if share > 0:
        aside = f"{share:.0%} of trials set aside for stalls of the SUT's host"
        over_all = throughput.lossless_over_all(trials)
        value = f"{over_all} frames/s" if over_all is not None else "no load"
        remarks = (f"{aside}; without loss over all trials: {value}",)
    return (*remarks, CONTINUED) if continued else remarks

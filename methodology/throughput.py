"""From a throughput search to an outcome, and what its trials say when none is set aside."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.search.goal import SearchResult
from bmwg.methodology.trial import JudgedTrial

METRIC = "throughput.rfc2544_26_1"  # RFC2544-26.1-01
ENVELOPE_METRIC = "tester.envelope"  # the tester's own limit on the wire, docs/adr/0002
UNIT = "frames/s"  # RFC2544-26.1-08
REQUIREMENTS = ("RFC2544-26.1-01", "RFC2544-26.1-02", "RFC2544-26.1-08")
WIDE = 0.05  # choice: an interval wider than this stands beside its number, and no ratio is taken of it
_COUNTED = (Validity.VALID, Validity.HOST_STALLED)


def outcome(result: SearchResult, cell: Cell, *, outcome_id: str, metric: str = METRIC) -> Outcome:
    """Return the outcome of one cell; a number (per port and direction) only when the search measured one."""
    value = result.value_fps
    return Outcome(
        outcome_id=outcome_id,
        metric=metric,
        cell=cell,
        type=result.type,
        values=() if value is None else (Quantity(metric=metric, number=value, unit=UNIT),),
        lower=result.lower,
        upper=result.upper,
        trials=result.trials,
        statement=result.statement,
        reason=result.reason,
        requirements=REQUIREMENTS,
        quality=result.quality,
    )


def not_assessed(cell: Cell, *, outcome_id: str, metric: str, reason: str) -> Outcome:
    """Return the outcome of a cell that could not be tried, with the reason and what would mend it."""
    return Outcome(
        outcome_id=outcome_id, metric=metric, cell=cell, type=OutcomeType.NOT_ASSESSED, reason=reason
    )


def unqualified(cell: Cell, envelope: Outcome | None, *, outcome_id: str, metric: str) -> Outcome:
    """Return the outcome of a cell for whose traffic the tester could not be qualified (design decision 4).

    It is `unstable` where the machine disturbed the qualification, `not_assessed` where the tester cannot
    send such traffic at all, and `invalid` where the qualification broke.
    """
    same = (OutcomeType.UNSTABLE, OutcomeType.NOT_ASSESSED)
    why = envelope.reason if envelope is not None else "it was not tried"
    return Outcome(
        outcome_id=outcome_id,
        metric=metric,
        cell=cell,
        type=envelope.type if envelope is not None and envelope.type in same else OutcomeType.INVALID,
        reason=f"the tester could not be qualified for this traffic: {why}",
    )


def is_wide(outcome: Outcome) -> bool:
    """Whether the interval that an answer lies in is too wide for its lower end to stand alone."""
    lower, upper = outcome.lower, outcome.upper
    return bool(lower and upper and upper.load_fps - lower.load_fps > WIDE * upper.load_fps)


def set_aside_share(trials: Sequence[JudgedTrial]) -> float:
    """Return the share (0..1) of otherwise valid trials that were set aside for a stall of the SUT's host."""
    counted = [trial for trial in trials if trial.validity in _COUNTED]
    aside = sum(trial.validity is Validity.HOST_STALLED for trial in counted)
    return aside / len(counted) if counted else 0.0


def lossless_over_all(trials: Sequence[JudgedTrial]) -> int | None:
    """Return the highest load (frames/s) without loss when host-stalled trials count as well.

    Every trial at that load and at each lower one was lossless; None when there is no such load. This is the
    value to print beside one for which trials were set aside (design decision 13).
    """
    lossy_by_load: dict[int, bool] = {}
    for trial in trials:
        if trial.validity in _COUNTED:
            load = trial.result.spec.load_fps
            lossy = any(stream.lost_frames for stream in trial.result.streams)
            lossy_by_load[load] = lossy_by_load.get(load, False) or lossy
    best: int | None = None
    for load in sorted(lossy_by_load):
        if lossy_by_load[load]:
            break
        best = load
    return best

"""From a throughput search to an outcome."""

from __future__ import annotations

from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.search.goal import SearchResult

METRIC = "throughput.rfc2544_26_1"  # RFC2544-26.1-01
ENVELOPE_METRIC = "tester.envelope"  # the tester's own limit on the wire, docs/adr/0002
# the goal's code follows, here and in the next; of what is beside something else its own metric goes before
SUSTAINED = "sustained_load.rfc9971"
UPPER_END = "upper_end.rfc9971"
UNIT = "frames/s"  # RFC2544-26.1-08
REQUIREMENTS = ("RFC2544-26.1-01", "RFC2544-26.1-02", "RFC2544-26.1-08")
NOT_QUALIFIED = "the tester could not be qualified for this traffic"
WIDE = 0.05  # choice: an interval wider than this stands beside its number, and no ratio is taken of it


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
        reason=f"{NOT_QUALIFIED}: {why}",
    )


def _stated(outcome: Outcome, metric: str) -> int | None:
    beside = f"{outcome.metric}.{metric.partition('.')[0]}"
    for value in outcome.values:
        if value.metric == beside or value.metric.startswith(f"{metric}."):
            return int(value.number)
    return None


def interval(outcome: Outcome) -> tuple[int, int] | None:
    """Return the loads (frames/s) between which an answer lies; None where it has no two bounds.

    The lower one is what no buffer carried, where that was tried. The upper one is above the upper bound
    where that held in part of its trials (docs/adr/0460).
    """
    if outcome.lower is None or outcome.upper is None:
        return None
    lower, upper = _stated(outcome, SUSTAINED), _stated(outcome, UPPER_END)
    return (
        outcome.lower.load_fps if lower is None else lower,
        outcome.upper.load_fps if upper is None else upper,
    )


def is_wide(outcome: Outcome) -> bool:
    """Whether the interval that an answer lies in is too wide for its lower end to stand alone.

    That is so as well where a buffer may carry as much of it.
    """
    ends = interval(outcome)
    if ends is None or outcome.lower is None:
        return False
    lower_fps, (sustained_fps, upper_fps) = outcome.lower.load_fps, ends
    return upper_fps - lower_fps > WIDE * upper_fps or lower_fps - sustained_fps > WIDE * lower_fps


def ends(outcome: Outcome) -> tuple[int | None, int | None]:
    """Return both ends of what is known of a load (frames/s), as in `interval`; None for one not known."""
    lower, upper = (None if one is None else one.load_fps for one in (outcome.lower, outcome.upper))
    return interval(outcome) or (lower, upper)


def streams_fps(outcome: Outcome) -> int | None:
    """Return the load (frames/s) for what is measured at a throughput; None where no load held.

    Of a wide interval that is its lower end: the trials after the search did not lose clearly more there than
    may be lost, where at the search's own bound streams could all lose.
    """
    low, _ = ends(outcome) if is_wide(outcome) else (None, None)
    bound = None if outcome.lower is None else outcome.lower.load_fps
    return bound if bound is None or low is None else max(1, min(low, bound))

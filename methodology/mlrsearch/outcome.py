"""From a goal's result to an outcome: what is a plain number, and what is irregular (RFC 9971 4.8.4)."""

from __future__ import annotations

from bmwg.methodology.mlrsearch.classify import LOSS_DEFINITION, GoalResult
from bmwg.methodology.mlrsearch.engine import SearchResult
from bmwg.methodology.mlrsearch.goal import Claim, ControllerInput, apart, read_code
from bmwg.methodology.records import FRAMES_PER_S, Bound, Cell, Outcome, OutcomeType, Quantity

METRIC = "conditional_throughput.rfc9971"  # RFC9971-4.8.3-01; the goal's code follows
BESIDE = "throughput_"  # how metrics of a throughput beside something else begin; a goal's code may follow
RFC2544_METRIC = "throughput.rfc2544_26_1"  # RFC9971-4.10.2-03: the same number
IRREGULAR = "irregular result"  # RFC9971-4.8.4.2-02: a remark that begins so marks one
UNIT = FRAMES_PER_S  # of frames, per port and direction: RFC9971-4.4.4.4-01
REQUIREMENTS = ("RFC9971-4.8.3-01", "RFC9971-4.8.4.1-01", "RFC9971-4.8.4.1-05", "RFC9971-4.8.4.1-06")


def is_conditional(metric: str) -> bool:
    """Whether a metric is the conditional throughput of a cell, with nothing beside it."""
    return metric.startswith(f"{METRIC}.")


def claim(metric: str) -> Claim | None:
    """Return what an answer of a metric claims; None where the metric is not of a goal.

    A throughput beside something else is of a goal where its metric ends with the goal's code.
    """
    name, code, part = apart(metric)
    return None if part or not name.startswith((METRIC, BESIDE)) else read_code(code)


def outcomes(
    found: SearchResult, wanted: ControllerInput, cell: Cell, *, outcome_id: str
) -> tuple[Outcome, ...]:
    """Return one outcome a goal, in the order of the goals; `outcome_id` gets the goal's code appended."""
    return tuple(
        _outcome(result, found, wanted, cell, f"{outcome_id}:{result.goal.code}") for result in found.results
    )


def _outcome(
    result: GoalResult, found: SearchResult, wanted: ControllerInput, cell: Cell, outcome_id: str
) -> Outcome:
    kind, reason = _kind(result, found, wanted)
    unit = wanted.offer.unit
    metric = f"{METRIC}.{result.goal.code}"
    lower = result.relevant_lower_bound_fps
    proven = lower if lower is not None else result.effective_lower_fps
    statement = ""
    if kind is not OutcomeType.MEASURED:
        words = f"loss ratio at most {result.goal.goal_loss_ratio:g}"
        statement = reason if proven is None else f"{words} up to {proven} {unit}"
    upper = result.relevant_upper_bound_fps
    return Outcome(
        outcome_id=outcome_id,
        metric=metric,
        cell=cell,
        type=kind,
        values=_values(result, proven, metric, unit) if kind is OutcomeType.MEASURED else (),
        lower=None if proven is None else Bound(load_fps=proven, trials=result.lower_trials),
        upper=None if upper is None else Bound(load_fps=upper, trials=result.upper_trials),
        trials=tuple(trial.seq for trial in found.trials),
        statement=statement,
        reason=reason,
        requirements=REQUIREMENTS,
        quality=(*_remarks(result), f"loss ratio: {LOSS_DEFINITION}"),
    )


def _kind(result: GoalResult, found: SearchResult, wanted: ControllerInput) -> tuple[OutcomeType, str]:
    lower = result.relevant_lower_bound_fps
    upper = result.relevant_upper_bound_fps
    highest = result.effective_lower_fps
    envelope, limit, unit = wanted.envelope_fps, found.tester_limit_fps, wanted.offer.unit
    if not found.ended and not result.regular:
        return found.type, found.reason
    if upper is None and highest is not None and highest == wanted.medium_fps:
        return OutcomeType.MEASURED, "the full rate of the medium"
    if upper is None and limit is not None:
        return OutcomeType.TESTER_LIMITED, f"the tester could not send {limit} {unit}"
    proven = highest if lower is None else lower
    if envelope is not None and proven is not None and (proven >= envelope or (upper or 0) > envelope):
        return OutcomeType.TESTER_LIMITED, f"the tester itself is qualified up to {envelope} {unit}"
    if result.regular:
        return OutcomeType.MEASURED, ""
    if upper is None and highest == wanted.max_load_fps:
        return OutcomeType.AT_CEILING, f"{highest} {unit} is the highest load of the search"
    if upper == wanted.min_load_fps:
        return OutcomeType.AT_FLOOR, f"an upper bound already at the lowest load, {upper} {unit}"
    return OutcomeType.UNSTABLE, result.reason


def _values(result: GoalResult, proven: int | None, metric: str, unit: str) -> tuple[Quantity, ...]:
    numbers: list[tuple[str, float | int | None]] = [
        (metric, result.conditional_throughput_fps),
        (f"relevant_lower_bound.rfc9971.{result.goal.code}", result.relevant_lower_bound_fps),
        (f"relevant_upper_bound.rfc9971.{result.goal.code}", result.relevant_upper_bound_fps),
    ]
    if result.goal.rfc2544_grade != "none":
        numbers.append((RFC2544_METRIC, proven))
    return tuple(
        Quantity(metric=name, number=number, unit=unit) for name, number in numbers if number is not None
    )


def _remarks(result: GoalResult) -> tuple[str, ...]:
    """Mark what is irregular (RFC9971-4.8.4.2-02), and say what the goal departs from."""
    irregular = () if result.regular else (f"{IRREGULAR} (RFC 9971 4.8.4.2): {result.reason}",)
    return (*irregular, *result.goal.advice())

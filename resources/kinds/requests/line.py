"""An answer of the HTTP suites as the operator reads it."""

from __future__ import annotations

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.requests.profile import RATE, START
from bmwg.methodology.records import Outcome, OutcomeType


def line_of(outcome: Outcome) -> str:
    """Say an outcome in one line."""
    if outcome.type is not OutcomeType.MEASURED:
        return f"{outcome.type.value}  {outcome.reason}"
    told = {value.metric.removeprefix(f"{outcome.metric}."): value.number for value in outcome.values}
    if outcome.metric == RATE:
        return f"measured  {told['lossless']} requests/s"
    half = told.get("half_width_95")
    spread = f" +/- {half / 1e6:.3f}" if half is not None else ""
    what = "until it serves" if outcome.metric == START else "a request"
    return f"measured  {told['mean'] / 1e6:.3f}{spread} ms {what} ({of_repetitions(told)})"

"""An answer of the pod-to-pod suites as the operator reads it."""

from __future__ import annotations

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.streams.profile import GOODPUT, OPERATION
from bmwg.methodology.records import Outcome, OutcomeType

_UNITS = {GOODPUT: (1e6, "Mbit/s"), OPERATION: (1e6, "ms an operation")}


def line_of(outcome: Outcome) -> str:
    """Say an outcome in one line."""
    if outcome.type is not OutcomeType.MEASURED:
        return f"{outcome.type.value}  {outcome.reason}"
    told = {value.metric.removeprefix(f"{outcome.metric}."): value.number for value in outcome.values}
    scale, unit = _UNITS.get(outcome.metric, (1e3, "us there and back"))
    half = told.get("half_width_95")
    spread = f" +/- {half / scale:.1f}" if half is not None else ""
    lost = f", {told['lost_ratio']:.2%} lost" if "lost_ratio" in told else ""
    return f"measured  {told['mean'] / scale:.1f}{spread} {unit}{lost} ({of_repetitions(told)})"

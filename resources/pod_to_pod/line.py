"""An answer of the pod-to-pod suites as the operator reads it."""

from __future__ import annotations

from bmwg.methodology.kinds.streams.profile import GOODPUT
from bmwg.methodology.records import Outcome, OutcomeType


def line_of(outcome: Outcome) -> str:
    """Say an outcome in one line."""
    if outcome.type is not OutcomeType.MEASURED:
        return f"{outcome.type.value}  {outcome.reason}"
    told = {value.metric.removeprefix(f"{outcome.metric}."): value.number for value in outcome.values}
    scale, unit = (1e6, "Mbit/s") if outcome.metric == GOODPUT else (1e3, "us there and back")
    half = told.get("half_width_95")
    spread = f" +/- {half / scale:.1f}" if half is not None else ""
    lost = f", {told['lost_ratio']:.2%} lost" if "lost_ratio" in told else ""
    return f"measured  {told['mean'] / scale:.1f}{spread} {unit}{lost} (n = {told['repetitions']})"

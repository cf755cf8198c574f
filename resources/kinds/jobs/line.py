"""An answer of the host suites as the operator reads it."""

from __future__ import annotations

from bmwg.methodology.answers.repeated import of_repetitions
from bmwg.methodology.kinds.jobs.profile import EXPERIMENTS, FLOP_PER_S, OCTETS_PER_S
from bmwg.methodology.records import Outcome, OutcomeType

_SCALES = {OCTETS_PER_S: (1e6, "MB/s"), FLOP_PER_S: (1e9, "Gflop/s")}


def line_of(outcome: Outcome) -> str:
    """Say an outcome in one line."""
    if outcome.type is not OutcomeType.MEASURED:
        return f"{outcome.type.value}  {outcome.reason}"
    told = {value.metric.removeprefix(f"{outcome.metric}."): value.number for value in outcome.values}
    scale, unit = scaled(next(iter(EXPERIMENTS[outcome.metric].figures.values())))
    half = told.get("half_width_95")
    spread = f" +/- {half / scale:.1f}" if half is not None else ""
    return f"measured  {told['mean'] / scale:.1f}{spread} {unit} ({of_repetitions(told)})"


def scaled(unit: str) -> tuple[float, str]:
    """Return by what a number is divided for a reader, and the unit that it has then."""
    return _SCALES.get(unit, (1.0, unit))

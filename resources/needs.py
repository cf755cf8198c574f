"""What the machine lacks for one answer: the path's own needs, then those of the measurement."""

from __future__ import annotations

from bmwg.drivers.api import Missing
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.workload import modifiers
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.planning import PlannedAnswer


def lacking(planned: PlannedAnswer, bed: Bed) -> Missing | None:
    """Return what is missing, with the line that would supply it; None when the cell can be tried."""
    needed = str(getattr(measurement(planned.measurement), "modifier", ""))
    return path_driver(planned.cell, bed).probe() or (modifiers.missing(needed) if needed else None)

"""What the machine lacks for one answer, by path and by measurement, and what supplies it."""

from __future__ import annotations

from functools import cache

from bmwg.drivers.actuators.place import EGRESS
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import embedded_file
from bmwg.drivers.workload import modifiers
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.schemas.document import parse


def lacking(planned: PlannedAnswer, bed: Bed) -> Missing | None:
    """Return what is missing, with the line that would supply it; None when the cell can be tried."""
    needed = measurement(planned.measurement).modifier
    missing = path_driver(planned.cell, bed).probe()
    if missing or not needed or not bed.nodes:
        return missing
    return modifiers.missing(bed.node(bed.sides()[EGRESS].node), needed)


@cache
def option_mend(network: str) -> str:
    """Return what supplies a network option: a testbed file of ours that has it, or a page."""
    for file in sorted(embedded_file().parent.glob("*.yaml")):
        data = parse(file.read_text(encoding="utf-8")).data
        if isinstance(data, dict) and network in (data.get("networks") or {}):
            return f"--testbed {file.parent.name}/{file.name} has it"
    return "name it under `networks` of the testbed file (docs/cni-option.md)"

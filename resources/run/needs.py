"""What the machine lacks for one answer, by path and by measurement, and what supplies it."""

from __future__ import annotations

from functools import cache

from bmwg.drivers import registry
from bmwg.drivers.actuators.place import EGRESS, Actuator, Foreseeing, Place
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.testbed.file import embedded_file
from bmwg.drivers.watch import frame_neighbours
from bmwg.drivers.workload import modifiers
from bmwg.methodology.measurements.measurement import WithAct
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.plan.planning import PlannedAnswer
from bmwg.schemas.document import parse


def lacking(planned: PlannedAnswer, bed: Bed) -> Missing | None:
    """Return what is missing, with the line that would supply it; None when the cell can be tried."""
    wanted = measurement(planned.measurement)
    missing = path_driver(planned.cell, bed).probe() or frame_neighbours.lacking(bed, planned.cell)
    if missing or not bed.nodes:
        return missing
    if isinstance(wanted, WithAct):
        return _nothing_to_act_on(wanted.act, planned, bed)
    if not wanted.modifier:
        return None
    return modifiers.missing(bed.node(bed.sides()[EGRESS].node), wanted.modifier)


def _nothing_to_act_on(act: str, planned: PlannedAnswer, bed: Bed) -> Missing | None:
    actuator: Actuator = registry.load(registry.ACTUATOR, act, where=planned.measurement)
    if not isinstance(actuator, Foreseeing) or actuator.foresees(Place(cell=planned.cell, bed=bed)):
        return None
    return Missing(
        what=f"act {act} on path {planned.cell.path}, network {planned.cell.network}",
        reason="nothing that it takes hold of carries the frames there",
        mend="an option that has it: a switch is the kernel's bridge (uplink: bridge_port)",
    )


@cache
def option_mend(network: str) -> str:
    """Return what supplies a network option: a testbed file of ours that has it, or a page."""
    for file in sorted(embedded_file().parent.glob("*.yaml")):
        data = parse(file.read_text(encoding="utf-8")).data
        if isinstance(data, dict) and network in (data.get("networks") or {}):
            return f"--testbed {file.parent.name}/{file.name} has it"
    return "name it under `networks` of the testbed file (docs/cni-option.md)"

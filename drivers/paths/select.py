"""Chooses the path driver of a cell."""

from __future__ import annotations

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Missing, PathDriver
from bmwg.drivers.paths import numa
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.one_place import UndeployedPath, apart, of_other_ports, socketless
from bmwg.drivers.paths.simulated import SimulatedPath
from bmwg.drivers.testbed.file import SIMULATED
from bmwg.methodology.cells import axes
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell


def path_driver(cell: Cell, bed: Bed) -> PathDriver:
    """Return the driver of a cell's path, with what the cell says about function and network.

    Raises ConfigError DRIVER-01 on a path that is not installed, PATH-04 on a combination that cannot be
    realized, CFG-03 to CFG-05 on an unknown network option or a setting that the testbed file cannot have.
    """
    driver: type[PathDriver] = registry.load(registry.PATH, cell.path, where=f"cell {cell.cell_id}")
    problems = [
        f"{field} {found!r} (the path has {expected})"
        for field, expected, found in driver.kind.contradictions(cell.hosting, cell.function, cell.network)
    ]
    values = {name: [value] for name, value in cell.axes}
    problems += [
        f"axes: {found} (expected {expected})"
        for _, expected, found in axes.contradictions(values, driver.kind.axes)
    ]
    problems += [
        f"axes: {name!r} (expected a setting of function {cell.function}, which forwards here)"
        for name in axes.of_other_functions(values, cell.function)
    ]
    if problems:
        raise ConfigError(
            "PATH-04",
            f"cell {cell.cell_id} cannot be realized",
            expected="a path with a hosting form, a function and networks that it has",
            found="; ".join(problems),
            hint="nothing was deployed",
        )
    if lack := of_other_ports(cell, bed.testbed):
        return UndeployedPath(lack)
    bed = bed.varied(axes.settings(cell.axes), cell.cell_id)
    if bed.testbed.tester.driver == SIMULATED:
        return SimulatedPath(cell, bed)
    if driver.kind.apart and (missing := apart(cell, bed.testbed.tester.driver)):
        return UndeployedPath(missing)
    if bed.testbed.socket_ports and not driver.kind.at_sockets:
        return UndeployedPath(socketless(cell))
    if wanted := dict(cell.axes).get(axes.NUMA):
        limits, dut = bed.testbed.pods, bed.testbed.dut
        nodes = bed.node(bed.testbed.nodes[0].name).machine.call(numa.node_of_cpus)
        found = numa.placed(str(wanted), pod_cpus=limits.cpus, dut_cpus=dut.cpus, nodes=nodes)
        if isinstance(found, Missing):
            return UndeployedPath(found)
        bed = bed.varied({("pods", "cpus"): ",".join(map(str, found))}, cell.cell_id)
    return driver(cell, bed)

"""Chooses the path driver of a cell."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from bmwg.drivers.api import Deployment, Missing
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.node import NodePath
from bmwg.drivers.paths.one_place import ApartPath, apart
from bmwg.drivers.paths.p2p import PodToPodPath
from bmwg.drivers.paths.p2p_underlay import UnderlayPath
from bmwg.drivers.paths.p2p_vxlan import VxlanPath
from bmwg.drivers.paths.pvp import PvpPath
from bmwg.drivers.paths.simulated import SIMULATED, SimulatedPath
from bmwg.drivers.paths.wire import WirePath
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Cell


class ProbingPathDriver(Protocol):
    """A path driver that can say beforehand what is missing."""

    def probe(self) -> Missing | None:
        """Return what this machine or testbed lacks for the cell, or None; builds nothing that stays."""

    def deploy(self) -> AbstractContextManager[Deployment]:
        """Build the path; raises TestbedError PATH-02 when `probe` finds something missing."""


_HOSTINGS = {
    "wire": ("none",),
    "node": ("baremetal",),
    "pvp": ("pod",),
    "p2p": ("pod",),
    "p2p-underlay": ("pod",),
    "p2p-vxlan": ("pod",),
}
_FUNCTIONS = {
    "wire": ("none",),
    "node": ("kernel-l3",),
    "pvp": ("kernel-l3", "testpmd"),
    "p2p": ("none",),
    "p2p-underlay": ("none",),
    "p2p-vxlan": ("none",),
}


def path_driver(cell: Cell, bed: Bed) -> ProbingPathDriver:
    """Return the driver of a cell's path, with what the cell says about function and network.

    Raises ConfigError PATH-04 on a combination that cannot be realized, CFG-05 on an unknown network option.
    """
    problems = list(_problems(cell))
    if problems:
        raise ConfigError(
            "PATH-04",
            f"cell {cell.cell_id} cannot be realized",
            expected="a path with a hosting form and a function that it has",
            found="; ".join(problems),
            hint="nothing was deployed",
        )
    if bed.testbed.tester.driver == SIMULATED:
        return SimulatedPath(cell, bed.testbed)
    if apart(bed.testbed.tester.driver, cell):
        return ApartPath(cell, bed.testbed.tester.driver)
    match cell.path:
        case "wire":
            return WirePath(cell, bed)
        case "node":
            return NodePath(cell, bed)
        case "pvp":
            return PvpPath(cell, bed)
        case "p2p":
            return PodToPodPath(cell, bed)
        case "p2p-underlay":
            return UnderlayPath(cell, bed)
        case _:
            return VxlanPath(cell, bed)


def _problems(cell: Cell) -> Iterator[str]:
    if cell.path not in _HOSTINGS:
        near = difflib.get_close_matches(cell.path, _HOSTINGS, n=1)
        yield f"path {cell.path!r}" + (
            f" (near {near[0]!r})" if near else f" (there are {', '.join(_HOSTINGS)})"
        )
        return
    if cell.hosting not in _HOSTINGS[cell.path]:
        yield f"hosting {cell.hosting!r} (the path has {', '.join(_HOSTINGS[cell.path])})"
    if cell.function not in _FUNCTIONS[cell.path]:
        yield f"function {cell.function!r} (the path has {', '.join(_FUNCTIONS[cell.path])})"
    if (cell.network == "none") != (cell.hosting != "pod"):
        yield f"network {cell.network!r} with hosting {cell.hosting!r}"

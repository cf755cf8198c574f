"""Paths that a tester cannot stand at, because it opens both of its ports in one network namespace."""

from __future__ import annotations

from contextlib import AbstractContextManager

from bmwg.drivers.api import Deployment, Missing
from bmwg.drivers.paths.frames import refuse
from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.records import Cell

TESTERS = frozenset({"trex", "moongen", "otg"})  # traffic drivers whose two ports are in one place
_APART = frozenset({"p2p", "p2p-underlay", "p2p-vxlan"})  # the ports are interfaces of two pods


def apart(driver: str, cell: Cell) -> bool:
    """Whether this tester cannot have the two ports of this cell's path."""
    return driver in TESTERS and cell.path in _APART


class ApartPath:
    """Stands for such a path: what is missing is said, nothing is deployed."""

    def __init__(self, cell: Cell, driver: str) -> None:
        self._cell = cell
        self._driver = driver

    def probe(self) -> Missing | None:
        """What is missing."""
        return Missing(
            what=f"path {self._cell.path} with driver {self._driver}",
            reason="its ports are in two pods, and this tester opens both in one network namespace",
            mend="tester.driver: embedded, whose process enters the namespace of each port",
        )

    def deploy(self) -> AbstractContextManager[Deployment]:
        """Raise TestbedError PATH-02: there is nothing to deploy."""
        refuse(self.probe())
        raise ToolkitBug("PATH-02", "a path that cannot be deployed was not refused")

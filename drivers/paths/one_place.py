"""Paths that a tester cannot stand at, because it opens both of its ports in one network namespace."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar

from bmwg.drivers.api import Deployment, Missing
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse
from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import Cell

TESTERS = frozenset({"trex", "moongen", "otg"})  # traffic drivers whose two ports are in one place


def apart(driver: str) -> bool:
    """Whether this tester cannot have two ports that lie in different network namespaces."""
    return driver in TESTERS


class ApartPath:
    """Stands for such a path: what is missing is said, nothing is deployed."""

    kind: ClassVar[PathKind] = PathKind(
        name="apart", hostings=(), functions=(), networked=False, scenario="cannot be deployed"
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._driver = bed.testbed.tester.driver

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

"""Reasons that rule out a cell on every path, each by name."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import BetweenPods, Deployment, Missing
from bmwg.drivers.paths.frames import refuse
from bmwg.drivers.testbed.file import Testbed
from bmwg.methodology.cells import patterns
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.records import Cell


def apart(cell: Cell, driver: str) -> Missing | None:
    """Return why a tester cannot have ports in two network namespaces; None where it can."""
    if not registry.load(registry.TRAFFIC, driver, where="tester.driver").one_place:
        return None
    return Missing(
        what=f"path {cell.path} with driver {driver}",
        reason="its ports are in two pods, and this tester opens both in one network namespace",
        mend="tester.driver: embedded, whose process enters the namespace of each port",
    )


def socketless(cell: Cell) -> Missing:
    """Return why a path has no place for tester ports at vhost-user sockets."""
    return Missing(
        what=f"path {cell.path} with the tester's ports at vhost-user sockets",
        reason="it needs a NIC of the node, or an interface of a pod, for each port of the tester",
        mend="path vswitch-only or wire; or links of kind veth and another tester.io",
    )


def of_other_ports(cell: Cell, testbed: Testbed) -> Missing | None:
    """Return that a cell's pattern has another number of ports than the testbed file."""
    wanted, found = patterns.of(cell.axes), len(testbed.tester.ports)
    if wanted is None or wanted.ports == found:
        return None
    return Missing(
        what=f"{wanted.ports} tester ports around a switch, for {dict(cell.axes)[patterns.AXIS]}",
        reason=f"the testbed file {testbed.file} names {found}",
        mend="BMWG_TESTBED=testbeds/switch.yaml, which has four, or a pattern of as many ports",
    )


class UndeployedPath:
    """Stands for such a cell's path: what is missing is said, nothing is deployed."""

    kind: ClassVar[PathKind] = PathKind(
        name="undeployed", hostings=(), functions=(), networked=False, scenario="cannot be deployed"
    )

    def __init__(self, missing: Missing) -> None:
        self._missing = missing

    def probe(self) -> Missing | None:
        """What is missing."""
        return self._missing

    def probe_pods(self) -> Missing | None:
        """What is missing."""
        return self._missing

    def between_pods(self) -> AbstractContextManager[BetweenPods]:
        """Raise TestbedError PATH-02: there is nothing to deploy."""
        refuse(self.probe())
        raise ToolkitBug("PATH-02", "a path that cannot be deployed was not refused")

    def deploy(self) -> AbstractContextManager[Deployment]:
        """Raise TestbedError PATH-02: there is nothing to deploy."""
        refuse(self.probe())
        raise ToolkitBug("PATH-02", "a path that cannot be deployed was not refused")

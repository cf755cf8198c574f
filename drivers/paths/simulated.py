"""Paths without anything in them, for the simulated tester: ports by name, and evidence that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api import Deployment, Missing, TesterPort
from bmwg.drivers.testbed import Testbed
from bmwg.methodology.records import Cell

WIRE = "wire"  # the device name by which the simulated tester knows that no DUT is between its ports
SIMULATED = "simulated"  # the name of the traffic driver that needs no bed


class SimulatedPath:
    """A path that deploys nothing. Only the simulated tester may stand at its ends."""

    def __init__(self, cell: Cell, testbed: Testbed) -> None:
        self._cell = cell
        self._testbed = testbed

    def probe(self) -> Missing | None:
        """Nothing is missing where nothing is built."""
        return None

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Yield two ports by name."""
        model = WIRE if self._cell.path == "wire" else "dut"
        first, second = (
            TesterPort(name=name, io=self._testbed.tester.io, device=model)
            for name in self._testbed.tester.ports
        )
        yield Deployment(ports=(first, second), evidence={"path": self._cell.path, "simulated": True})

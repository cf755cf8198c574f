"""Paths without anything in them, for the simulated tester: ports by name, and evidence that says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar

from bmwg.drivers.api.protocols import Deployment, Missing, TesterPort
from bmwg.drivers.paths.addresses import OUTER
from bmwg.drivers.testbed.file import SIMULATED
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import WIRE, Cell

if TYPE_CHECKING:  # the bed knows the simulated tester by this module
    from bmwg.drivers.paths.bed import Bed


class SimulatedPath:
    """A path that deploys nothing. Only the simulated tester may stand at its ends."""

    kind: ClassVar[PathKind] = PathKind(
        name=SIMULATED, hostings=(), functions=(), networked=False, scenario="nothing is built"
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._testbed = bed.testbed

    def probe(self) -> Missing | None:
        """Nothing is missing where nothing is built."""
        return None

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Yield two ports by name, around a switch all; two have addresses. Their device is the cell."""
        tester = self._testbed.tester
        model = WIRE if self._cell.qualifies_tester else self._cell.cell_id
        several = self._cell.path == "switch"
        names = tester.ports if several else tester.ports[:2]
        addressed = [*OUTER, *[None] * (len(names) - len(OUTER))]
        ports = tuple(
            TesterPort(
                name=name,
                io=io,
                device=model,
                ipv4=segment.far_ipv4 if segment else None,
                ipv6=segment.far_ipv6 if segment else None,
            )
            for name, io, segment in zip(names, tester.ios, addressed, strict=False)
        )
        yield Deployment(ports=ports, evidence={"path": self._cell.path, "simulated": True})

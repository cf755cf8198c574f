"""The bench of a repeated kind whose cells are measured on a testbed: its bed, and what runs beside cells."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.watch import neighbours
from bmwg.methodology.cells.neighbours import ALONE
from bmwg.methodology.cells.neighbours import of as neighbour_of
from bmwg.methodology.kinds.repeated.kind import ResultT
from bmwg.methodology.kinds.repeated.profile import Planned, SpecT
from bmwg.methodology.plan.planning import NO_OPTION
from bmwg.resources.kinds.repeated.bench import RepeatedBench
from bmwg.resources.kinds.repeated.measure import CellExecutions
from bmwg.resources.run.needs import option_mend
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.platform import PlatformGuard


class BedBench(RepeatedBench[SpecT, ResultT]):
    """The cells of a kind on a testbed, whose bed is opened for the first of them and closed to rest."""

    def __init__(self, run: OpenRun, *, testbed: Testbed, plan: Sequence[Planned[SpecT]]) -> None:
        self.testbed = testbed
        super().__init__(run, plan=plan, ports=testbed.lab_ports_here)
        self._stack = ExitStack()
        self._bed: Bed | None = None

    @property
    def machines(self) -> bool:
        """Whether a cell wants the testbed's provider of machines to stand."""
        return False

    def rest(self) -> None:
        """Remove nodes and links; whoever asks next gets new ones."""
        self._bed = None
        self._stack.close()

    def able(self, planned: Planned[SpecT]) -> bool:
        """Whether what is to run beside a cell can be had; keeps the answer of one whose neighbour cannot."""
        name = neighbour_of(planned.cell)
        lack = neighbours.lacking(self.open_bed(), name) if name != ALONE else None
        if lack:
            self.keep_lacking(planned, lack)
        return lack is None

    def new_guard(self) -> PlatformGuard:
        """Return what watches the platform of one deployment after the other."""
        run = self.run
        return run.machines.guard(
            run.store, run.display.note, run.machine, run.continued, testbed=self.testbed
        )

    def executions(self, planned: Planned[SpecT]) -> CellExecutions[SpecT, ResultT]:
        """Return the executions of a cell beside its neighbour, with those that stand already."""
        beside = partial(neighbours.beside, self.open_bed(), neighbour_of(planned.cell))
        earlier, host = self.recorded(planned), self.run.machines.counted
        return CellExecutions(self.kind, planned, self.run.store, earlier, beside, host)

    def open_bed(self) -> Bed:
        """Return the testbed, opened for this run when it is not."""
        if self._bed is None:
            folder = self.run.store.folder.resolve()
            opened = open_bed(
                self.testbed,
                self.run.ledger,
                folder,
                self.run.owner,
                machines=self.machines,
                hosts=self.run.machines.by_node,
            )
            self._bed = self._stack.enter_context(opened)
        return self._bed

    def no_option(self, network: str) -> Missing | None:
        """Return that the testbed file has no network option of that name."""
        if network in {network_spec.name for network_spec in self.testbed.networks}:
            return None
        return Missing(
            what=f"network option {network}",
            reason=NO_OPTION,
            mend=option_mend(network),
        )

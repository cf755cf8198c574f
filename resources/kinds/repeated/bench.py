"""The bench of a kind whose cells are answered by repetitions: what is measured, and what becomes of it.

What stands for a cell, and what is measured on it together, is each kind's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Generic

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.paths.bed import Bed, open_bed
from bmwg.drivers.testbed.file import Testbed
from bmwg.drivers.watch import neighbours
from bmwg.methodology.cells.neighbours import ALONE
from bmwg.methodology.cells.neighbours import of as neighbour_of
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import Planned, SpecT
from bmwg.methodology.plan.planning import NO_OPTION
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.store import Run
from bmwg.resources.kinds.repeated.measure import CellExecutions
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.needs import option_mend
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.platform import PlatformGuard


class RepeatedBench(ABC, Generic[SpecT, ResultT]):
    """The cells of a kind in one run. The bed is opened when the first cell needs it, and closed to rest."""

    kind: RepeatedKind[SpecT, ResultT]

    def __init__(
        self, run: OpenRun, *, testbed: Testbed, plan: Sequence[Planned[SpecT]], continued: Run | None
    ) -> None:
        self.run = run
        self.testbed = testbed
        self.whole_plan = plan
        self._continued = continued
        self.guard = self.new_guard()
        self.leaks = run.stack.enter_context(run.machines.leak_watch(testbed.lab_ports))
        self.answers = Answers(run, self.kind.name, lambda one: f"{one.cell.cell_id}: {self.line(one)}")
        self._deployments = continued.last_deployment if continued else 0
        self._stack = ExitStack()
        self._bed: Bed | None = None

    @property
    def machines(self) -> bool:
        """Whether a cell wants the testbed's provider of machines to stand."""
        return False

    @property
    def mends(self) -> Mapping[str, str]:
        """The line that supplies what a cell lacked, by the id of its outcome."""
        return self.answers.mends

    @abstractmethod
    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""

    @abstractmethod
    def together(self, wanted: Planned[SpecT]) -> list[Planned[SpecT]]:
        """Return the cells that are measured with this one, itself among them; answered ones may be, too."""

    @abstractmethod
    def measure(self, group: list[Planned[SpecT]]) -> None:
        """Measure cells that have no answer and keep an answer of each."""

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self.guard.begin_suite(suite)

    def rest(self) -> None:
        """Remove nodes and links; whoever asks next gets new ones."""
        self._bed = None
        self._stack.close()

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already.

        What is measured together is measured with the first of its cells, those of other tests too.
        """
        mine = [one for one in self.whole_plan if one.test_id == test_id]
        for planned in mine:
            self._ensure(planned)
        return [self.answers[planned.cell.cell_id] for planned in mine]

    def _ensure(self, wanted: Planned[SpecT]) -> None:
        if wanted.cell.cell_id in self.answers:
            return
        group = [one for one in self.together(wanted) if one.cell.cell_id not in self.answers]
        with self.answers.measuring(lambda why: self._fail(group, why)):
            if able := [one for one in group if self._has_neighbour(one)]:
                self.measure(able)

    def _fail(self, group: Sequence[Planned[SpecT]], why: str) -> None:
        for planned in group:
            if planned.cell.cell_id not in self.answers:
                self.keep_without(planned, OutcomeType.INVALID, why)
        self.run.attempt(self.rest)  # a node may be lost: the next cells have new ones

    def _has_neighbour(self, planned: Planned[SpecT]) -> bool:
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

    def new_deployment(self, *words: str) -> str:
        """Return the id of a deployment of these words that nothing has yet."""
        self._deployments += 1
        return "-".join((self.kind.name, *words, str(self._deployments)))

    def executions(self, planned: Planned[SpecT]) -> CellExecutions[SpecT, ResultT]:
        """Return the executions of a cell, with those that stand already."""
        beside = partial(neighbours.beside, self.open_bed(), neighbour_of(planned.cell))
        return CellExecutions(self.kind, planned, self.run.store, self._recorded(planned), beside)

    def _recorded(self, planned: Planned[SpecT]) -> list[Execution]:
        executions = self._continued.executions if self._continued else ()
        return [one for one in executions if one.cell_id == planned.cell.cell_id]

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
        if network in {one.name for one in self.testbed.networks}:
            return None
        return Missing(
            what=f"network option {network}",
            reason=NO_OPTION,
            mend=option_mend(network),
        )

    def keep_lacking(self, planned: Planned[SpecT], missing: Missing) -> None:
        """Keep that a cell could not be tried here, with what supplies what it lacks."""
        reason = f"{missing.what}: {missing.reason}"
        self.keep_without(planned, OutcomeType.NOT_ASSESSED, reason, missing.mend)

    def keep_without(self, planned: Planned[SpecT], kind: OutcomeType, why: str, mend: str = "") -> None:
        """Keep an answer that rests on no execution."""
        self.answers.keep(self.kind.without_execution(planned, kind, why), mend)

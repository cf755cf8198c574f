"""The bench of a kind whose cells are answered by repetitions: what is measured, and what becomes of it.

What stands for a cell, and what is measured on it together, is each kind's own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Generic

from bmwg.drivers.api.protocols import Missing
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import Planned, SpecT
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.resources.run.answers import Answers
from bmwg.resources.run.open_run import OpenRun
from bmwg.resources.run.platform import PlatformGuard


class RepeatedBench(ABC, Generic[SpecT, ResultT]):
    """The cells of a kind in one run."""

    kind: RepeatedKind[SpecT, ResultT]

    def __init__(
        self,
        run: OpenRun,
        *,
        plan: Sequence[Planned[SpecT]],
        ports: Collection[str],
    ) -> None:
        """`ports` are those of this machine that test frames may use."""
        self.run = run
        self.whole_plan = plan
        self.guard = self.new_guard()
        self.leaks = run.stack.enter_context(run.machines.leak_watch(ports))
        self.answers = Answers(run, self.kind.name, lambda one: f"{one.cell.cell_id}: {self.line(one)}")
        self._deployments = run.continued.last_deployment if run.continued else 0

    @property
    def mends(self) -> Mapping[str, str]:
        """The line that supplies what a cell lacked, by the id of its outcome."""
        return self.answers.mends

    def line(self, outcome: Outcome) -> str:
        """Say an outcome in one line, without its cell."""
        if outcome.type is not OutcomeType.MEASURED:
            return f"{outcome.type.value}  {outcome.reason}"
        told = {value.metric.removeprefix(f"{outcome.metric}."): value.number for value in outcome.values}
        return f"measured  {self.figures(outcome, told)}"

    @abstractmethod
    def figures(self, outcome: Outcome, told: Mapping[str, float]) -> str:
        """Say the numbers of an answer; `told` has them by the last part of their names."""

    @abstractmethod
    def together(self, wanted: Planned[SpecT]) -> list[Planned[SpecT]]:
        """Return the cells that are measured with this one, itself among them; answered ones may be, too."""

    @abstractmethod
    def measure(self, group: list[Planned[SpecT]]) -> None:
        """Measure cells that have no answer and keep an answer of each."""

    def begin_suite(self, suite: str) -> None:
        """Have the doctor look, once before each suite."""
        self.guard.begin_suite(suite)

    @abstractmethod
    def rest(self) -> None:
        """Remove what stands; whoever asks next gets new ones."""

    def outcomes(self, test_id: str) -> list[Outcome]:
        """Answer one test: an outcome for each of its cells, measured now unless it stands already.

        What is measured together is measured with the first of its cells, those of other tests too.
        """
        mine = [one for one in self.whole_plan if one.test_id == test_id]
        for planned in mine:
            self.ensure(planned)
        return [self.answers[planned.cell.cell_id] for planned in mine]

    def ensure(self, wanted: Planned[SpecT]) -> None:
        """Measure a cell, and what is measured together with it, unless it is answered already."""
        if wanted.cell.cell_id in self.answers:
            return
        group = [planned for planned in self.together(wanted) if planned.cell.cell_id not in self.answers]
        with self.answers.measuring(lambda why: self._fail(group, why)):
            if able := [one for one in group if self.able(one)]:
                self.measure(able)

    def _fail(self, group: Sequence[Planned[SpecT]], why: str) -> None:
        for planned in group:
            if planned.cell.cell_id not in self.answers:
                self.keep_without(planned, OutcomeType.INVALID, why)
        self.run.attempt(self.rest)  # a node may be lost: the next cells have new ones

    def able(self, planned: Planned[SpecT]) -> bool:
        """Whether a cell can be tried at all; keeps the answer of one that cannot."""
        return True

    @abstractmethod
    def new_guard(self) -> PlatformGuard:
        """Return what watches the platform of one deployment after the other."""

    def new_deployment(self, *words: str) -> str:
        """Return the id of a deployment of these words that nothing has yet."""
        self._deployments += 1
        return "-".join((*words, str(self._deployments)))

    def recorded(self, planned: Planned[SpecT]) -> list[Execution]:
        """Return the executions that a run which goes on has of a cell."""
        earlier = self.run.continued
        executions = earlier.executions if earlier else ()
        return [execution for execution in executions if execution.cell_id == planned.cell.cell_id]

    def keep_lacking(self, planned: Planned[SpecT], missing: Missing) -> None:
        """Keep that a cell could not be tried here, with what supplies what it lacks."""
        reason = f"{missing.what}: {missing.reason}"
        self.keep_without(planned, OutcomeType.NOT_ASSESSED, reason, missing.mend)

    def keep_without(self, planned: Planned[SpecT], kind: OutcomeType, why: str, mend: str = "") -> None:
        """Keep an answer that rests on no execution."""
        self.answers.keep(self.kind.without_execution(planned, kind, why), mend)

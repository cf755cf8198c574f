"""Hosting forms of a sweep in turns: one stands for an execution of each size, then the next one does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.kinds.streams import order
from bmwg.methodology.kinds.streams.records import StreamsResult, StreamsSpec
from bmwg.methodology.plan import blocks
from bmwg.methodology.records import Cell
from bmwg.resources.kinds.repeated.measure import CellExecutions, DeploymentBrokenError
from bmwg.resources.run.answers import is_of_cell

Executions = CellExecutions[StreamsSpec, StreamsResult]
Form = tuple[str, str]


class Visit(Protocol):
    """Deploys the form of the cells `mine` and runs the cell that `due` names until it names none of these.

    It keeps the answers of those that have ended.
    """

    def __call__(self, mine: Mapping[str, Executions], due: Callable[[], str | None]) -> None:
        """Raises DeploymentBrokenError after an execution, and what deploying raises."""
        ...


class Turns:
    """The turns of one sweep's forms. `planned` are all of its cells that the run plans, `left` those to run.

    A cell is taken from `left` when it has its answer, whoever gives it.
    """

    def __init__(
        self, sweep: str, planned: Sequence[Sequence[str]], left: dict[str, Executions], seed: int
    ) -> None:
        self.left = left
        self._sweep = sweep
        self._planned = planned
        self._seed = seed

    def due(self) -> str | None:
        """Return the cell whose execution is next; None when there is none."""
        return blocks.next_up(
            self._planned,
            {cell: len(one.done) for cell, one in self.left.items()},
            {cell for form in self._planned for cell in form if self._over(cell)},
            seed=self._seed,
            experiment=self._sweep,
        )

    def _over(self, cell: str) -> bool:
        return cell not in self.left or self.left[cell].ended

    def take(
        self,
        visit: Visit,
        broke: Callable[[Collection[Executions], DeploymentBrokenError], None],
        failed: Callable[[Collection[Executions], ToolkitError], None],
    ) -> None:
        """Have each form visited in its turn until every cell has its answer.

        A form that breaks has another turn, until it broke more often than a cell may be invalid; then
        `broke` is told what is left of it. One that cannot be made is told to `failed`. Other forms go on.
        """
        breaks: Counter[Form] = Counter()
        while self.left:
            cell = self.due()
            form = order.form_of(self._cell(cell if cell is not None else next(iter(self.left))))
            mine = {name: one for name, one in self.left.items() if order.form_of(self._cell(name)) == form}
            try:
                visit(mine, self.due)
            except DeploymentBrokenError as error:
                breaks[form] += 1
                often = breaks[form] > next(iter(mine.values())).planned.asked.max_invalid
                over = [one for name, one in mine.items() if name in self.left and (often or one.ended)]
                broke(over, error)
                self._taken(over)
            except ToolkitError as error:
                if not is_of_cell(error):
                    raise
                over = [one for name, one in mine.items() if name in self.left]
                failed(over, error)
                self._taken(over)

    def _taken(self, answered: Collection[Executions]) -> None:
        for executions in answered:
            self.left.pop(executions.planned.cell.cell_id, None)

    def _cell(self, name: str) -> Cell:
        return self.left[name].planned.cell


def cells_of(group: Sequence[Planned[StreamsSpec]]) -> dict[Form, list[Planned[StreamsSpec]]]:
    """Return a sweep's cells by the form that stands for them."""
    found: dict[Form, list[Planned[StreamsSpec]]] = {}
    for planned in group:
        found.setdefault(order.form_of(planned.cell), []).append(planned)
    return found

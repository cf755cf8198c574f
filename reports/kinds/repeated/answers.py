"""The answers of a run to one kind of load, each with the executions that it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import Planned, SpecT
from bmwg.methodology.records import Outcome, OutcomeType, Validity
from bmwg.reports.render.blocks import Block, role, table
from bmwg.reports.render.sections.common_columns import badge
from bmwg.reports.render.text import NONE
from bmwg.reports.store import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Generic[SpecT, ResultT]):
    """A cell's answer. `results` are of its valid executions, `deployment` the id of the last of them.

    `by_number` are the same results by the number of their execution within the cell.
    """

    outcome: Outcome
    planned: Planned[SpecT]
    results: tuple[ResultT, ...]
    deployment: str
    by_number: Mapping[int, ResultT]

    @property
    def spec(self) -> SpecT:
        """What each of its executions asks for."""
        return self.planned.spec

    @property
    def measured(self) -> bool:
        """Whether there is a number."""
        return self.outcome.type is OutcomeType.MEASURED

    @property
    def values(self) -> Mapping[str, float]:
        """The answer's numbers by the last part of their names."""
        return {
            value.metric.removeprefix(f"{self.outcome.metric}."): value.number
            for value in self.outcome.values
        }

    @property
    def type_cell(self) -> str:
        """The answer's type as a table shows it."""
        found = self.outcome.type
        return badge(found)

    @property
    def remarks(self) -> str:
        """Reason and remarks as a table shows them."""
        reason = (self.outcome.reason,) if self.outcome.reason else ()
        return "; ".join((*reason, *self.outcome.quality)) or NONE


def has_answers(run: Run, kind: str) -> bool:
    """Tell whether a run holds answers of a kind, or planned any."""
    return kind in {*(cell.cell.kind for cell in run.plan), *(outcome.cell.kind for outcome in run.outcomes)}


def answers_of(
    run: Run, kind: RepeatedKind[SpecT, ResultT], *, beside: bool = False
) -> tuple[Answered[SpecT, ResultT], ...]:
    """Return the answers in the plan's order; those that the profile does not plan are `verify`'s affair.

    They are of cells alone on the host, or of those beside a neighbour.
    """
    stated = {
        outcome.cell.cell_id: outcome
        for outcome in run.outcomes
        if outcome.cell.kind == kind.name and (neighbours.of(outcome.cell) != neighbours.ALONE) is beside
    }
    planned = kind.planned_by(run.profile) if stated else {}
    found = []
    for cell_id in (cell.cell.cell_id for cell in run.plan if cell.cell.cell_id in stated):
        mine = [one for one in run.executions if one.cell_id == cell_id and one.seq in stated[cell_id].trials]
        valid = [execution for execution in mine if kind.assess(execution.body).validity is Validity.VALID]
        if cell_id in planned:
            found.append(
                Answered(
                    outcome=stated[cell_id],
                    planned=planned[cell_id],
                    results=tuple(kind.result_of(one.body) for one in valid),
                    deployment=valid[-1].deployment_id if valid else "",
                    by_number={kind.spec_of(one.body).number: kind.result_of(one.body) for one in valid},
                )
            )
    return tuple(found)


def without_numbers(run: Run, answers: Sequence[Answered[SpecT, ResultT]], kind: str) -> list[Block]:
    """Return a table of the cells that have none: why, and what supplies what they lacked."""
    rows = [
        [
            answer.outcome.cell.cell_id,
            answer.type_cell,
            answer.outcome.reason,
            role("command", mend) if (mend := run.mends.get(answer.outcome.outcome_id, "")) else NONE,
        ]
        for answer in answers
        if not answer.measured
    ]
    return table(["cell", "type", "reason", "what supplies it"], rows, f"Cells of {kind} without a number")

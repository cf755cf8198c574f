"""The answers of a run's acts, each with the executions that it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bmwg.methodology.kinds.acts.kind import assessed, planned_by, result_of, spec_of
from bmwg.methodology.kinds.acts.profile import Planned
from bmwg.methodology.kinds.acts.records import KIND, ActsResult
from bmwg.methodology.records import Outcome, Validity
from bmwg.reports.store import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A cell's answer. `results` are of its valid executions, `deployment` the id of the last of them."""

    outcome: Outcome
    planned: Planned
    results: tuple[ActsResult, ...]
    deployment: str

    @property
    def values(self) -> Mapping[str, float]:
        """The answer's numbers by the last part of their names."""
        return {one.metric.removeprefix(f"{self.outcome.metric}."): one.number for one in self.outcome.values}


def has_answers(run: Run) -> bool:
    """Tell whether a run holds acts, or planned any."""
    return any(one.cell.kind == KIND for one in run.plan) or any(
        one.cell.kind == KIND for one in run.outcomes
    )


def answers_of(run: Run) -> tuple[Answered, ...]:
    """Return the answers in the plan's order; those that the profile does not plan are `verify`'s affair."""
    stated = {one.cell.cell_id: one for one in run.outcomes if one.cell.kind == KIND}
    planned = planned_by(run.profile) if stated else {}
    found = []
    for cell_id in (one.cell.cell_id for one in run.plan if one.cell.cell_id in stated):
        mine = [one for one in run.executions if one.cell_id == cell_id and one.seq in stated[cell_id].trials]
        told = [(one, result_of(one.body)) for one in mine]
        valid = [
            (one.deployment_id, result)
            for one, result in told
            if assessed(spec_of(one.body), result).validity is Validity.VALID
        ]
        if cell_id in planned:
            found.append(
                Answered(
                    outcome=stated[cell_id],
                    planned=planned[cell_id],
                    results=tuple(result for _, result in valid),
                    deployment=valid[-1][0] if valid else "",
                )
            )
    return tuple(found)

"""The answers of a run's HTTP experiments with all that its repetitions tell: always computed."""

from __future__ import annotations

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.requests import kind as requests
from bmwg.methodology.kinds.requests.records import HttpAnswer, Repetition
from bmwg.methodology.record.drift import named_drift
from bmwg.reports.store import Run


def has_answers(run: Run) -> bool:
    """Tell whether a run holds HTTP experiments."""
    cells = (*(one.cell for one in run.plan), *(one.cell for one in run.outcomes))
    return any(cell.kind == requests.NAME for cell in cells)


def repetitions_of(run: Run) -> tuple[tuple[int, Repetition], ...]:
    """Return the repetitions of a run, each with the number of its line."""
    return tuple(
        (one.seq, requests.repetition_of(one)) for one in run.executions if one.body.kind == requests.NAME
    )


def answers_of(run: Run) -> tuple[HttpAnswer, ...]:
    """Return the answers of a run in the plan's order, each computed from its repetitions.

    Raises ConfigError STORE-07 for one that these contradict.
    """
    run = run.of_load(requests.NAME)
    stated = {one.cell.cell_id: one for one in run.outcomes if one.cell.kind == requests.NAME}
    repetitions = repetitions_of(run)
    planned = requests.planned_by(run.profile) if stated else {}
    found = []
    for cell_id in (one.cell.cell_id for one in run.plan if one.cell.cell_id in stated):
        outcome = stated[cell_id]
        changes = [
            change
            for name in (outcome.outcome_id, cell_id)  # by the second in runs from before the one journal
            for change in named_drift(run.platform, name)
        ]
        mend = run.mends.get(outcome.outcome_id, "")
        try:
            answer = requests.details(planned.get(cell_id), outcome, repetitions, changes, mend)
        except ValueError as error:
            raise _contradiction(run, f"{cell_id} from its repetitions", str(error)) from error
        if (answer.type, answer.repetitions) != (outcome.type, outcome.trials):
            raise _contradiction(run, f"{cell_id} as its repetitions say: {answer.type}", outcome.type)
        found.append(answer)
    return tuple(found)


def _contradiction(run: Run, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-07",
        f"{run.folder}: an answer and its repetitions contradict each other",
        expected=expected,
        found=found,
        hint="one of the files was changed after the run",
    )

"""What is said of a cell in one line: its answer, or the error that ended it."""

from __future__ import annotations

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import Outcome
from bmwg.methodology.throughput import is_wide


def one_line(error: BaseException) -> str:
    """Put an error into one line, as the reason of an outcome."""
    if not isinstance(error, ToolkitError):
        return " ".join(str(error).split())
    found = f"; found {error.found}" if error.found else ""
    return " ".join(f"{error.error_id} {error.what}{found}".split())


def answer_line(outcome: Outcome) -> str:
    """One line for a console: cell, metric, and the answer as what it is; a wide interval with both ends."""
    answer = "; ".join(f"{value.number:,} {value.unit}" for value in outcome.values[:1])
    if answer and is_wide(outcome) and outcome.upper is not None:
        answer += f", loss from {outcome.upper.load_fps:,} {outcome.values[0].unit} on"
    said = answer or outcome.statement or outcome.reason
    return f"{outcome.cell.cell_id}: {outcome.metric} {outcome.type.value} {said}"

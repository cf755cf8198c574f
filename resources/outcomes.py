"""What is said about a cell that gave no plain number."""

from __future__ import annotations

from bmwg.methodology import throughput
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.planning import PlannedCell
from bmwg.methodology.records import Outcome, OutcomeType


def load_remark(found: Outcome) -> tuple[str, ...]:
    """Say beside a latency that its load is no plain throughput."""
    if found.type is OutcomeType.MEASURED or found.lower is None:
        return ()
    return (f"at {found.lower.load_fps} frames/s, the highest load without loss ({found.type.value})",)


def without_load(planned: PlannedCell, found: Outcome) -> Outcome:
    """Say that latency was not assessed: RFC 2544 26.2 determines the throughput first."""
    return throughput.not_assessed(
        planned.cell,
        outcome_id=planned.outcome_id,
        metric=planned.metric,
        reason=f"no load without loss is known: throughput is {found.type.value}",
    )


def one_line(error: BaseException) -> str:
    """Put an error into one line, as the reason of an outcome."""
    if not isinstance(error, ToolkitError):
        return " ".join(str(error).split())
    found = f"; found {error.found}" if error.found else ""
    return " ".join(f"{error.error_id} {error.what}{found}".split())

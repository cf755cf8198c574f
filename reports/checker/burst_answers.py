"""What the rules of RFC 9004 ask of answers: plain numbers, values by name, numbers within remarks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.proof import each_outcome
from bmwg.reports.checker.verdicts import Answer, Scope


def measured(scope: Scope) -> list[Outcome]:
    """Return the answers that are plain numbers."""
    return [outcome for outcome in scope.outcomes if outcome.type is OutcomeType.MEASURED]


def all_of(outcomes: Iterable[Outcome], expected: str, fits: Callable[[Outcome], bool]) -> Answer:
    """Say whether each of these answers fits; not applicable without one."""
    without = "no burst length of the run is a plain number"
    return each_outcome(outcomes, expected, fits, without=without, thing="answers")


def has(outcome: Outcome, metric: str) -> bool:
    """Whether an answer has a value of a metric."""
    return metric in {value.metric for value in outcome.values}


def said_number(outcome: Outcome, pattern: str) -> int | None:
    """Return the number that a remark of an answer says at this place."""
    found = [match for text in outcome.quality if (match := re.search(pattern, text))]
    return int(found[0][1]) if found else None

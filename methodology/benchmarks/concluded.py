"""Makes the outcome of a benchmark of what its procedure came to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.benchmarks.statistics import Spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.search.stepwise import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """A type, its reason where it is no number, the numbers, and what is to be said beside them.

    `statement` is what a number says of itself; in place of one that holds the reason stands there.
    """

    type: OutcomeType
    reason: str = ""
    values: tuple[Quantity, ...] = ()
    quality: Sequence[str] = ()
    statement: str = ""

    @classmethod
    def without(cls, ended: Run[Any], quality: Sequence[str] = ()) -> Concluded:
        """Return what a procedure that could not end has come to."""
        return cls(type=ended.type, reason=ended.reason, quality=quality)

    def outcome(
        self,
        trials: Iterable[Any],
        *,
        outcome_id: str,
        metric: str,
        cell: Cell,
        requirements: tuple[str, ...],
    ) -> Outcome:
        """Return the outcome, with all trials that the procedure took."""
        silent = self.type in (OutcomeType.MEASURED, OutcomeType.INVALID, OutcomeType.NOT_ASSESSED)
        return Outcome(
            outcome_id=outcome_id,
            metric=metric,
            cell=cell,
            type=self.type,
            values=self.values,
            trials=tuple(trial.seq for trial in trials),
            statement=self.statement or ("" if silent else self.reason),
            reason=self.reason,
            requirements=requirements,
            quality=tuple(self.quality),
        )


def quantities(*told: tuple[str, float | int | None, str]) -> tuple[Quantity, ...]:
    """Return those numbers that there are, each of its metric, number and unit."""
    return tuple(
        Quantity(metric=name, number=number, unit=unit) for name, number, unit in told if number is not None
    )


def numbers(named: dict[str, int], unit: str) -> tuple[Quantity, ...]:
    """Return numbers of one unit by their metrics."""
    return tuple(Quantity(metric=metric, number=number, unit=unit) for metric, number in named.items())


def repeated(metric: str, found: Spread, unit: str) -> tuple[Quantity, ...]:
    """Return the mean of repeated values, and behind its metric the least, the largest and the deviation."""
    return quantities(
        (metric, found.mean, unit),
        (f"{metric}.min", found.minimum, unit),
        (f"{metric}.max", found.maximum, unit),
        (f"{metric}.deviation", found.deviation, unit),
    )

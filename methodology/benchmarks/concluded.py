"""Makes the outcome of a benchmark of what its procedure came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.search.stepwise import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    """A type, its reason where it is no number, the numbers, and what is to be said beside them."""

    type: OutcomeType
    reason: str = ""
    values: tuple[Quantity, ...] = ()
    quality: Sequence[str] = ()

    @classmethod
    def without(cls, ended: Run[Any], quality: Sequence[str] = ()) -> Concluded:
        """Return what a procedure that could not end has come to."""
        return cls(type=ended.type, reason=ended.reason, quality=quality)

    def outcome(
        self,
        ended: Run[Any],
        *,
        outcome_id: str,
        metric: str,
        cell: Cell,
        requirements: tuple[str, ...],
    ) -> Outcome:
        """Return the outcome, with all trials that the procedure took."""
        silent = self.type in (OutcomeType.MEASURED, OutcomeType.INVALID)
        return Outcome(
            outcome_id=outcome_id,
            metric=metric,
            cell=cell,
            type=self.type,
            values=self.values,
            trials=tuple(trial.seq for trial in ended.trials),
            statement="" if silent else self.reason,
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

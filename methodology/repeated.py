"""Repetitions of one load: run until enough of them are valid, and answered by their mean. Pure.

It is for every kind of load whose answer is a mean with an interval: the kind says what a repetition came to
and what was wrong with it, this says when to stop and what may be concluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from bmwg.methodology.records import OutcomeType, Quantity
from bmwg.methodology.student import Interval

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Generic[R]):
    """One repetition by its number in the journal. `problems` say why it is no measurement, if it is none.

    `deployment` is the id of what it ran on (empty: nobody told).
    """

    seq: int
    result: R
    problems: tuple[str, ...] = ()
    deployment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetitions:
    """How many valid repetitions are wanted, and how many make an answer once `limit_s` is over.

    More than `max_invalid` invalid ones end it.
    """

    wanted: int
    least: int
    max_invalid: int
    limit_s: float = math.inf

    def __post_init__(self) -> None:
        """Refuse what can never end, or ends with nothing."""
        if not 1 <= self.least <= self.wanted:
            raise ValueError(f"least: expected 1 to {self.wanted}, found {self.least}")
        if self.max_invalid < 0:
            raise ValueError(f"max_invalid: expected 0 or more, found {self.max_invalid}")

    def ended(self, tried: Sequence[Tried[R]], took_s: float) -> bool:
        """Whether no further repetition is to be run, after so long."""
        valid = sum(not one.problems for one in tried)
        wanted = self.least if took_s > self.limit_s else self.wanted
        return valid >= wanted or len(tried) - valid > self.max_invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(Generic[R]):
    """What repetitions answer: the valid ones, the others, and the numbers of all.

    `reason` is there unless MEASURED.
    """

    type: OutcomeType
    valid: tuple[Tried[R], ...]
    invalid: tuple[Tried[R], ...]
    trials: tuple[int, ...]
    reason: str = ""
    quality: tuple[str, ...] = ()


def repeated(
    measure: Callable[[], Tried[R]],
    asked: Repetitions,
    took_s: Callable[[], float],
    done: Iterable[Tried[R]] = (),
) -> Repeated[R]:
    """Have `measure` run and record repetitions until it is enough; `done` are those that stand already."""
    tried = list(done)
    while not asked.ended(tried, took_s()):
        tried.append(measure())
    return answered(tried, asked)


def answered(tried: Sequence[Tried[R]], asked: Repetitions) -> Repeated[R]:
    """Return what repetitions answer: MEASURED needs the least number of valid ones, and few invalid ones.

    What more invalid ones ended than are allowed is no answer of those that were left: nobody knows what the
    others would have said. Fewer than wanted are remarked.
    """
    valid = tuple(one for one in tried if not one.problems)
    trials = tuple(one.seq for one in tried)
    invalid = tuple(one for one in tried if one.problems)
    aside = len(invalid)
    why = "; ".join(dict.fromkeys(problem for one in tried for problem in one.problems))
    reason = ""
    if len(valid) < asked.least:
        reason = f"{len(valid)} of {asked.least} repetitions are valid: {why or 'none was run'}"
    elif aside > asked.max_invalid:
        reason = f"{aside} of {len(tried)} repetitions were invalid, more than {asked.max_invalid}: {why}"
    if reason:
        return Repeated(type=OutcomeType.INVALID, valid=valid, invalid=invalid, trials=trials, reason=reason)
    remarks = [f"{aside} of {len(tried)} repetitions were invalid and set aside: {why}"] if aside else []
    if len(valid) < asked.wanted:
        remarks.append(f"{len(valid)} valid repetitions of the {asked.wanted} that were planned")
    remarks += _within(valid)
    return Repeated(
        type=OutcomeType.MEASURED, valid=valid, invalid=invalid, trials=trials, quality=tuple(remarks)
    )


def _within(valid: Sequence[Tried[R]]) -> list[str]:
    """Say that an interval is of repetitions on the same deployments, where each had not one of its own.

    Repetitions that follow each other are alike, and deployments differ as well: an interval of such
    repetitions knows neither (docs/adr/0501).
    """
    deployments = len({one.deployment for one in valid})
    if len(valid) < 2 or deployments == len(valid) or not all(one.deployment for one in valid):
        return []
    if deployments == 1:
        return ["its interval is within one deployment, of repetitions taken as independent"]
    return [f"its interval is within {deployments} deployments, of repetitions taken as independent"]


def quantities(metric: str, found: Interval, unit: str) -> tuple[Quantity, ...]:
    """Return a mean as an outcome holds it: with the half-width of its 95 % interval, where there is one."""
    values = [Quantity(metric=f"{metric}.mean", number=found.mean, unit=unit)]
    if found.half_width is not None:
        values.append(Quantity(metric=f"{metric}.half_width_95", number=found.half_width, unit=unit))
    values.append(Quantity(metric=f"{metric}.repetitions", number=found.count, unit="repetitions"))
    return tuple(values)

"""Repetitions of one load: run until enough of them are valid, and answered by their mean. Pure.

It is for every kind of load whose answer is a mean with an interval: the kind says what a repetition came to
and what was wrong with it, this says when to stop and what may be concluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bmwg.methodology.answers.order_statistics import MedianInterval, median_interval
from bmwg.methodology.answers.student import Interval, likeness
from bmwg.methodology.records import OutcomeType, Quantity

R = TypeVar("R")
DEPLOYMENTS = "deployments"  # how the number of them is named behind a metric, and its unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Generic[R]):
    """One repetition by its number in the journal. `problems` say why it is no measurement, if it is none.

    `deployment` is the id of what it ran on (empty: nobody told), `spec` what its kind asked for.
    """

    seq: int
    result: R
    problems: tuple[str, ...] = ()
    deployment: str = ""
    spec: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetitions:
    """How many valid repetitions are wanted, and how many make an answer once `limit_s` is over.

    Without a limit all that are wanted make one. More than `max_invalid` invalid ones end it.
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

    @property
    def needed(self) -> int:
        """How many valid ones make an answer: fewer than are wanted only where a time may have ended it."""
        return self.wanted if math.isinf(self.limit_s) else self.least

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
    """Return what repetitions answer: MEASURED needs as many valid ones as are needed, and few invalid ones.

    What more invalid ones ended than are allowed is no answer of those that were left, nor what a deployment
    ended that broke or could not be made anew: nobody knows what the others would have said. Fewer than
    wanted, where a limit of time ended them, are remarked.
    """
    valid = tuple(one for one in tried if not one.problems)
    trials = tuple(one.seq for one in tried)
    invalid = tuple(one for one in tried if one.problems)
    aside = len(invalid)
    why = "; ".join(dict.fromkeys(problem for one in tried for problem in one.problems))
    reason = ""
    if len(valid) < asked.needed:
        why = why or ("no further one was run" if valid else "none was run")
        reason = f"{len(valid)} of {asked.needed} repetitions are valid: {why}"
    elif aside > asked.max_invalid:
        reason = f"{aside} of {len(tried)} repetitions were invalid, more than {asked.max_invalid}: {why}"
    if reason:
        return Repeated(type=OutcomeType.INVALID, valid=valid, invalid=invalid, trials=trials, reason=reason)
    remarks = [f"{aside} of {len(tried)} repetitions were invalid and set aside: {why}"] if aside else []
    if len(valid) < asked.wanted:
        remarks.append(f"{len(valid)} valid repetitions of the {asked.wanted} that were planned")
    if where := _where(len(valid), deployed(valid)):
        remarks.append(f"its interval covers 95 % where repetitions are independent, and is {where}")
    return Repeated(
        type=OutcomeType.MEASURED, valid=valid, invalid=invalid, trials=trials, quality=tuple(remarks)
    )


def deployed(valid: Sequence[Tried[R]]) -> int | None:
    """Return on how many deployments some repetitions ran; None where one of them does not tell its own."""
    if not valid or not all(one.deployment for one in valid):
        return None
    return len({tried.deployment for tried in valid})


def within(repetitions: float, deployments: float | None) -> str:
    """Say what an interval claims, where each repetition had not a deployment of its own; else empty.

    Repetitions that follow each other are alike, and deployments differ as well: an interval of such
    repetitions knows neither (docs/adr/0501, 0516, 0487). How often it covers then stands in docs/methods.md.
    """
    where = _where(repetitions, deployments)
    return where and f"if independent, {where}"


def _where(repetitions: float, deployments: float | None) -> str:
    if deployments is None or repetitions < 2 or deployments >= repetitions:
        return ""
    return "within one deployment" if deployments == 1 else f"within {deployments} deployments"


def alike(means: Sequence[float]) -> tuple[str, ...]:
    """Say that repetitions follow each other alike, where that is clear from their means in order."""
    found = likeness(means)
    if found is None:
        return ()
    return (f"each repetition is like the one before (correlation {found:.2f}): its interval is too narrow",)


def of_repetitions(told: Mapping[str, float], figure: str = "", *, each: str = "") -> str:
    """Return of what a mean is: `n = 5`, or `n = 5, if independent, within one deployment`.

    `told` are an answer's numbers by the last part of their names; `figure` begins those of one of several,
    `each` is one repetition.
    """
    repetitions = told[f"{figure}repetitions"]
    words = within(repetitions, told.get(DEPLOYMENTS))
    return f"n = {repetitions}{each and f' of {each}'}{words and f', {words}'}"


def deployments(metric: str, count: int | None) -> tuple[Quantity, ...]:
    """Return on how many deployments an answer stands, as an outcome holds it; nothing where nobody told."""
    return (
        () if count is None else (Quantity(metric=f"{metric}.{DEPLOYMENTS}", number=count, unit=DEPLOYMENTS),)
    )


def medians(name: str, values: Sequence[float], unit: str = "ns") -> tuple[Quantity, ...]:
    """Return the median of what repetitions told, its interval and what that covers; nothing of nothing."""
    if not values:
        return ()
    return of_median(name, median_interval(values), unit)


def of_median(name: str, found: MedianInterval, unit: str = "ns") -> tuple[Quantity, ...]:
    """Return a median as an outcome holds it: with its interval and what that covers."""
    told = {"median": found.median, "median_low": found.low, "median_high": found.high}
    covers = Quantity(metric=f"{name}.median_covers", number=found.covers, unit="ratio")
    return (
        *(Quantity(metric=f"{name}.{part}", number=number, unit=unit) for part, number in told.items()),
        covers,
    )


def percentiles(metric: str, each: Sequence[Mapping[str, int]]) -> tuple[Quantity, ...]:
    """Return the percentiles (ns) of several repetitions, each of which told its own of single events.

    Those of all events together are not known: each is the median of the repetitions', with its interval.
    Least and largest are of all. One that a repetition does not tell is left out.
    """
    ends = {"min": min, "max": max}
    found: tuple[Quantity, ...] = ()
    for name in sorted(each[0]) if each else ():  # a journal does not keep the order of a repetition's own
        values = [one[name] for one in each if name in one]
        if len(values) < len(each):
            continue
        if name in ends:
            found += (Quantity(metric=f"{metric}.{name}", number=ends[name](values), unit="ns"),)
        else:
            found += medians(f"{metric}.{name}", values)
    return found


def quantities(metric: str, found: Interval, unit: str) -> tuple[Quantity, ...]:
    """Return a mean as an outcome holds it: with the half-width of its 95 % interval, where there is one."""
    values = [Quantity(metric=f"{metric}.mean", number=found.mean, unit=unit)]
    if found.half_width is not None:
        values.append(Quantity(metric=f"{metric}.half_width_95", number=found.half_width, unit=unit))
    values.append(Quantity(metric=f"{metric}.repetitions", number=found.count, unit="repetitions"))
    return tuple(values)

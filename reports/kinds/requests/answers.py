"""The answers of a run's HTTP experiments with all that its repetitions tell: always computed."""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.answers.student import Difference, Interval, difference, interval
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.kinds.repeated.kind import MEASURED
from bmwg.methodology.kinds.requests import rate_search
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import Outcome
from bmwg.reports.kinds.repeated import answers
from bmwg.reports.store import Run

Answered = answers.Answered[RequestsSpec, RequestsResult]


def answers_of(run: Run) -> tuple[Answered, ...]:
    """Return the answers of a run in the plan's order, each as its repetitions say.

    Raises ConfigError STORE-07 for one that these contradict.
    """
    run = run.of_load(REQUESTS.name)
    found = []
    for answer in answers.answers_of(run, REQUESTS):
        stated = answer.outcome
        mine = [each for each in run.executions if each.cell_id == stated.cell.cell_id]
        changes = named_drift(run.platform, stated.outcome_id)
        try:
            computed = REQUESTS.replayed(answer.planned, stated, mine, changes)
        except ValueError as error:
            raise _contradiction(run, f"{stated.outcome_id} from its repetitions", str(error)) from error
        if _numbers(computed) != _numbers(stated):
            expected = f"{stated.outcome_id} as its repetitions say: {computed.type}"
            raise _contradiction(run, expected, f"{stated.type}, or other numbers")
        found.append(replace(answer, outcome=computed))
    return tuple(found)


def _numbers(outcome: Outcome) -> tuple[object, ...]:
    return outcome.type, outcome.trials, outcome.values


def _contradiction(run: Run, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-07",
        f"{run.folder}: an answer and its repetitions contradict each other",
        expected=expected,
        found=found,
        hint="one of the files was changed after the run",
    )


def times(one: Answered) -> list[float]:
    """Return the mean time of a request (ns) in each valid repetition; nothing of what has no such mean."""
    has_mean = "mean" in one.values and one.spec.origin is None  # of a failing origin that is a share
    return [float(each.mean_request_ns) for each in one.results] if has_mean else []


def time(one: Answered) -> Interval | None:
    """Return the mean time of a request with its interval, ns; None where there is none."""
    return interval(found) if (found := times(one)) else None


def compared(a: Answered, b: Answered) -> Difference | None:
    """Compare two cells' times of a request (Welch); None when one has no number or both do not vary."""
    return difference(times(a), times(b))


def tried(run: Run, one: Answered) -> list[Tried[RequestsResult]]:
    """Return the measured repetitions of a cell, those set aside among them."""
    mine = (each for each in run.executions if each.cell_id == one.outcome.cell.cell_id)
    return [REQUESTS.retried(each) for each in mine if each.phase == MEASURED]


def at_rate(run: Run, one: Answered) -> RequestsResult | None:
    """Return the last trial that the rate of an answer rests on; None without a rate."""
    numbers = _of_bound(run, one)
    found = [each.result for each in tried(run, one) if each.seq in numbers]
    return found[-1] if found else None


def at_their_loads(run: Run) -> dict[str, tuple[int, ...]]:
    """Return the trials at the load of each answer that a search found, by the answer's id."""
    return {
        one.outcome.outcome_id: numbers
        for one in answers.answers_of(run, REQUESTS)
        if one.spec.search is not None and (numbers := _of_bound(run, one))
    }


def _of_bound(run: Run, one: Answered) -> tuple[int, ...]:
    bound = rate_search.replayed(one.planned.spec, tried(run, one)).lower if one.measured else None
    return bound.trials if bound is not None else ()

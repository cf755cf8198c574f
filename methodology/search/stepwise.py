"""Procedures as generators: each step is one trial, so the same code runs a benchmark and replays its record.

A procedure yields the trial that must come next and is sent that trial, judged. It never sees a clock, a file
or a socket, and what it asks for follows from the trials so far alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search.offer import Spec
from bmwg.methodology.trial.judging import JudgedTrial

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The one trial that must come next; `attempt` counts repeats of a trial that was not valid, from 0.

    `spec` is that of the kind of load that is offered (`offer.Spec`). A trial that tells by what came before
    it is `in_turn`: no trial that was taken at another time stands for it.
    """

    spec: Any
    phase: str
    attempt: int = 0
    in_turn: bool = False


Procedure = Generator[Step, JudgedTrial, Found]


class StopError(Exception):
    """A procedure cannot go on; its outcome is of `type`, for the reason that this holds."""

    type = OutcomeType.INVALID


class DisturbedError(StopError):
    """Too many trials were disturbed and none was broken: there is no answer this time."""

    type = OutcomeType.UNSTABLE


class NoValidTrialError(DisturbedError):
    """No trial at a load was valid within the declared repeats; other loads may still be tried."""


class TesterShortError(StopError):
    """The tester could not send the load."""

    type = OutcomeType.TESTER_LIMITED


class UnexpectedTrialError(ToolkitError):
    """A recorded trial is not the one that the procedure called for."""

    exit_code = 4

    def __init__(self, seq: int, expected: Spec | None, found: Spec) -> None:
        self.seq = seq
        super().__init__(
            "SRCH-02",
            f"trial {seq} does not follow from the trials before it",
            expected="no further trial" if expected is None else expected.words,
            found=found.words,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(Generic[Found]):
    """How a procedure ended. `found` is None when it could not end; `reason` and `type` then say why.

    `trials` are all that it took, in order, also when `error` stopped it. The type of an outcome without an
    answer is `unstable` when trials were disturbed and nothing else, `tester_limited` when the tester fell
    short, `invalid` when the procedure broke.
    """

    trials: tuple[JudgedTrial, ...]
    found: Found | None = None
    reason: str = ""
    type: OutcomeType = OutcomeType.INVALID
    error: Exception | None = None

    @property
    def statement(self) -> str:
        """What is to be said in place of an answer; empty where there is one, or nothing that holds."""
        return self.reason if self.found is None and self.type is not OutcomeType.INVALID else ""


def run(procedure: Procedure[Found], measure: Callable[[Any], JudgedTrial]) -> Run[Found]:
    """Run a procedure by `run_steps`, for a measurer that does not ask of which phase a trial is."""
    return run_steps(procedure, lambda step: measure(step.spec))


def run_steps(procedure: Procedure[Found], measure: Callable[[Step], JudgedTrial]) -> Run[Found]:
    """Run a procedure. `measure` runs, records and judges one single trial; it does not repeat.

    An exception of `measure`, or a trial that is not the one asked for, ends it with the trials so far.
    KeyboardInterrupt and the like pass through.
    """
    trials: list[JudgedTrial] = []
    try:
        step = next(procedure)
        while True:
            try:
                trial = measure(step)
            except Exception as error:
                reason = f"the measurer failed at {step.spec.load} {step.spec.unit}: {error}"
                return Run(trials=tuple(trials), reason=reason, error=error)
            trials.append(trial)
            if trial.spec != step.spec:
                reason = f"trial {trial.seq} is not the one asked for ({step.spec.words})"
                return Run(trials=tuple(trials), reason=reason)
            step = procedure.send(trial)
    except StopIteration as end:
        return Run(trials=tuple(trials), found=end.value)
    except StopError as stop:
        return Run(trials=tuple(trials), reason=str(stop), type=stop.type)


def reusing(procedure: Procedure[Found], earlier: Sequence[JudgedTrial]) -> Procedure[Found]:
    """Answer the steps of a procedure by valid trials that were taken before, each once and in their order.

    Only the steps that none of them answers, and those `in_turn`, are trials to come.
    """
    left = [trial for trial in earlier if trial.valid]
    try:
        step = next(procedure)
        while True:
            alike = (number for number, trial in enumerate(left) if trial.spec == step.spec)
            same = None if step.in_turn else next(alike, None)
            step = procedure.send((yield step) if same is None else left.pop(same))
    except StopIteration as end:
        found: Found = end.value
        return found


def replay(procedure: Procedure[Found], trials: Sequence[JudgedTrial]) -> Step | Run[Found]:
    """Hold recorded trials against a procedure: return the step that must come next, or how it ended.

    Raises UnexpectedTrialError at the first trial that the procedure did not call for.
    """
    taken = 0
    try:
        step = next(procedure)
        for trial in trials:
            if trial.spec != step.spec:
                raise UnexpectedTrialError(trial.seq, step.spec, trial.spec)
            taken += 1
            step = procedure.send(trial)
        return step
    except StopIteration as end:
        ended: Run[Found] = Run(trials=tuple(trials[:taken]), found=end.value)
    except StopError as stop:
        ended = Run(trials=tuple(trials[:taken]), reason=str(stop), type=stop.type)
    if taken < len(trials):
        extra = trials[taken]
        raise UnexpectedTrialError(extra.seq, None, extra.spec)
    return ended


def repetitions(
    spec: Spec, count: int, phase: str = "repetition", *, max_repeats: int, short: str
) -> Procedure[tuple[JudgedTrial, ...]]:
    """Take one valid trial for each repetition. Raises as `valid_trial`, and TesterShortError."""
    found = []
    for number in range(count):
        named = f"{phase} {number + 1}"
        trial = yield from valid_trial(spec, named, max_repeats=max_repeats, short_limit=1 + max_repeats)
        if trial is None:
            raise TesterShortError(short)
        found.append(trial)
    return tuple(found)


def valid_trial(
    spec: Spec, phase: str, *, max_repeats: int, short_limit: int, in_turn: bool = False
) -> Generator[Step, JudgedTrial, JudgedTrial | None]:
    """Repeat one trial until it is valid, at most `max_repeats` more times; loss never causes a repeat.

    Returns None when the tester fell short `short_limit` times: the load is beyond it. Raises StopError when
    tester, link or DUT failed, counts contradict each other, or no trial was valid
    (NoValidTrialError).
    """
    shorts = 0
    for attempt in range(1 + max_repeats):
        trial = yield Step(spec=spec, phase=phase, attempt=attempt, in_turn=in_turn)
        if trial.validity is Validity.VALID:
            return trial
        if trial.validity in (Validity.FAULT, Validity.INCONSISTENT):
            raise StopError(f"trial {trial.seq} at {spec.load} {spec.unit}: {trial.validity}: {trial.reason}")
        if trial.validity is Validity.SENT_SHORT:
            shorts += 1
            if shorts >= short_limit:
                return None
    raise NoValidTrialError(
        f"no valid trial at {spec.load} {spec.unit} in {1 + max_repeats};"
        f" the last: {trial.validity}: {trial.reason}"
    )

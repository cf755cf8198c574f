"""MLRsearch behind our own interface: the package chooses loads and durations, our own function judges.

What the trials prove comes from `classify` alone. The package runs without its clock, and what it asks next
follows from the trials so far, so `legal_next` can hold a journal against it. Loads are whole numbers: the
package's are rounded down, and where that leaves an interval wider than its goal asks for, one more load
inside it is tried. Trials that are not valid are repeated within the declared number and never reach the
package. A load that the tester cannot send is told to the package as one where nothing more than the
tester's share arrives, and every higher load is answered so without traffic; neither proves a bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.mlrsearch.classify import GoalResult, by_load, grouped_result, trial_outputs
from bmwg.methodology.mlrsearch.goal import ControllerInput, SearchGoal
from bmwg.methodology.mlrsearch.package import package
from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search.offer import Spec
from bmwg.methodology.search.stepwise import Step, StopError, UnexpectedTrialError, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial

_NO_CLOCK_S = 1e12  # the package's own limit in seconds of clock time; ours are trials and traffic
_BELOW_LIMIT = 0.99  # choice: at its very limit a tester is late without falling short
_PRECEDING_TARGETS = 2  # the package's default
_WIDTH_MARGIN = 0.997  # choice, adr 0043: room for rounding loads down to whole numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result a goal, in the order of the goals (RFC9971-4.8.5-02), regular or not.

    `ended` says that the engine had nothing left to ask; else `reason` and `type` say what stopped it. What
    the trials until then prove stands in any case. `tester_limit_fps` is the lowest load that the tester
    could not send.
    """

    results: tuple[GoalResult, ...]
    trials: tuple[JudgedTrial, ...]
    traffic_s: float
    ended: bool
    reason: str = ""
    type: OutcomeType = OutcomeType.INVALID
    tester_limit_fps: int | None = None
    error: Exception | None = None


class _OutOfLimitError(StopError):
    """The declared number of trials or seconds of traffic is used up."""

    type = OutcomeType.UNSTABLE


class _OutOfTrialsError(Exception):
    """A replay reached the end of the record; `step` is the trial that must come next."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step


class _MeasurerError(Exception):
    """The measurer raised, or gave another trial than the one asked for."""


def search(measure: Callable[[Any], Any], wanted: ControllerInput) -> SearchResult:
    """Search for all goals at once. `measure` runs, records and judges one trial (`Tried`), once.

    An exception of `measure`, a fault or a limit of the search ends it with what the trials so far prove.
    """

    def take(step: Step) -> JudgedTrial:
        try:
            trial: JudgedTrial = measure(step.spec)
        except Exception as error:
            where = f"{step.spec.load} {step.spec.unit}"
            raise _MeasurerError(f"the measurer failed at {where}: {error}") from error
        return trial

    return _run(_Controller(take, wanted))


def legal_next(trials: Sequence[Any], wanted: ControllerInput) -> Step | SearchResult:
    """Replay recorded trials: the trial that must come next, or the result that they prove.

    Raises UnexpectedTrialError at the first trial that the search did not call for.
    """
    left = iter(trials)

    def take(step: Step) -> JudgedTrial:
        trial: JudgedTrial | None = next(left, None)
        if trial is None:
            raise _OutOfTrialsError(step)
        if trial.spec != step.spec:
            raise UnexpectedTrialError(trial.seq, step.spec, trial.spec)
        return trial

    try:
        result = _run(_Controller(take, wanted))
    except _OutOfTrialsError as end:
        return end.step
    extra = next(left, None)
    if extra is not None:
        raise UnexpectedTrialError(extra.seq, None, extra.spec)
    return result


def _run(controller: _Controller) -> SearchResult:
    wanted, reason, error = controller.wanted, "", None
    kind = OutcomeType.INVALID
    mlrsearch = package()
    config = mlrsearch.Config()
    # In this order: the package holds each new limit against the other one's old value.
    config.max_load = max(wanted.max_load_fps, config.min_load + 1)
    config.min_load = wanted.min_load_fps
    config.max_load = wanted.max_load_fps
    config.goals = [_package_goal(goal) for goal in wanted.goals]
    config.search_duration_max = _NO_CLOCK_S
    config.warmup_duration = 0.0
    try:
        controller.warm_up()
        mlrsearch.MultipleLossRatioSearch(config=config).search(controller, debug=_silent)
        for goal in wanted.goals:
            controller.close(goal)
    except StopError as stop:
        reason, kind = str(stop), stop.type
    except _MeasurerError as stop:
        reason = str(stop)
        error = stop.__cause__ if isinstance(stop.__cause__, Exception) else None
    return SearchResult(
        results=controller.results(),
        trials=tuple(controller.trials),
        traffic_s=controller.traffic_s,
        ended=not reason,
        reason=reason,
        type=kind,
        tester_limit_fps=controller.beyond_fps,
        error=error,
    )


def _silent(_: str) -> None:
    """Take the package's log lines, which say nothing that the journal does not."""


def _package_goal(goal: SearchGoal) -> Any:
    """Translate a goal."""
    first = goal.initial_trial_duration_s
    return package().SearchGoal(
        loss_ratio=goal.goal_loss_ratio,
        exceed_ratio=goal.goal_exceed_ratio,
        relative_width=goal.goal_width * _WIDTH_MARGIN,
        initial_trial_duration=first,
        final_trial_duration=goal.goal_final_trial_duration_s,
        duration_sum=goal.goal_duration_sum_s,
        preceding_targets=0 if first >= goal.goal_duration_sum_s else _PRECEDING_TARGETS,
        fail_fast=False,
    )


class _Controller:
    """Answers the package from trials that `take` gives: it has the one method of `AbstractMeasurer`."""

    def __init__(self, take: Callable[[Step], JudgedTrial], wanted: ControllerInput) -> None:
        self.wanted = wanted
        self.trials: list[JudgedTrial] = []
        self.warming: set[int] = set()  # sequence numbers that prove nothing
        self.traffic_s = 0.0
        self.beyond_fps: int | None = None
        self._beyond_share = 0.0
        self._take = take

    def warm_up(self) -> None:
        """Run the declared trial that proves nothing (RFC9971-5.3.4)."""
        if self.wanted.warmup_s:
            spec = self.wanted.spec(self.wanted.max_load_fps, self.wanted.warmup_s)
            self._valid(spec, "warm-up")
            self.warming = {trial.seq for trial in self.trials}

    def results(self) -> tuple[GoalResult, ...]:
        """Return what the trials so far prove, one result a goal."""
        outputs = trial_outputs(trial for trial in self.trials if trial.seq not in self.warming)
        groups, highest = by_load(outputs), self.wanted.max_load_fps
        return tuple(grouped_result(groups, goal, max_load_fps=highest) for goal in self.wanted.goals)

    def close(self, goal: SearchGoal) -> None:
        """Narrow an interval that rounding left too wide: its edge is classified by full-length trials."""
        while True:
            found = self.results()[self.wanted.goals.index(goal)]
            lower, upper = found.relevant_lower_bound_fps, found.relevant_upper_bound_fps
            if found.regular or lower is None or upper is None:
                return
            load = max(lower + 1, upper - int(goal.goal_width * upper))
            if self._valid(self.wanted.spec(load, goal.goal_final_trial_duration_s), "close") is None:
                return

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        """Answer one ask of the package."""
        load = min(max(int(intended_load), self.wanted.min_load_fps), self.wanted.max_load_fps)
        spec = self.wanted.spec(load, intended_duration)
        trial = None
        if self.beyond_fps is None or load < self.beyond_fps:
            trial = self._valid(spec, "search")
        if trial is None:
            return self._beyond(load, intended_duration, intended_load)
        sent, lost = trial.sent, trial.lost
        return package().MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            offered_count=sent,
            loss_count=lost,
        )

    def _beyond(self, load: int, duration_s: float, intended_load: float) -> Any:
        """Steer the package below a load that the tester cannot send."""
        frames = self.wanted.spec(load, duration_s).intended
        passing = min(self._beyond_share * frames, 0.999 * frames * (1 - self._highest_loss()))
        return package().MeasurementResult(
            intended_duration=duration_s,
            intended_load=intended_load,
            offered_count=max(frames, 1000),
            loss_count=max(frames, 1000) - int(passing),
        )

    def _highest_loss(self) -> float:
        return max(goal.goal_loss_ratio for goal in self.wanted.goals)

    def _valid(self, spec: Spec, phase: str) -> JudgedTrial | None:
        steps = valid_trial(
            spec, phase, max_repeats=self.wanted.max_repeats, short_limit=self.wanted.short_limit
        )
        try:
            step = next(steps)
            while True:
                step = steps.send(self._one(step))
        except StopIteration as end:
            trial: JudgedTrial | None = end.value
        except StopError:
            # Below a load that it could not send, a tester that is late each time is at its limit too.
            late = self.trials and self.trials[-1].validity is Validity.TESTER_STALLED
            if self.beyond_fps is None or not late:
                raise
            trial = None
        if trial is None:
            self.beyond_fps = spec.load
            self._beyond_share = _BELOW_LIMIT * min(1.0, self.trials[-1].sent_per_s / spec.load)
        return trial

    def _one(self, step: Step) -> JudgedTrial:
        if len(self.trials) >= self.wanted.max_trials:
            raise _OutOfLimitError(f"no result within max_trials ({self.wanted.max_trials})")
        if self.traffic_s + step.spec.duration_s > self.wanted.max_traffic_s:
            raise _OutOfLimitError(f"no result within max_traffic_s ({self.wanted.max_traffic_s:g} s)")
        trial = self._take(step)
        self.trials.append(trial)
        self.traffic_s += step.spec.duration_s
        if trial.spec != step.spec:
            asked = f"{step.spec.load} {step.spec.unit}"
            raise _MeasurerError(f"trial {trial.seq} is not the one asked for ({asked})")
        return trial

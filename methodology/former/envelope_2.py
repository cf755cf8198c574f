"""The tester's qualification, version 2: a bisection whose lower bound steps down until one holds.

Frozen. Commits after 59ca94f3b37c, up to 3790993f32b6, measured by it; docs/adr/0231 says what version 3 does
otherwise.

1. one trial at the highest load;
2. while the interval is wider than the goal allows, one trial at its geometric middle;
3. `verification_trials` more at the highest load without loss. Where one of them is not lossless, that load
   becomes the upper end and the next lower load that had no loss is verified; nothing between is searched.

A load without a valid trial within `max_repeats` ends the interval from above like one that lost frames.
"""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum, auto
from math import isqrt

from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.records import Bound, OutcomeType, Validity
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.throughput import ENVELOPE_METRIC, outcome
from bmwg.methodology.trial import JudgedTrial

_MORE_FORWARDED = 1.1
_PHASE = "qualification"


class _Finding(Enum):
    LOSSLESS = auto()
    LOSSY = auto()
    SHORT = auto()
    DISTURBED = auto()


class _StopError(Exception):
    """A trial broke; the outcome is `invalid`."""


_Ended = tuple[OutcomeType, str, int | None, int | None]  # type, reason, lower and upper load (frames/s)
_Uppers = list[tuple[int, _Finding]]


def measure(asked: Asked) -> Answered:
    """Qualify the tester as version 2 did, or replay what it recorded."""
    goal = asked.profile.goal(asked.cell, max_load_fps=asked.max_load_fps, qualifies_tester=True)
    trials: list[JudgedTrial] = []
    procedure = _procedure(goal)
    load = next(procedure)
    while True:
        trial = asked.trial(goal.spec(load), _PHASE)
        trials.append(trial)
        try:
            load = procedure.send(trial)
        except StopIteration as end:
            found = _result(end.value, trials)
            answer = outcome(found, asked.cell, outcome_id=asked.outcome_id, metric=ENVELOPE_METRIC)
            return Answered(outcomes=(answer,))


def _procedure(goal: ThroughputGoal) -> Generator[int, JudgedTrial, _Ended]:
    lowers: list[int] = []  # loads found lossless, ascending
    uppers: _Uppers = []  # loads found otherwise, descending
    try:
        yield from _place(goal, goal.max_load_fps, lowers, uppers)
        while (load := _middle(goal, lowers, uppers)) is not None:
            yield from _place(goal, load, lowers, uppers)
        yield from _step_down(goal, lowers, uppers)
    except _StopError as stop:
        return OutcomeType.INVALID, str(stop), None, None
    return _concluded(goal, lowers, uppers)


def _place(
    goal: ThroughputGoal, load: int, lowers: list[int], uppers: _Uppers
) -> Generator[int, JudgedTrial, None]:
    finding = yield from _probe(goal, load)
    if finding is _Finding.LOSSLESS:
        lowers.append(load)
    else:
        uppers.append((load, finding))


def _probe(goal: ThroughputGoal, load: int) -> Generator[int, JudgedTrial, _Finding]:
    shorts = 0
    for _ in range(1 + goal.max_repeats):
        trial = yield load
        if trial.validity is Validity.VALID:
            return _Finding.LOSSLESS if trial.lossless else _Finding.LOSSY
        if trial.validity in (Validity.FAULT, Validity.INCONSISTENT):
            raise _StopError(f"trial {trial.seq} at {load} frames/s: {trial.validity}: {trial.reason}")
        if trial.validity is Validity.SENT_SHORT:
            shorts += 1
            if shorts >= goal.short_limit:
                return _Finding.SHORT
    return _Finding.DISTURBED


def _middle(goal: ThroughputGoal, lowers: list[int], uppers: _Uppers) -> int | None:
    if not uppers:
        return None
    upper = uppers[-1][0]
    lower = lowers[-1] if lowers else goal.min_load_fps
    if not lowers and upper <= goal.min_load_fps:
        return None
    if upper - lower <= max(1, goal.relative_width * upper):
        return None if lowers else goal.min_load_fps
    return min(max(isqrt(lower * upper), lower + 1), upper - 1)


def _step_down(goal: ThroughputGoal, lowers: list[int], uppers: _Uppers) -> Generator[int, JudgedTrial, None]:
    while lowers:
        for _ in range(goal.verification_trials):
            finding = yield from _probe(goal, lowers[-1])
            if finding is not _Finding.LOSSLESS:
                uppers.append((lowers.pop(), finding))
                break
        else:
            return


def _concluded(goal: ThroughputGoal, lowers: list[int], uppers: _Uppers) -> _Ended:
    lower = lowers[-1] if lowers else None
    upper, kind = uppers[-1] if uppers else (None, None)
    if kind is _Finding.DISTURBED and lower is None:
        reason = f"no valid trial at {upper} frames/s in {1 + goal.max_repeats}"
        return OutcomeType.INVALID, reason, lower, upper
    if lower is None and upper is not None and upper > goal.min_load_fps:
        reason = f"no load held when it was tried again; the lowest was {upper} frames/s"
        return OutcomeType.INVALID, reason, lower, upper
    if lower is None:
        reason = f"loss already at the lowest load, {goal.min_load_fps} frames/s"
        return OutcomeType.AT_FLOOR, reason, lower, upper
    if upper is None and goal.medium_fps is not None and lower >= goal.medium_fps:
        return OutcomeType.MEASURED, "the full rate of the medium", lower, upper
    if kind in (_Finding.SHORT, _Finding.DISTURBED):
        reason = f"the tester fell short of {upper} frames/s, which is what this search measures"
        return OutcomeType.MEASURED, reason, lower, upper
    if upper is None:
        return OutcomeType.AT_CEILING, f"{lower} frames/s is the highest load of the search", lower, upper
    return OutcomeType.MEASURED, "", lower, upper


def _result(ended: _Ended, trials: list[JudgedTrial]) -> SearchResult:
    kind, reason, lower, upper = ended
    quality: list[str] = []
    for load in (lower, upper):
        found = {trial.lossless for trial in trials if trial.valid and trial.result.spec.load_fps == load}
        if len(found) == 2:
            quality.append(f"{load} frames/s was found both with and without loss")
    quality += _forwarded_more(trials, upper)
    statement = ""
    if kind in (OutcomeType.AT_FLOOR, OutcomeType.AT_CEILING):
        statement = f"no loss up to {lower} frames/s" if lower is not None else reason
    return SearchResult(
        type=kind,
        lower=_bound(trials, lower, lossless=True),
        upper=_bound(trials, upper, lossless=False),
        trials=tuple(trial.seq for trial in trials),
        statement=statement,
        reason=reason,
        quality=tuple(quality),
    )


def _forwarded_more(trials: list[JudgedTrial], upper: int | None) -> list[str]:
    rates = [
        (min(stream.received_frames for stream in trial.result.streams) / trial.result.spec.duration_s, trial)
        for trial in trials
        if trial.valid
    ]
    if upper is None or not rates:
        return []
    rate_fps, best = max(rates, key=lambda entry: entry[0])
    if rate_fps <= upper * _MORE_FORWARDED:
        return []
    load, ratio = best.result.spec.load_fps, best.result.loss_ratio
    return [
        f"trial {best.seq} forwarded {rate_fps:.0f} frames/s of {load} with a loss ratio of {ratio:.2g}:"
        " what bounds this answer is not overload alone"
    ]


def _bound(trials: list[JudgedTrial], load: int | None, *, lossless: bool) -> Bound | None:
    proof = tuple(
        trial.seq
        for trial in trials
        if trial.valid and trial.result.spec.load_fps == load and trial.lossless is lossless
    )
    return Bound(load_fps=load, trials=proof) if load is not None and proof else None


RULE = FormerRule(metric=ENVELOPE_METRIC, version=2, measure=measure)

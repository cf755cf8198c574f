"""Throughput by bisection (RFC 2544 26.1), with a verification of both bounds that loss does not trigger.

Pure: the next load follows from the trials so far and the goal alone, so a replay of the journal can prove
that each trial was the one the procedure called for (`legal_next`). The procedure:

1. one trial at the highest load;
2. while the interval is wider than the goal allows, one trial at its geometric middle, the integer square
   root of lower times upper;
3. `verification_trials` more trials at the lower bound, all of which must be lossless, and as many at the
   upper bound, of which at least half must not be, whatever the loss was before;
4. where step 3 contradicts one bound, that load becomes the other bound, the interval reaches back to the
   nearest earlier load of the other kind, and steps 2 and 3 run again, at most `max_reopenings` times.
   With `most_relative_width` the interval may be twice as wide after each time, up to that width, and is
   widened away from the contradicted load, which then lies within: where the device's rate itself moves, a
   narrower answer would be luck (docs/adr/0232);
5. where the goal says so, one trial at half of a measured lower bound and one a quarter above the upper
   one. They change no bound; an answer that they contradict is `unstable` (`methodology.contradictions`).

Trials that are not valid are repeated at the same load within `max_repeats` and are never a bound. A load
without any valid trial ends the interval from above; if it still does at the end, the answer is `unstable`.
A goal that qualifies the tester is searched by `qualification`, and run and replayed here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search import closing, qualification
from bmwg.methodology.search.agreed import agreed_fps
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.search.offer import Tried, proven
from bmwg.methodology.search.probing import Conclusion, Finding, middle, probe
from bmwg.methodology.search.stepwise import Procedure, Run, Step, replay, run
from bmwg.methodology.trial.judging import JudgedTrial

MORE_FORWARDED = 1.1  # choice: forwarding this much above the upper bound is worth a remark
_DISTURBED = (Validity.TESTER_STALLED, Validity.HOST_STALLED)


def search(measure: Callable[[Any], Any], goal: ThroughputGoal) -> SearchResult:
    """Find the throughput. `measure` runs, records and judges one single trial (`Tried`); it does not repeat.

    An exception of `measure`, or a trial that is not the one asked for, ends the search as `invalid` with the
    trials so far; `SearchResult.error` keeps the exception. KeyboardInterrupt and the like pass through.
    """
    return _result(run(_procedure(goal), measure), goal)


def legal_next(trials: Sequence[Any], goal: ThroughputGoal) -> Step | SearchResult:
    """Replay recorded trials: the trial that must come next, or the result that they prove.

    Raises UnexpectedTrialError at the first trial that the procedure did not call for.
    """
    found = replay(_procedure(goal), trials)
    return found if isinstance(found, Step) else _result(found, goal)


def _procedure(goal: ThroughputGoal) -> Procedure[Conclusion]:
    return qualification.procedure(goal) if goal.qualifies_tester else _bisect_and_verify(goal)


def _bisect_and_verify(goal: ThroughputGoal) -> Procedure[Conclusion]:
    lowers: list[int] = []  # loads found lossless, ascending; the last one is the lower bound
    uppers: list[tuple[int, Finding]] = []  # loads found lossy or short, descending
    reopenings = 0
    yield from _place(goal, goal.max_load_fps, "maximum", lowers, uppers)
    while True:
        width = _width(goal, reopenings)
        while (load := _middle(goal, lowers, uppers, width)) is not None:
            yield from _place(goal, load, "bisection", lowers, uppers)
        wrong = yield from _verify(goal, lowers, uppers)
        if not wrong:
            concluded = _concluded(goal, lowers, uppers, reopenings)
            yield from _close(goal, concluded)
            return concluded
        if reopenings == goal.max_reopenings:
            return Conclusion(
                type=OutcomeType.UNSTABLE,
                reason=f"verification contradicted {' and '.join(sorted(wrong))}"
                f" after {reopenings} of {goal.max_reopenings} re-openings",
                reopenings=reopenings,
                lower_fps=lowers[-1] if lowers else None,
                upper_fps=uppers[-1][0] if uppers else None,
            )
        reopenings += 1
        contradicted = wrong.get("lower bound", wrong.get("upper bound"))
        width = _width(goal, reopenings)
        aside = _away(goal, width, lowers, uppers, contradicted, from_lower="lower bound" in wrong)
        if aside is not None:
            yield from _place(goal, aside, "bisection", lowers, uppers)
        elif "lower bound" in wrong:
            uppers.append((lowers.pop(), wrong["lower bound"]))
        else:
            lowers.append(uppers.pop()[0])


def _width(goal: ThroughputGoal, reopenings: int) -> float:
    """How wide (0..1, of the upper end) the interval may be after so many re-openings."""
    if goal.most_relative_width is None:
        return goal.relative_width
    return min(goal.most_relative_width, goal.relative_width * float(2**reopenings))


def _away(
    goal: ThroughputGoal,
    width: float,
    lowers: list[int],
    uppers: list[tuple[int, Finding]],
    contradicted: Finding | None,
    *,
    from_lower: bool,
) -> int | None:
    """Take a contradicted load for neither bound; return the load that widens the interval as allowed.

    Returns None and changes nothing where the goal allows no wider interval, or no loss contradicts.
    """
    if (
        goal.most_relative_width is None
        or not lowers
        or not uppers
        or contradicted not in (Finding.LOSSY, Finding.LOSSLESS)
    ):
        return None
    lower, upper = lowers[-1], uppers[-1][0]
    load = max(goal.min_load_fps, upper - int(width * upper)) if from_lower else int(lower / (1 - width))
    load = min(load, goal.max_load_fps)
    if not (load < lower if from_lower else load > upper):
        return None
    while from_lower and lowers and lowers[-1] >= load:
        lowers.pop()
    while not from_lower and uppers and uppers[-1][0] <= load:
        uppers.pop()
    return load


def _middle(
    goal: ThroughputGoal, lowers: list[int], uppers: list[tuple[int, Finding]], width: float
) -> int | None:
    return middle(goal, lowers[-1] if lowers else None, uppers[-1][0] if uppers else None, width)


def _place(
    goal: ThroughputGoal, load: int, phase: str, lowers: list[int], uppers: list[tuple[int, Finding]]
) -> Generator[Step, JudgedTrial, None]:
    finding = yield from probe(goal, load, phase, goal.short_limit)
    if finding is Finding.LOSSLESS:
        lowers.append(load)
    else:
        uppers.append((load, finding))


def _verify(
    goal: ThroughputGoal, lowers: list[int], uppers: list[tuple[int, Finding]]
) -> Generator[Step, JudgedTrial, dict[str, Finding]]:
    wrong: dict[str, Finding] = {}
    for _ in range(goal.verification_trials if lowers else 0):
        finding = yield from probe(goal, lowers[-1], "verify lower", goal.short_limit)
        if finding is not Finding.LOSSLESS:
            wrong["lower bound"] = finding
    lossless = 0
    disturbed = bool(uppers) and uppers[-1][1] is Finding.DISTURBED
    for _ in range(goal.verification_trials if uppers and not disturbed else 0):
        load, before = uppers[-1]
        needed = 1 if before is Finding.SHORT else goal.short_limit
        finding = yield from probe(goal, load, "verify upper", needed)
        lossless += finding is Finding.LOSSLESS
        if finding is Finding.LOSSY:
            uppers[-1] = (load, finding)
    if uppers and 2 * lossless > goal.verification_trials:
        wrong["upper bound"] = Finding.LOSSLESS
    return wrong


def _close(goal: ThroughputGoal, concluded: Conclusion) -> Generator[Step, JudgedTrial, None]:
    """Try half of what was found, and a load well above it; `contradictions` says what that says."""
    lower, upper = concluded.lower_fps, concluded.upper_fps
    if not goal.closes or concluded.type is not OutcomeType.MEASURED or lower is None or upper is None:
        return
    loads = (max(1, lower // 2), closing.above_fps(upper, goal.max_load_fps))
    for load in loads:
        if load is not None:
            yield from probe(goal, load, closing.PHASE, goal.short_limit)


def _concluded(
    goal: ThroughputGoal, lowers: list[int], uppers: list[tuple[int, Finding]], reopenings: int
) -> Conclusion:
    lower = lowers[-1] if lowers else None
    upper, kind = uppers[-1] if uppers else (None, None)
    envelope, unit = goal.envelope_fps, goal.offer.unit
    outcome, reason = OutcomeType.MEASURED, ""
    if kind is Finding.DISTURBED:
        outcome = OutcomeType.UNSTABLE
        reason = f"no valid trial at {upper} {unit} in {1 + goal.max_repeats}"
    elif lower is None and kind is Finding.SHORT:
        outcome, reason = OutcomeType.TESTER_LIMITED, "the tester fell short already at the lowest load"
    elif lower is None:
        outcome = OutcomeType.AT_FLOOR
        reason = f"loss already at the lowest load, {goal.min_load_fps} {unit}"
    elif upper is None and goal.medium_fps is not None and lower >= goal.medium_fps:
        reason = "the full rate of the medium"
    elif kind is Finding.SHORT:
        outcome, reason = OutcomeType.TESTER_LIMITED, f"the tester could not send {upper} {unit}"
    elif envelope is not None and (lower >= envelope or (upper or 0) > envelope):
        outcome = OutcomeType.TESTER_LIMITED
        reason = f"the tester itself is qualified up to {envelope} {unit}"
    elif upper is None:
        outcome, reason = OutcomeType.AT_CEILING, f"{lower} {unit} is the highest load of the search"
    return Conclusion(type=outcome, reason=reason, reopenings=reopenings, lower_fps=lower, upper_fps=upper)


def _result(ended: Run[Conclusion], goal: ThroughputGoal) -> SearchResult:
    trials: Sequence[Tried] = ended.trials
    conclusion = ended.found or Conclusion(type=ended.type, reason=ended.reason)
    lower, upper, unit = conclusion.lower_fps, conclusion.upper_fps, goal.offer.unit
    quality: list[str] = []
    if conclusion.reopenings:
        quality.append(f"interval re-opened {conclusion.reopenings} of {goal.max_reopenings} times")
    quality.extend(_wider(goal, lower, upper))
    for load in (lower, upper):
        kinds = {trial.lossless for trial in trials if trial.valid and trial.load == load}
        if len(kinds) == 2:
            quality.append(f"{load} {unit} was found both with and without loss")
    quality.extend(_forwarded_more(trials, upper, unit))
    reason = conclusion.reason
    if goal.qualifies_tester and conclusion.type is OutcomeType.UNSTABLE:
        reason = f"{_taken_away(trials)}{reason}"
    statement = ""
    if conclusion.type is not OutcomeType.MEASURED and conclusion.type is not OutcomeType.INVALID:
        statement = f"no loss up to {lower} {unit}" if lower is not None else conclusion.reason
        if conclusion.type is OutcomeType.UNSTABLE:
            statement = "no load could be confirmed as bound" + _agreed(trials, unit)
    return SearchResult(
        type=conclusion.type,
        lower=proven(trials, lower, lossless=True),
        upper=proven(trials, upper, lossless=False),
        trials=tuple(trial.seq for trial in trials),
        reopenings=conclusion.reopenings,
        statement=statement,
        reason=reason,
        quality=tuple(quality),
        error=ended.error,
    )


def _taken_away(trials: Sequence[Tried]) -> str:
    away = sum(trial.validity in _DISTURBED for trial in trials)
    return f"the machine took its CPUs away in {away} of {len(trials)} trials; " if away else ""


def _agreed(trials: Sequence[Tried], unit: str) -> str:
    """Say up to which load, and from which on, all valid trials of an unstable search agree."""
    clean, lossy = agreed_fps(trials)
    parts = [f"no loss up to {clean} {unit}"] if clean is not None else []
    parts += [f"loss in every trial from {lossy} {unit} on"] if lossy is not None else []
    return f"; {', '.join(parts)}" if parts else ""


def _wider(goal: ThroughputGoal, lower: int | None, upper: int | None) -> list[str]:
    """Remark an interval that could only be closed wider than was first asked for."""
    if goal.most_relative_width is None or lower is None or upper is None:
        return []
    if upper - lower <= max(1, goal.relative_width * upper):
        return []
    return [
        f"the answer lies between {lower} and {upper} {goal.offer.unit}, {(upper - lower) / upper:.1%} wide:"
        f" trials contradicted an interval of {100 * goal.relative_width:.3g}%"
    ]


def _forwarded_more(trials: Sequence[Tried], upper: int | None, unit: str) -> list[str]:
    """Remark a valid trial that forwarded far more than the upper bound; overload alone does not do that.

    Sporadic loss and a soft knee look so; a strict zero-loss answer can then lie far below the device's rate.
    """
    rates = [(trial.carried_per_s, trial) for trial in trials if trial.valid]
    if upper is None or not rates:
        return []
    rate_fps, best = max(rates, key=lambda entry: entry[0])
    if rate_fps <= upper * MORE_FORWARDED:
        return []
    return [
        f"trial {best.seq} forwarded {rate_fps:.0f} {unit} of {best.load} with a loss ratio of"
        f" {best.loss_ratio:.2g}:"
        " what bounds this answer is not overload alone"
    ]

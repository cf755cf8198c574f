"""The tester's own qualification on the bare wire: the highest load that it carries and that holds.

Pure, like `bisection`, whose `search` runs it for a goal that qualifies the tester. The procedure:

1. one trial at the highest load, then one at the geometric middle while the interval is wider than the goal
   allows, as in a bisection;
2. `verification_trials` more at the highest load without loss. A load that does not hold becomes the upper
   end, and the interval below it is searched, at most `max_reopenings` times; after that the next lower load
   that had no loss is verified, and so on, until one holds;
3. a load at which no trial was valid within `max_repeats` is unknown, not too high. It ends the interval for
   the time being; once a load below it holds, it is forgotten and the search goes on upwards from there, at
   most `MOST_RETURNS` times.

Nothing is claimed of loads above an unknown one. A machine that disturbs every trial makes the qualification
`unstable`: it cannot be told what the tester carries, and nothing broke.
"""

from __future__ import annotations

from collections.abc import Generator

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.search.probing import Conclusion, Finding, Probing, middle, probe
from bmwg.methodology.search.stepwise import Procedure, Step
from bmwg.methodology.trial.judging import JudgedTrial

MOST_RETURNS = 2  # choice: each may cost all the repeats of some loads


class _Loads:
    """What is known of the loads so far. `lowers` ascend, `uppers` descend; `unknown` ends the interval."""

    def __init__(self, goal: ThroughputGoal) -> None:
        self.goal = goal
        self.lowers: list[int] = []
        self.uppers: list[tuple[int, Finding]] = []
        self.unknown: int | None = None
        self.fallen: list[int] = []  # without loss once, and not when they were tried again

    @property
    def lower(self) -> int | None:
        """The highest load without loss."""
        return self.lowers[-1] if self.lowers else None

    @property
    def end(self) -> int | None:
        """The upper end of the interval, whatever it is worth; None when the highest load had no loss."""
        if self.unknown is not None:
            return self.unknown
        if self.uppers:
            return self.uppers[-1][0]
        return None if self.lower == self.goal.max_load_fps else self.goal.max_load_fps

    def take(self, load: int, finding: Finding) -> None:
        """Keep what was found at a load within the interval."""
        if finding is Finding.LOSSLESS:
            self.lowers.append(load)
        elif finding is Finding.DISTURBED:
            self.unknown = load
        else:
            self.uppers.append((load, finding))
            self.unknown = None  # it lies above

    def fall(self, finding: Finding) -> None:
        """Keep that the highest load without loss did not hold."""
        load = self.lowers.pop()
        self.fallen.append(load)
        self.take(load, finding)


def procedure(goal: ThroughputGoal) -> Procedure[Conclusion]:
    """Qualify the tester; see the module."""
    loads = _Loads(goal)
    reopenings = returns = 0
    narrowing = True
    yield from _try(goal, loads, goal.max_load_fps, "maximum")
    while True:
        while narrowing and (load := middle(goal, loads.lower, loads.end)) is not None:
            yield from _try(goal, loads, load, "bisection")
        if loads.lower is None:
            return _concluded(goal, loads, reopenings)
        finding = yield from _holds(goal, loads.lower)
        if finding is not Finding.LOSSLESS:
            loads.fall(finding)
            narrowing = reopenings < goal.max_reopenings
            reopenings += narrowing
        elif loads.unknown is not None and narrowing and returns < MOST_RETURNS:
            loads.unknown = None
            returns += 1
        else:
            return _concluded(goal, loads, reopenings)


def _try(goal: ThroughputGoal, loads: _Loads, load: int, phase: str) -> Generator[Step, JudgedTrial, None]:
    loads.take(load, (yield from probe(goal, load, phase, goal.short_limit)))


def _holds(goal: ThroughputGoal, load: int) -> Probing:
    """Verify a load; the first finding that is not lossless, if there is one."""
    for _ in range(goal.verification_trials):
        finding = yield from probe(goal, load, "verify lower", goal.short_limit)
        if finding is not Finding.LOSSLESS:
            return finding
    return Finding.LOSSLESS


def _concluded(goal: ThroughputGoal, loads: _Loads, reopenings: int) -> Conclusion:
    lower, unit = loads.lower, goal.offer.unit
    upper, kind = loads.uppers[-1] if loads.uppers else (None, None)
    outcome, reason = OutcomeType.MEASURED, ""
    if lower is None and (loads.unknown is not None or loads.fallen):
        outcome = OutcomeType.UNSTABLE  # nothing is known of the loads below
        lowest = min(load for load in (loads.unknown, upper, *loads.fallen) if load is not None)
        reason = f"no load held when it was tried again; the lowest was {lowest} {unit}"
        if loads.unknown == lowest:
            reason = f"no valid trial at {lowest} {unit} in {1 + goal.max_repeats}"
    elif lower is None:
        outcome = OutcomeType.AT_FLOOR
        reason = f"loss already at the lowest load, {goal.min_load_fps} {unit}"
        if kind is Finding.SHORT:
            reason = f"the tester fell short already at the lowest load, {goal.min_load_fps} {unit}"
    elif lower == goal.max_load_fps:
        outcome, reason = OutcomeType.AT_CEILING, f"{lower} {unit} is the highest load of the search"
    elif upper is None or (loads.unknown is not None and middle(goal, lower, upper) is not None):
        outcome = OutcomeType.AT_CEILING
        reason = f"no load above {lower} {unit} had a valid trial: the tester may carry more"
    elif kind is Finding.SHORT:
        reason = f"the tester fell short of {upper} {unit}, which is what this search measures"
    return Conclusion(type=outcome, reason=reason, reopenings=reopenings, lower_fps=lower, upper_fps=upper)

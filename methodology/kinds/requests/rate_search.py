"""The search for a rate of requests, and the trials after it: those of frames, as far as requests need them.

A search for no loss answers for what it found the device in. So it is tried again, as for frames: half of
what was found and a load above it (`bisection`), the upper bound once more after such a rest (a proxy that
falls when it is overloaded passes it then), short checks below what was found (`steadiness`), and longer
trials there, which no buffer carries. One lost request in any of these is enough: a request is late after
hundreds of milliseconds, and a neighbour takes no CPU for so long. The checks above what was found are left
out: what comes through in time of an overload is a matter of queues, not of a rate. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.requests import phase_search
from bmwg.methodology.kinds.requests.rate import RateTrial, RequestRate, judged
from bmwg.methodology.kinds.requests.records import RequestsResult, RequestsSpec, Workload
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search import bisection, steadiness
from bmwg.methodology.search.closing import PHASE, Ended, joined, named
from bmwg.methodology.search.contradictions import contradiction
from bmwg.methodology.search.goal import SearchResult, ThroughputGoal
from bmwg.methodology.search.stepwise import Procedure, run, valid_trial

Measure = Callable[[RequestsSpec], Tried[RequestsResult]]
INDICATIVE_CHECKS = 12  # choice: what loses in a quarter of its trials passes them in 3 of 100 searches
LONGER = 5  # choice: times a trial of the search; of a buffer that holds one, a fifth is left
LONG_ENOUGH_S = 60.0  # rfc2544-24: no trial after the search is longer
RESTS = 2  # choice: an upper bound that passes by luck does so half of the time
_TRIED_AGAIN = (OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED)


def settings_of(spec: RequestsSpec) -> Mapping[str, Any]:
    """Return how the rate of a planned cell is looked for: a profile's `rate` entry."""
    assert spec.search is not None  # of a cell whose loads follow from each other
    return spec.search


def goal(spec: RequestsSpec) -> ThroughputGoal:
    """Return what the search of a planned cell is to find; loads are requests per second."""
    settings = settings_of(spec)
    return ThroughputGoal(
        offer=RequestRate(of=spec),
        duration_s=float(settings["duration_s"]),
        min_load_fps=settings["min_rps"],
        max_load_fps=settings["max_rps"],
        relative_width=float(settings["relative_width"]),
        max_repeats=settings.get("max_repeats", 1),
        short_limit=1,
        closes=True,
    )


def below(goal: ThroughputGoal) -> float:
    """How far (0..1) below what was found the trials after a search are."""
    return max(steadiness.BELOW, goal.relative_width / 2)


def search(measure: Measure, planned: RequestsSpec) -> SearchResult:
    """Search and try again what was found; `measure` runs and records one repetition.

    Transactions are searched as RFC 9411 says (`phase_search`).
    """
    if planned.workload is Workload.TRANSACTIONS:
        return phase_search.search(measure, planned)
    wanted, settings = goal(planned), settings_of(planned)
    taken: list[RateTrial] = []

    def one(spec: RequestsSpec) -> Any:
        tried = measure(spec)
        taken.append(judged(tried.seq, tried.result, spec))
        return taken[-1]

    found = bisection.search(one, wanted)
    if found.type not in _TRIED_AGAIN or found.lower is None:
        return found
    ended = run(_after(found, wanted, settings), one)
    found = replace(found, trials=tuple(trial.seq for trial in taken), error=ended.error)
    said = ended.found
    if said is None:
        why = f"what was found could not be tried again: {ended.reason}"
        return replace(found, type=ended.type, statement=why, reason=why)
    found = replace(found, quality=(*found.quality, *said.remarks))
    assert found.lower is not None
    against = said.refused or _contradicted(
        [trial for trial in taken if trial.spec.duration_s == wanted.duration_s], found
    )
    if against:
        return replace(found, type=OutcomeType.UNSTABLE, statement=against, reason=against)
    return found


def _contradicted(trials: Sequence[RateTrial], found: SearchResult) -> str:
    """Say which trials contradict a bound, each bound for itself.

    What came through above the lower one is no rate to hold the answer against: once a queue is as long as an
    answer may be late, all that is behind it is.
    """
    assert found.lower is not None
    lower, upper = found.lower.load_fps, found.upper.load_fps if found.upper is not None else None
    below = [trial for trial in trials if trial.load <= lower]
    return contradiction(below, lower_fps=lower, upper_fps=None) or contradiction(
        trials, lower_fps=None, upper_fps=upper
    )


def _after(found: SearchResult, goal: ThroughputGoal, settings: Mapping[str, Any]) -> Procedure[Ended]:
    assert found.lower is not None
    lower = found.lower.load_fps
    if found.type is OutcomeType.MEASURED and found.upper is not None:
        ended = yield from _rested(goal, lower, found.upper.load_fps)
        if ended.refused:
            return ended
    count = INDICATIVE_CHECKS if settings.get("indicative", False) else steadiness.CHECKS
    checks = steadiness.Checks(
        offer=goal.offer,
        load=lower,
        upper=None,
        max_load=goal.max_load_fps,
        duration_s=goal.duration_s,
        count=count,
        below=below(goal),
        loss_ratio=0.0,
        exceed_ratio=0.0,
        max_repeats=goal.max_repeats,
        short_limit=goal.short_limit,
    )
    ended = yield from steadiness.procedure(checks)
    if ended.refused:
        return ended
    return joined(ended, (yield from _longer(goal, checks.lower_load)))


def _rested(goal: ThroughputGoal, lower: int, upper: int) -> Procedure[Ended]:
    """Try the upper bound after a rest at half of what was found, again where it passes."""
    passed: list[int] = []
    unit, half = goal.offer.unit, max(1, lower // 2)
    for _ in range(RESTS):
        rest = yield from _valid(goal, half, goal.duration_s)
        if rest is not None and rest.lost:
            return Ended(refused=f"{half} {unit} lost {rest.lost} {goal.offer.thing}s (trial {rest.seq})")
        trial = yield from _valid(goal, upper, goal.duration_s)
        if trial is None or trial.lost:
            return Ended()
        passed.append(trial.seq)
    return Ended(
        refused=f"after a rest {upper} {unit} lost nothing ({named(passed)}), and before it did: the device"
        " is not the same from load to load, or from trial to trial"
    )


def _longer(goal: ThroughputGoal, load: int) -> Procedure[Ended]:
    """Try a load somewhat below what was found for `LONGER` times a trial, in trials of a minute at most."""
    long_s = min(LONG_ENOUGH_S, LONGER * goal.duration_s)
    unit, thing = goal.offer.unit, goal.offer.thing
    held: list[int] = []
    for _ in range(math.ceil(LONGER * goal.duration_s / long_s)):
        trial = yield from _valid(goal, load, long_s)
        if trial is None:
            said = f"the generator fell short of {load} {unit} for {long_s:g} s: a buffer's part is unknown"
            return Ended(remarks=(said,))
        if trial.lost:
            return Ended(
                refused=f"{load} {unit} lost {trial.lost} of {trial.sent} {thing}s in {long_s:g} s (trial"
                f" {trial.seq}): a buffer carries trials of {goal.duration_s:g} s, or the device is not the"
                " same from trial to trial"
            )
        held.append(trial.seq)
    return Ended(remarks=(f"{load} {unit} held for {long_s:g} s ({named(held)})",))


def _valid(goal: ThroughputGoal, load: int, duration_s: float) -> Procedure[Any]:
    spec = goal.offer.spec(load, duration_s)
    return (yield from valid_trial(spec, PHASE, max_repeats=goal.max_repeats, short_limit=goal.short_limit))


def replayed(planned: RequestsSpec, executions: Sequence[Tried[RequestsResult]]) -> SearchResult:
    """Return what recorded repetitions say, by the search run again over them.

    A deployment that broke ends its search, and the next one begins anew.
    """
    last = executions[-1].deployment if executions else ""
    left = iter([execution for execution in executions if execution.deployment == last])

    def recorded(spec: RequestsSpec) -> Tried[RequestsResult]:
        tried = next(left)
        asked = tried.spec
        if (asked.load, asked.unit, asked.duration_s) != (spec.load, spec.unit, spec.duration_s):
            raise ValueError(f"repetition {tried.seq}: {asked.words}, the search asks for {spec.words}")
        return tried

    return search(recorded, planned)


def why_not(found: SearchResult, planned: RequestsSpec) -> str:
    """Say why a search gave no rate; empty where it gave one."""
    if found.type is OutcomeType.MEASURED:
        return ""
    if planned.workload is Workload.TRANSACTIONS:
        return found.reason or found.statement
    if found.type is OutcomeType.TESTER_LIMITED and found.lower is not None:
        return f"{found.reason}; no request was lost up to {found.lower.load_fps} requests/s"
    settings = settings_of(planned)
    return found.reason or {
        OutcomeType.AT_CEILING: f"no request lost up to {settings['max_rps']} requests/s, the highest load",
        OutcomeType.AT_FLOOR: f"requests were lost at {settings['min_rps']} requests/s, the lowest load",
    }.get(found.type, "")

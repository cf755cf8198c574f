"""Every algorithm as one function from a bench of models to an answer, with what it claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from bmwg.methodology.believed import above_half, set_aside
from bmwg.methodology.contradictions import contradiction
from bmwg.methodology.mlr import engine
from bmwg.methodology.mlr import goal as goals
from bmwg.methodology.mlr.goal import ControllerInput, SearchGoal
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import Claim
from bmwg.methodology.records import Direction, OutcomeType
from bmwg.methodology.search import bisection, closing, steadiness, stepwise, sustained, tst009
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.search.tst009 import Tst009Goal
from bmwg.methodology.traffic import Traffic

FRAME_OCTETS = 64
MIN_LOAD_FPS = 10_000
MAX_LOAD_FPS = 1_500_000
_QUICK_CHECKS = 8  # profiles/quick.yaml
_QUICK_BELOW = 0.2  # profiles/quick.yaml
_REPEATS = 20  # choice: where 45 % of trials are not valid, 20 repeats leave less than 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search said: bounds in frames/s (None: it has none), and what it cost."""

    type: OutcomeType
    lower_fps: int | None
    upper_fps: int | None
    traffic_s: float
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Algorithm:
    """A named algorithm with its parameters. `width_fps` is how far apart its bounds may be at a load.

    `trials_to_fail` is how many trials in a row have to lose frames before a load counts as too high.
    """

    name: str
    claim: Claim
    relative_width: float
    step_fps: int
    shortest_s: float
    trials_to_fail: int
    answer: Callable[[ModelBench], Answer]

    def width_fps(self, load_fps: float) -> float:
        """Return the width (frames/s) that the algorithm promises around a load."""
        return max(self.step_fps, self.relative_width * load_fps)


_Goal = TypeVar("_Goal", ThroughputGoal, Tst009Goal, ControllerInput)


def _both(goal: _Goal) -> _Goal:
    return replace(goal, offer=Traffic(frame_octets=FRAME_OCTETS, direction=Direction.BOTH))


def _standing(
    bench: ModelBench,
    kind: OutcomeType,
    lower_fps: int | None,
    upper_fps: int | None,
    claim: goals.Claim | None = None,
) -> OutcomeType:
    """Return the type of a search for no loss after its trials were held against it (docs/adr/0260, 0262)."""
    if kind in (OutcomeType.UNSTABLE, OutcomeType.INVALID):
        return kind
    most = bench.policy.most_set_aside_ratio
    longest_s = None if claim is None else claim.duration_s
    if most is not None and set_aside(above_half(bench.trials, lower_fps, longest_s)).ratio > most:
        return OutcomeType.UNSTABLE
    if contradiction(bench.trials, lower_fps=lower_fps, upper_fps=upper_fps, claim=claim):
        return OutcomeType.UNSTABLE
    return kind


def _offer(bench: ModelBench) -> Traffic:
    direction = Direction.BOTH if bench.reverse else Direction.FORWARD
    return Traffic(frame_octets=FRAME_OCTETS, direction=direction)


def _closed(
    bench: ModelBench,
    kind: OutcomeType,
    claim: Claim,
    lower_fps: int | None,
    upper_fps: int | None,
    short_limit: int,
    width: float = 0.0,
    *,
    indicative: bool,
    verified: bool = False,
) -> tuple[OutcomeType, int | None, int | None]:
    """Return type, lower and upper end of a search after what it found was tried again.

    `width` (0..1) is that of a goal of MLRsearch, a `verified` answer has only its upper end tried.
    """
    if kind is not OutcomeType.MEASURED or lower_fps is None:
        return kind, lower_fps, upper_fps
    again = _again(bench, claim, lower_fps, upper_fps, short_limit, width, indicative=indicative)
    steps = closing.upper_end(again) if verified else closing.procedure(again)
    run = stepwise.run(steps, bench.measure)
    ended = run.found or closing.Ended()
    return (
        _after(run, kind),
        lower_fps if ended.lower is None else ended.lower,
        upper_fps if ended.upper is None else ended.upper,
    )


def _again(
    bench: ModelBench,
    claim: Claim,
    lower_fps: int,
    upper_fps: int | None,
    short_limit: int,
    width: float,
    *,
    indicative: bool,
) -> closing.Closing:
    """Return what is tried again of bounds. Compare `Profile.closing`."""
    of_share = bool(width and claim.exceed_ratio and indicative)
    tried = [one for one in bench.trials if one.valid and one.spec.duration_s == claim.duration_s]
    return closing.Closing(
        offer=_offer(bench),
        load=lower_fps,
        half=max(1, lower_fps // 2),
        duration_s=claim.duration_s,
        loss_ratio=claim.loss_ratio,
        exceed_ratio=claim.exceed_ratio,
        max_repeats=_REPEATS,
        short_limit=short_limit,
        above_fps=closing.above_fps(upper_fps, MAX_LOAD_FPS) if upper_fps else None,
        tried=tuple(tried),
        upper=upper_fps if indicative else None,
        upper_ratio=claim.exceed_ratio if of_share else closing.EDGE_RATIO,
        step=width if of_share else 0.0,
        max_load=MAX_LOAD_FPS,
        lowest=min(MIN_LOAD_FPS, lower_fps // 4) if of_share and not claim.loss_ratio else None,
    )


def _after(run: stepwise.Run[closing.Ended], kind: OutcomeType) -> OutcomeType:
    """Return the type of an answer after one step of the trials after its search."""
    if run.found is None:
        return run.type
    return OutcomeType.UNSTABLE if run.found.refused else kind


def _sustained(
    bench: ModelBench,
    kind: OutcomeType,
    claim: Claim,
    lower_fps: int | None,
    upper_fps: int | None,
    short_limit: int,
) -> tuple[OutcomeType, int | None]:
    """Return type and the part of a load that no buffer carried, for a goal that forgives trials."""
    if lower_fps is None or kind in (OutcomeType.UNSTABLE, OutcomeType.INVALID) or not claim.exceed_ratio:
        return kind, lower_fps
    long = sustained.Sustained(
        offer=_offer(bench),
        found=lower_fps,
        load=lower_fps,
        upper=upper_fps,
        duration_s=claim.duration_s,
        loss_ratio=claim.loss_ratio,
        max_repeats=_REPEATS,
        short_limit=short_limit,
    )
    if not long.due:
        return kind, lower_fps
    run = stepwise.run(sustained.procedure(long), bench.measure)
    kind = _after(run, kind)
    share = run.found.came_through if run.found is not None else None
    return kind, lower_fps if share is None else int(lower_fps * share)


def _checked(
    bench: ModelBench,
    kind: OutcomeType,
    claim: Claim,
    lower_fps: int | None,
    upper_fps: int | None,
    below: float = steadiness.BELOW,
    *,
    width: float = 0.0,
    indicative: bool = False,
) -> tuple[OutcomeType, int | None]:
    """Return type and lower end of a search after its device was checked, as the two kinds of profile do.

    With the `width` of a goal the lower end may move where the load of the checks fell.
    """
    if kind is not OutcomeType.MEASURED or lower_fps is None:
        return kind, lower_fps
    more = steadiness.MORE_OF_SHARE if claim.exceed_ratio else steadiness.MORE
    checks = steadiness.Checks(
        offer=_offer(bench),
        load=lower_fps,
        upper=upper_fps,
        max_load=MAX_LOAD_FPS,
        duration_s=claim.duration_s,
        count=_QUICK_CHECKS if indicative else steadiness.CHECKS,
        most=more * _QUICK_CHECKS if indicative else steadiness.CHECKS,
        apart_ratio=steadiness.APART_RATIO if indicative else 0.0,
        lossy_ratio=steadiness.LOSSY_RATIO if indicative else 0.0,
        control_load=min(MIN_LOAD_FPS, lower_fps // 4) if indicative else None,
        below=max(below, _QUICK_BELOW) if indicative and not claim.exceed_ratio else below,
        loss_ratio=claim.loss_ratio,
        exceed_ratio=claim.exceed_ratio,
        max_repeats=_REPEATS,
        short_limit=2,
    )
    run = stepwise.run(steadiness.procedure(checks), bench.measure)
    if run.found is not None and run.found.fell is not None:
        again = _again(bench, claim, lower_fps, upper_fps, 2, width, indicative=indicative)
        run = stepwise.run(closing.lower_end(again, run.found), bench.measure)
        if run.found is not None and run.found.lower is not None:
            lower_fps = run.found.lower
    return _after(run, kind), lower_fps


def bisect(
    *,
    duration_s: float = 60.0,
    width: float = 0.005,
    verification: int = 1,
    most_width: float | None = None,
    reopenings: int = 1,
    indicative: bool = False,
) -> Algorithm:
    """Return the bisection of RFC 2544 26.1; with `most_width` its interval may widen (docs/adr/0232).

    `indicative`, here and below, checks for states as the quick profile does (docs/adr/0371).
    """
    goal = ThroughputGoal(
        offer=Traffic(frame_octets=FRAME_OCTETS),
        duration_s=duration_s,
        min_load_fps=MIN_LOAD_FPS,
        max_load_fps=MAX_LOAD_FPS,
        relative_width=width,
        verification_trials=verification,
        max_repeats=_REPEATS,
        max_reopenings=reopenings,
        most_relative_width=most_width,
        closes=True,
    )

    def answer(bench: ModelBench) -> Answer:
        found = bisection.search(bench.measure, _both(goal) if bench.reverse else goal)
        lower = found.lower.load_fps if found.lower else None
        upper = found.upper.load_fps if found.upper else None
        below = max(steadiness.BELOW, most_width or 0.0)
        kind, _, _ = _closed(
            bench, found.type, claim, lower, upper, goal.short_limit, indicative=indicative, verified=True
        )
        kind, _ = _checked(bench, kind, claim, lower, upper, below, indicative=indicative)
        return Answer(
            type=_standing(bench, kind, lower, upper),
            lower_fps=lower,
            upper_fps=upper,
            traffic_s=bench.traffic_s,
            trials=bench.count,
        )

    claim = Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=duration_s)
    return Algorithm(
        name=f"bisection, {duration_s:g} s, width {width:g}, {verification} more trials a bound",
        claim=claim,
        relative_width=width if most_width is None else most_width,
        step_fps=1,
        shortest_s=duration_s,
        trials_to_fail=1,
        answer=answer,
    )


def verify_loss(
    *, duration_s: float = 60.0, step_fps: int = 5000, trials: int = 2, indicative: bool = False
) -> Algorithm:
    """Return TST009's binary search, `trials` of a lossy load in total; 1 is without loss verification.

    Its claim with r trials is an exceed ratio of 1 - 1/r, as RFC 9971 4.10.3 states for r = 2.
    """
    goal = Tst009Goal(
        offer=Traffic(frame_octets=FRAME_OCTETS),
        duration_s=duration_s,
        step_fps=step_fps,
        max_load_fps=MAX_LOAD_FPS,
        max_trials=trials,
        max_repeats=_REPEATS,
    )

    def answer(bench: ModelBench) -> Answer:
        found = tst009.search(bench.measure, _both(goal) if bench.reverse else goal)
        lower = found.lower.load_fps if found.lower else None
        upper = found.upper.load_fps if found.upper else None
        kind, lower, upper = _closed(
            bench, found.type, claim, lower, upper, goal.short_limit, indicative=indicative
        )
        kind, lower = _checked(bench, kind, claim, lower, upper, indicative=indicative)
        return Answer(
            type=_standing(bench, kind, lower, upper),
            lower_fps=lower,
            upper_fps=upper,
            traffic_s=bench.traffic_s,
            trials=bench.count,
        )

    claim = Claim(loss_ratio=0.0, exceed_ratio=1 - 1 / trials, duration_s=duration_s)
    return Algorithm(
        name=f"TST009, {duration_s:g} s, step {step_fps} frames/s, r = {trials}",
        claim=claim,
        relative_width=0.0,
        step_fps=step_fps,
        shortest_s=duration_s,
        trials_to_fail=trials,
        answer=answer,
    )


def mlrsearch(
    *,
    duration_s: float = 60.0,
    sum_s: float | None = None,
    loss_ratio: float = 0.0,
    exceed_ratio: float = 0.0,
    width: float = 0.005,
    warmup_s: float = 0.0,
    initial_s: float = 1.0,
    indicative: bool = False,
) -> Algorithm:
    """Return MLRsearch with one goal."""
    goal = SearchGoal(
        name="studied",
        goal_final_trial_duration_s=duration_s,
        goal_duration_sum_s=duration_s if sum_s is None else sum_s,
        goal_loss_ratio=loss_ratio,
        goal_exceed_ratio=exceed_ratio,
        goal_width=width,
        goal_initial_trial_duration_s=min(initial_s, duration_s),
    )
    wanted = ControllerInput(
        goals=(goal,),
        offer=Traffic(frame_octets=FRAME_OCTETS),
        min_load_fps=MIN_LOAD_FPS,
        max_load_fps=MAX_LOAD_FPS,
        warmup_s=warmup_s,
        max_trials=500,
        max_repeats=_REPEATS,
    )

    def answer(bench: ModelBench) -> Answer:
        found = engine.search(bench.measure, _both(wanted) if bench.reverse else wanted)
        result = found.results[0]
        kind = OutcomeType.MEASURED if result.regular else OutcomeType.UNSTABLE
        if not found.ended and not result.regular:
            kind = OutcomeType.INVALID
        elif not result.regular and found.tester_limit_fps is not None:
            kind = OutcomeType.TESTER_LIMITED
        lower = result.relevant_lower_bound_fps
        lower = lower if lower is not None else result.effective_lower_fps
        upper = result.relevant_upper_bound_fps
        bound = lower
        kind, lower, upper = _closed(
            bench, kind, claim, lower, upper, wanted.short_limit, width, indicative=indicative
        )
        kind, lower = _checked(bench, kind, claim, lower, upper, width=width, indicative=indicative)
        kind, carried = _sustained(bench, kind, claim, lower, upper, wanted.short_limit)
        return Answer(
            type=_standing(bench, kind, bound, upper, goals.read_code(goal.code)),
            lower_fps=carried,
            upper_fps=upper,
            traffic_s=bench.traffic_s,
            trials=bench.count,
        )

    warm = f", warm-up {warmup_s:g} s" if warmup_s else ""
    warm += f", first trials {initial_s:g} s" if initial_s > 1 else ""
    claim = Claim(loss_ratio=loss_ratio, exceed_ratio=exceed_ratio, duration_s=duration_s)
    return Algorithm(
        name=f"MLRsearch {goal.code}, width {width:g}{warm}",
        claim=claim,
        relative_width=width,
        step_fps=1,
        shortest_s=goal.initial_trial_duration_s,
        trials_to_fail=1 + int(exceed_ratio * goal.goal_duration_sum_s / duration_s),
        answer=answer,
    )

"""Every algorithm as one function from a bench of models to an answer, with what it claims.

Each is the measurement that a run makes (`measurements.throughput`), asked for by a profile made here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from bmwg.methodology.answers.believed import believed
from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.throughput import Throughput
from bmwg.methodology.mlrsearch.goal import SearchGoal
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import (
    BISECTION,
    MLRSEARCH,
    TST009,
    LatencySettings,
    SearchSettings,
)
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell, Direction, FrameFormat, OutcomeType
from bmwg.methodology.search.steadiness import CHECKS
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Claim
from bmwg.methodology.trial.judging import TrialPolicy

FRAME_OCTETS = 64
MIN_LOAD_FPS = 10_000
MAX_LOAD_FPS = 1_500_000
_QUICK_CHECKS = 8  # profiles/quick.yaml
_QUICK_WIDEST = 0.2  # profiles/quick.yaml
_REPEATS = 20  # choice: where 45 % of trials are not valid, 20 repeats leave less than 1e-7
_SHORT_LIMIT = 2  # profiles: all of them
_CELL = Cell(path="node", hosting=BAREMETAL, function="kernel-l3", network=NOTHING, frame_octets=FRAME_OCTETS)


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


def _profile(duration_s: float, search: SearchSettings, *, indicative: bool) -> Profile:
    return Profile(
        name="models",
        title="models",
        indicative=indicative,
        trial_duration_s=duration_s,
        policy=TrialPolicy(),
        search=search,
        latency=LatencySettings(duration_s=duration_s, frame_octets=()),
        paths=(),
        directions=(Direction.FORWARD,),
        frame_formats=(FrameFormat.IPV4_UDP,),
        flows=(1,),
    )


def _settings(algorithm: str, *, indicative: bool) -> SearchSettings:
    """Return the numbers that all searches share, as the two kinds of profile have them."""
    return SearchSettings(
        algorithm=algorithm,
        min_load_fps=MIN_LOAD_FPS,
        relative_width=0.005,
        short_limit=_SHORT_LIMIT,
        verification_trials=1,
        max_reopenings=1,
        most_relative_width=_QUICK_WIDEST if indicative else None,
        state_checks=_QUICK_CHECKS if indicative else CHECKS,
    )


def _answered(profile: Profile, bench: ModelBench) -> Answer:
    """Measure on a bench as a run does, with the bench's rules of when a trial counts."""
    profile = replace(profile, policy=replace(bench.policy, max_repeats=_REPEATS))
    direction = Direction.BOTH if bench.reverse else Direction.FORWARD
    asked = Asked(
        profile=profile,
        cell=replace(_CELL, direction=direction),
        outcome_id="model",
        trial=lambda spec, phase: bench.measure(spec),
        max_load_fps=MAX_LOAD_FPS,
    )
    (outcome,) = Throughput().measure(asked).outcomes
    outcome = believed(
        outcome,
        bench.trials,
        most_ratio=bench.policy.most_set_aside_ratio,
        continued=False,
        by_cpu=True,
        policy=bench.policy,
    )
    ends = interval(outcome)
    lower_fps = outcome.lower.load_fps if outcome.lower else None
    upper_fps = outcome.upper.load_fps if outcome.upper else None
    return Answer(
        type=outcome.type,
        lower_fps=lower_fps if ends is None else ends[0],
        upper_fps=upper_fps if ends is None else ends[1],
        traffic_s=bench.traffic_s,
        trials=bench.count,
    )


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
    settings = replace(
        _settings(BISECTION, indicative=indicative),
        relative_width=width,
        verification_trials=verification,
        max_reopenings=reopenings,
        most_relative_width=most_width,
    )
    return Algorithm(
        name=f"bisection, {duration_s:g} s, width {width:g}, {verification} more trials a bound",
        claim=Claim(loss_ratio=0.0, exceed_ratio=0.0, duration_s=duration_s),
        relative_width=width if most_width is None else most_width,
        step_fps=1,
        shortest_s=duration_s,
        trials_to_fail=1,
        answer=partial(_answered, _profile(duration_s, settings, indicative=indicative)),
    )


def verify_loss(
    *, duration_s: float = 60.0, step_fps: int = 5000, trials: int = 2, indicative: bool = False
) -> Algorithm:
    """Return TST009's binary search, `trials` of a lossy load in total; 1 is without loss verification.

    Its claim with r trials is an exceed ratio of 1 - 1/r, as RFC 9971 4.10.3 states for r = 2.
    """
    settings = replace(_settings(TST009, indicative=indicative), step_fps=step_fps, max_trials=trials)
    return Algorithm(
        name=f"TST009, {duration_s:g} s, step {step_fps} frames/s, r = {trials}",
        claim=Claim(loss_ratio=0.0, exceed_ratio=1 - 1 / trials, duration_s=duration_s),
        relative_width=0.0,
        step_fps=step_fps,
        shortest_s=duration_s,
        trials_to_fail=trials,
        answer=partial(_answered, _profile(duration_s, settings, indicative=indicative)),
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
    settings = replace(_settings(MLRSEARCH, indicative=indicative), goals=(goal,), warmup_s=warmup_s)
    warm = f", warm-up {warmup_s:g} s" if warmup_s else ""
    warm += f", first trials {initial_s:g} s" if initial_s > 1 else ""
    return Algorithm(
        name=f"MLRsearch {goal.code}, width {width:g}{warm}",
        claim=Claim(loss_ratio=loss_ratio, exceed_ratio=exceed_ratio, duration_s=duration_s),
        relative_width=width,
        step_fps=1,
        shortest_s=goal.initial_trial_duration_s,
        trials_to_fail=1 + int(exceed_ratio * goal.goal_duration_sum_s / duration_s),
        answer=partial(_answered, _profile(duration_s, settings, indicative=indicative)),
    )

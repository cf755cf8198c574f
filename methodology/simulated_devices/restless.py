"""Devices that no search should give a plain number, beside steady ones that it should: how often each does.

The truth of a device stands in its model; a plain number of one without a truth is wrong whatever it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.simulated_devices.algorithms import Algorithm
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Device, HardLimit, LuckZone, SlowStart, SoftKnee
from bmwg.methodology.simulated_devices.study import holds
from bmwg.methodology.simulated_devices.unruly import (
    Bistable,
    CorrelatedBursts,
    Fatiguing,
    Hysteretic,
    LossyTrials,
    NonMonotone,
    PerFrameLossy,
    TwoStates,
)
from bmwg.methodology.trial.judging import StallEvidence, TrialPolicy

POLICY = TrialPolicy(stall_evidence=StallEvidence.CPU, most_set_aside_ratio=0.1)
_LOWEST_FPS, _HIGHEST_FPS = 60_000, 1_200_000
DEVICES: dict[str, Callable[[int], Device]] = {
    "hard limit": lambda fps: HardLimit(limit_fps=fps),
    "buffer of 10,000 frames": lambda fps: HardLimit(limit_fps=fps, buffer_frames=10_000),
    "soft knee": lambda fps: SoftKnee(knee_fps=fps),
    "slow start, half the rate for 0.1 s": lambda fps: SlowStart(
        limit_fps=fps, start_fps=fps // 2, start_s=0.1
    ),
    "limit varies by 1 %": lambda fps: LuckZone(limit_fps=fps, zone=0.01),
    "limit varies by 10 %": lambda fps: LuckZone(limit_fps=fps, zone=0.1),
    "tires by 0.05 % a second": lambda fps: Fatiguing(limit_fps=fps, fading_per_s=5e-4),
    "tires by 0.005 % a second": lambda fps: Fatiguing(limit_fps=fps, fading_per_s=5e-5),
    "drops 1 in 100,000": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-5),
    "drops 1 in 10,000,000": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-7),
    "loses at 40 to 60 % of its limit only": lambda fps: NonMonotone(limit_fps=fps),
    "loses in 40 % of all trials": lambda fps: LossyTrials(limit_fps=fps, share=0.4),
    "two states, changes in 40 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.4),
    "two states, changes in 10 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.1),
    "two states, of 60 s in the mean": lambda fps: TwoStates(limit_fps=fps, stay_s=60.0),
    "falls to two thirds once overloaded": lambda fps: Hysteretic(limit_fps=fps),
    "bursts take the tester's CPU, 70 % of trials": lambda fps: CorrelatedBursts(limit_fps=fps, share=0.7),
    "bursts take the tester's CPU, 20 % of trials": lambda fps: CorrelatedBursts(limit_fps=fps, share=0.2),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Of `cases` searches: how many gave a plain number, how many of these are not the truth, mean trials."""

    cases: int
    plain: int
    wrong: int
    trials: float


def tally(make: Callable[[int], Device], search: Algorithm, *, cases: int, first: int = 0) -> Tally:
    """Search `cases` devices, each of a limit and luck of its own; `first` is the first seed."""
    dice = random.Random(5 + first)
    plain = wrong = trials = 0
    for seed in range(first, first + cases):
        device = make(dice.randint(_LOWEST_FPS, _HIGHEST_FPS))
        answer = search.answer(ModelBench(device=device, seed=seed, policy=POLICY))
        trials += answer.trials
        if answer.type is OutcomeType.MEASURED:
            truth = device.truth_fps(search.claim)
            plain += 1
            wrong += truth is None or not holds(answer, truth, search)
    return Tally(cases=cases, plain=plain, wrong=wrong, trials=round(trials / cases, 1))

"""Devices that mislead a search, and how many wrong plain numbers each search gives to them.

A number is held against what the device does in trials of 60 s, whatever trials found it: nobody asks what a
device does in a tenth of a second. So a short search is wrong wherever what it cannot see matters.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.simulated_devices.algorithms import Algorithm, bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import (
    Claim,
    Device,
    HardLimit,
    Passed,
    SporadicLoss,
    WarmCache,
)
from bmwg.methodology.simulated_devices.unruly import (
    Fatiguing,
    Hysteretic,
    LossyTrials,
    PerFrameLossy,
    TwoStates,
)

LONG_S = 60.0  # rfc2544-24
MOST_WRONG = 0.01  # choice: share of the searches of one device whose plain numbers may be wrong
_SLACK = 0.005  # choice: of the truth; one frame in a trial, and the grain of a model
_LOWEST_FPS, _HIGHEST_FPS = 60_000, 600_000
_QUEUE_FRAMES = 256
_STEP_S = 0.25  # of a wave: far below its period


@dataclass(kw_only=True)
class Pausing:
    """Stops for `pause_s` once in `every_s`; a queue catches what comes meanwhile, as far as it can."""

    limit_fps: int
    every_s: float = 1.0
    pause_s: float = 0.005
    queue_frames: int = _QUEUE_FRAMES

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose what no queue holds, by the rate and by each pause; a trial begins anywhere between two."""
        pauses = int(duration_s / self.every_s + dice.random())
        over = max(0.0, frames - self.limit_fps * duration_s - self.queue_frames)
        each = max(0.0, min(frames / duration_s, self.limit_fps) * self.pause_s - self.queue_frames)
        return Passed(received=frames - min(frames, math.ceil(over + pauses * each - 1e-6)))

    def truth_fps(self, claim: Claim) -> float | None:
        """What the queue holds in a pause, where more trials than may lose meet one; else the rate."""
        held_fps = min(float(self.limit_fps), self.queue_frames / self.pause_s)
        return held_fps if claim.duration_s / self.every_s > claim.exceed_ratio else float(self.limit_fps)


@dataclass(kw_only=True)
class Waving:
    """Carries between `limit_fps` and `depth` (a share) less, in waves of `period_s` of traffic."""

    limit_fps: int
    depth: float = 0.1
    period_s: float = 20.0
    seen_s: float = 0.0

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose what is above the wave, piece by piece."""
        load, pieces = frames / duration_s, max(4, math.ceil(duration_s / _STEP_S))
        piece_s, lost = duration_s / pieces, 0.0
        for number in range(pieces):
            at = 2 * math.pi * (self.seen_s + (number + 0.5) * piece_s) / self.period_s
            lost += max(0.0, load - self.limit_fps * (1 - self.depth * (1 - math.cos(at)) / 2)) * piece_s
        self.seen_s += duration_s
        return Passed(received=frames - min(frames, math.ceil(lost - 1e-6)))

    def truth_fps(self, claim: Claim) -> float | None:
        """Its least, where a trial meets a whole wave."""
        return self.limit_fps * (1 - self.depth) if claim.duration_s >= self.period_s else None


@dataclass(kw_only=True)
class Tired(Fatiguing):
    """Tires within its first trials, and then stays at a third of its limit."""

    def truth_fps(self, claim: Claim) -> float | None:
        """The third."""
        return self.limit_fps / 3


DEVICES: Mapping[str, Callable[[int], Device]] = {
    "steady": lambda fps: HardLimit(limit_fps=fps, buffer_frames=_QUEUE_FRAMES),
    "half the rate in its first 2 s": lambda fps: WarmCache(limit_fps=fps, cold_fps=fps // 2, warm_s=2.0),
    "buffer or bucket of 20 ms": lambda fps: HardLimit(limit_fps=fps, buffer_frames=fps // 50),
    "buffer or bucket of 1 s": lambda fps: HardLimit(limit_fps=fps, buffer_frames=fps),
    "drifts by 0.05 % a second": lambda fps: Fatiguing(limit_fps=fps, fading_per_s=5e-4),
    "tires by 1 % a second, to a third": lambda fps: Tired(limit_fps=fps, fading_per_s=0.01),
    "wave of 10 % in 20 s": lambda fps: Waving(limit_fps=fps),
    "two states of 5 s": lambda fps: TwoStates(limit_fps=fps, stay_s=5.0),
    "two states of 60 s": lambda fps: TwoStates(limit_fps=fps, stay_s=60.0),
    "two thirds after an overload": lambda fps: Hysteretic(limit_fps=fps),
    "pauses of 5 ms, once a second": lambda fps: Pausing(limit_fps=fps),
    "bursts of 10 lost, once a second": lambda fps: SporadicLoss(limit_fps=fps, events_per_s=1.0, frames=10),
    "bursts of 10 lost, once in 10 s": lambda fps: SporadicLoss(limit_fps=fps, events_per_s=0.1, frames=10),
    "loses 1e-4": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-4),
    "loses 1e-5": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-5),
    "loses 1e-6": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-6),
    "loses in 25 % of trials": lambda fps: LossyTrials(limit_fps=fps, share=0.25),
    "loses in 40 % of trials": lambda fps: LossyTrials(limit_fps=fps, share=0.4),
}


def short_searches() -> tuple[Algorithm, ...]:
    """Return the searches of indicative profiles, which the page of shared machines has as well."""
    return (
        bisect(duration_s=0.2, width=0.03, verification=3, most_width=0.2, reopenings=6, indicative=True),
        mlrsearch(duration_s=0.1, sum_s=1.5, exceed_ratio=0.5, width=0.03, initial_s=0.1, indicative=True),
    )


def long_searches() -> tuple[Algorithm, ...]:
    """Return the searches of conformance profiles."""
    return (
        bisect(verification=3),
        verify_loss(trials=2),
        mlrsearch(),
        mlrsearch(sum_s=120.0, exceed_ratio=0.5),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Misled:
    """Of `cases` searches: plain numbers, and how many of them are wrong."""

    cases: int
    plain: int
    wrong: int

    def __str__(self) -> str:
        """Format as `plain/wrong`."""
        return f"{self.plain}/{self.wrong}"

    @property
    def too_many(self) -> bool:
        """Whether more are wrong than may be."""
        return self.wrong > MOST_WRONG * self.cases


def misled(name: str, search: Algorithm, *, cases: int, seed: int) -> Misled:
    """Search so many devices of a kind, each of a rate of its own."""
    dice = random.Random(f"{seed} {name}")
    plain = wrong = 0
    for case in range(cases):
        limit = int(_LOWEST_FPS * (_HIGHEST_FPS / _LOWEST_FPS) ** dice.random())
        device = DEVICES[name](limit)
        answer = search.answer(ModelBench(device=device, seed=seed * 1000 + case))
        if answer.type is not OutcomeType.MEASURED or answer.lower_fps is None or answer.upper_fps is None:
            continue
        plain += 1
        truth = device.truth_fps(replace(search.claim, duration_s=LONG_S))
        held = truth is not None and (
            answer.lower_fps <= truth * (1 + _SLACK) and truth <= answer.upper_fps * (1 + _SLACK)
        )
        wrong += not held
    return Misled(cases=cases, plain=plain, wrong=wrong)

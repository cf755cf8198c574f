"""Devices without a steady rate, or that lose frames at any load: no search may give them a plain number.

Each states its truth as in `device`, None where there is none; a plain number is then wrong whatever it is.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

from bmwg.methodology.simulated_devices.device import Claim, Passed

_CLEARLY = 0.1  # choice: of trials; nearer, no search could find the answer to a claim of a share


@dataclass(kw_only=True)
class Fatiguing:
    """Carries less with every second of traffic, by `fading_per_s` (a share), down to a third of its limit.

    What it carried when the search began, and what it carries at its end, are both no answer.
    """

    limit_fps: int
    fading_per_s: float
    seen_s: float = field(default=0.0)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what it still carries."""
        carried = max(1 / 3, 1 - self.fading_per_s * self.seen_s) * self.limit_fps
        self.seen_s += duration_s
        return Passed(received=min(frames, int(carried * duration_s)))

    def truth_fps(self, claim: Claim) -> float | None:
        """None: it is another one from trial to trial."""
        return None


@dataclass(kw_only=True)
class Bistable:
    """Carries `limit_fps` or half of it, and changes between two trials with a probability."""

    limit_fps: int
    changes: float
    low: bool = field(default=False)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what this state carries."""
        self.low ^= dice.random() < self.changes
        carried = self.limit_fps / 2 if self.low else self.limit_fps
        return Passed(received=min(frames, int(carried * duration_s)))

    def truth_fps(self, claim: Claim) -> float | None:
        """Half of the limit where no trial may lose; else the states' share is no claim's."""
        return self.limit_fps / 2 if not claim.exceed_ratio and not claim.loss_ratio else None


@dataclass(kw_only=True)
class Hysteretic:
    """Once overloaded carries two thirds of its limit, until a load below half of it lets it recover."""

    limit_fps: int
    fallen: bool = field(default=False)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass by what went before."""
        load = frames / duration_s
        if load < self.limit_fps / 2:
            self.fallen = False
        carried = self.limit_fps * 2 / 3 if self.fallen else self.limit_fps
        self.fallen = self.fallen or load > carried
        return Passed(received=min(frames, int(carried * duration_s)))

    def truth_fps(self, claim: Claim) -> float | None:
        """None: it depends on the loads before."""
        return None


@dataclass(kw_only=True)
class PerFrameLossy:
    """Forwards up to `limit_fps` and loses each frame by itself with a probability, at any load."""

    limit_fps: int
    loss_ratio: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose by luck what a binomial law loses, by its normal one where frames are many."""
        carried = min(frames, int(self.limit_fps * duration_s))
        mean = carried * self.loss_ratio
        lost = round(dice.gauss(mean, mean**0.5)) if mean > 50 else _poisson(mean, dice)
        return Passed(received=carried - min(carried, max(0, lost)))

    def truth_fps(self, claim: Claim) -> float | None:
        """None for no loss; the limit where more may be lost than it loses."""
        if claim.loss_ratio <= 2 * self.loss_ratio:
            return None
        return self.limit_fps * (1 - self.loss_ratio) / (1 - claim.loss_ratio)


def _poisson(mean: float, dice: random.Random) -> int:
    count, left = 0, mean
    while (left := left - dice.expovariate(1.0)) > 0:
        count += 1
    return count


@dataclass(kw_only=True)
class NonMonotone:
    """Loses a hundredth of the frames of loads between 40 and 60 % of its limit, and none of those above."""

    limit_fps: int

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose within the band, and what is above the limit."""
        within = 0.4 < frames / duration_s / self.limit_fps < 0.6
        lost = frames // 100 if within else 0
        return Passed(received=min(frames - lost, int(self.limit_fps * duration_s)))

    def truth_fps(self, claim: Claim) -> float | None:
        """The lower edge of the band: RFC 9971 wants no loss below a throughput."""
        return None if claim.loss_ratio else 0.4 * self.limit_fps


@dataclass(kw_only=True)
class CorrelatedBursts:
    """Above half of its limit bursts lose frames and take the tester's CPU, in a share of the trials."""

    limit_fps: int
    share: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose a burst by luck, and hold the tester up with it."""
        bursts = frames / duration_s > self.limit_fps / 2 and dice.random() < self.share
        lost = min(frames, 5_000) if bursts else 0
        return Passed(received=min(frames - lost, int(self.limit_fps * duration_s)), holds_tester=bursts)

    def truth_fps(self, claim: Claim) -> float | None:
        """Half of the limit, where no loss is allowed."""
        return None if claim.loss_ratio or claim.exceed_ratio else self.limit_fps / 2


@dataclass(kw_only=True)
class LossyTrials:
    """A hard limit that loses a hundredth in a share of its trials, whatever the load."""

    limit_fps: int
    share: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose by luck, and what is above the limit."""
        lost = -(-frames // 100) if dice.random() < self.share else 0
        return Passed(received=min(frames - lost, int(self.limit_fps * duration_s)))

    def truth_fps(self, claim: Claim) -> float | None:
        """The limit where so many trials may lose, else None."""
        return float(self.limit_fps) if claim.exceed_ratio > self.share else None


@dataclass(kw_only=True)
class TwoStates:
    """Carries `limit_fps` or half of it, each for `stay_s` of traffic in the mean, at random."""

    limit_fps: int
    stay_s: float
    low: bool = field(default=False)
    left_s: float | None = field(default=None)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass by the states that a trial meets, one after the other."""
        load, at_s, lost = frames / duration_s, 0.0, 0.0
        if self.left_s is None:
            self.left_s = dice.expovariate(1 / self.stay_s)
        while at_s < duration_s:
            within_s = min(self.left_s, duration_s - at_s)
            carried = self.limit_fps / 2 if self.low else self.limit_fps
            lost += max(0.0, load - carried) * within_s
            at_s += within_s
            self.left_s -= within_s
            if self.left_s <= 0:
                self.low, self.left_s = not self.low, dice.expovariate(1 / self.stay_s)
        return Passed(received=frames - min(frames, math.ceil(lost - 1e-6)))

    def truth_fps(self, claim: Claim) -> float | None:
        """Half of the limit where clearly more trials meet the low state than may lose; else none."""
        meets_low = 1 - math.exp(-claim.duration_s / self.stay_s) / 2
        clear = not claim.exceed_ratio or meets_low > claim.exceed_ratio + _CLEARLY
        return self.limit_fps / 2 if clear and not claim.loss_ratio else None

"""Models of devices under test. Each says what passes of one trial, and what the right answer is.

A truth is stated for a goal: the loss ratio allowed, the exceed ratio (the probability with which a trial may
lose more) and the trial duration. None means that there is none, and why is in the model's text.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What an answer is held against: loss and exceed ratio (0..1), trial duration (s)."""

    loss_ratio: float
    exceed_ratio: float
    duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What arrives of one trial, frames; `reordered` are within `received`, `duplicates` beside it.

    `holds_tester` says that the tester's CPU was gone meanwhile, by the device's doing.
    """

    received: int
    reordered: int = 0
    duplicates: int = 0
    holds_tester: bool = False


@runtime_checkable
class Device(Protocol):
    """A model. It may keep state from trial to trial, and draws luck from the dice that it is given."""

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Say what arrives of frames that are sent evenly in a time."""
        ...

    def truth_fps(self, claim: Claim) -> float | None:
        """Return the highest load (frames/s) that keeps the claim; None: there is none."""
        ...


def events(rate_per_s: float, duration_s: float, dice: random.Random) -> int:
    """Count the events of a Poisson process in a time."""
    count, left = 0, duration_s
    while rate_per_s > 0:
        left += math.log(1.0 - dice.random()) / rate_per_s
        if left < 0:
            break
        count += 1
    return count


@dataclass(kw_only=True)
class HardLimit:
    """Forwards up to `limit_fps` and loses all above, in trials of any length.

    `buffer_frames` stand in a queue at the end of a trial and arrive after it: the shorter the trial, the
    higher the load without loss.
    """

    limit_fps: int
    buffer_frames: int = 0

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what the rate and the queue carry."""
        return Passed(received=min(frames, int(self.limit_fps * duration_s) + self.buffer_frames))

    def truth_fps(self, claim: Claim) -> float | None:
        """Rate plus queue over the duration, more by the loss allowed."""
        return (self.limit_fps + self.buffer_frames / claim.duration_s) / (1 - claim.loss_ratio)

    def longest_burst(self, rate_fps: int) -> float:
        """Return the longest burst (frames) at a rate that the queue stands."""
        return self.buffer_frames / (1 - self.limit_fps / rate_fps)


@dataclass(kw_only=True)
class SoftKnee:
    """Above `knee_fps` the loss ratio grows with the square of the excess; `softness` above it, all."""

    knee_fps: int
    softness: float = 2.0

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose whole frames only."""
        excess = max(0.0, frames / duration_s / self.knee_fps - 1) / self.softness
        return Passed(received=frames - int(frames * min(1.0, excess**2)))

    def truth_fps(self, claim: Claim) -> float | None:
        """Where the loss ratio is the one allowed, or for none where one frame in the trial would be lost."""
        if claim.loss_ratio:
            return self.knee_fps * (1 + self.softness * math.sqrt(claim.loss_ratio))
        load = float(self.knee_fps)
        for _ in range(20):
            load = self.knee_fps * (1 + self.softness / math.sqrt(load * claim.duration_s))
        return load


@dataclass(kw_only=True)
class SporadicLoss:
    """A hard limit that also loses `frames` at once, `events_per_s` times a second, whatever the load.

    Without loss allowed there is a truth only if a trial is clean often enough for the exceed ratio: a
    bisection for zero loss (exceed ratio 0) has none at any load.
    """

    limit_fps: int
    events_per_s: float
    frames: int = 1

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose a few frames by luck, and what is above the limit."""
        lost = self.frames * events(self.events_per_s, duration_s, dice)
        return Passed(received=max(0, min(frames, int(self.limit_fps * duration_s)) - lost))

    def truth_fps(self, claim: Claim) -> float | None:
        """The limit where luck keeps within the claim."""
        mean = self.events_per_s * claim.duration_s
        if claim.loss_ratio:
            most = self.frames * (mean + 6 * math.sqrt(mean) + 6)
            if most > claim.loss_ratio * self.limit_fps * claim.duration_s:
                return None
            return (self.limit_fps - self.frames * self.events_per_s) / (1 - claim.loss_ratio)
        return float(self.limit_fps) if 1 - math.exp(-mean) <= claim.exceed_ratio else None


@dataclass(kw_only=True)
class LuckZone:
    """A limit that differs from trial to trial by up to `zone` (a share) around its middle, evenly.

    The truth for an exceed ratio is the load that this share of trials loses at; for 0 it is the zone's edge.
    """

    limit_fps: int
    zone: float = 0.1

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Draw the limit of this trial."""
        limit = self.limit_fps * (1 + self.zone * (dice.random() - 0.5))
        return Passed(received=min(frames, int(limit * duration_s)))

    def truth_fps(self, claim: Claim) -> float | None:
        """The quantile of the limit."""
        return self.limit_fps * (1 + self.zone * (claim.exceed_ratio - 0.5)) / (1 - claim.loss_ratio)


@dataclass(kw_only=True)
class SlowStart:
    """In the first `start_s` of each trial only `start_fps` pass: the answer depends on its length."""

    limit_fps: int
    start_fps: int
    start_s: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass by two rates, one after the other."""
        load = frames / duration_s
        slow_s = min(self.start_s, duration_s)
        lost = max(0.0, load - self.start_fps) * slow_s
        lost += max(0.0, load - self.limit_fps) * (duration_s - slow_s)
        return Passed(received=frames - min(frames, math.ceil(lost - 1e-6)))

    def truth_fps(self, claim: Claim) -> float | None:
        """The rate of the start for no loss, else where start and limit together lose what may be."""
        slow_s, whole_s = min(self.start_s, claim.duration_s), claim.duration_s
        allowed_s = claim.loss_ratio * whole_s
        if allowed_s < slow_s:
            load = self.start_fps * slow_s / (slow_s - allowed_s)
            if load <= self.limit_fps:
                return load
        carried = self.start_fps * slow_s + self.limit_fps * (whole_s - slow_s)
        return carried / (whole_s - allowed_s)


@dataclass(kw_only=True)
class WarmCache:
    """Cold until it has seen `warm_s` of traffic, and then for good warm. The truth is of the warm device."""

    limit_fps: int
    cold_fps: int
    warm_s: float
    seen_s: float = field(default=0.0)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass at the cold rate first."""
        cold_s = min(duration_s, max(0.0, self.warm_s - self.seen_s))
        self.seen_s += duration_s
        load = frames / duration_s
        lost = max(0.0, load - self.cold_fps) * cold_s + max(0.0, load - self.limit_fps) * (
            duration_s - cold_s
        )
        return Passed(received=frames - min(frames, math.ceil(lost - 1e-6)))

    def truth_fps(self, claim: Claim) -> float | None:
        """The warm limit."""
        return self.limit_fps / (1 - claim.loss_ratio)


@dataclass(kw_only=True)
class Untidy:
    """A hard limit that reorders and duplicates a share of what it forwards. Neither is loss."""

    limit_fps: int
    reorder_ratio: float = 0.0
    duplicate_ratio: float = 0.0

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Count each frame once as received."""
        received = min(frames, int(self.limit_fps * duration_s))
        return Passed(
            received=received,
            reordered=int(received * self.reorder_ratio),
            duplicates=int(received * self.duplicate_ratio),
        )

    def truth_fps(self, claim: Claim) -> float | None:
        """The limit."""
        return self.limit_fps / (1 - claim.loss_ratio)

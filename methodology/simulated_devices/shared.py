"""A steady device on a machine that it shares: what a quick profile should give a plain number to.

What it imitates: neighbours that slow a trial as a whole, by a little nearly always and by a fifth to a half
at times, and pauses too short for a watchdog's limit that cost a few frames at any load. What not: neighbours
that stay, which no quick run can tell from the device, and CPUs that are gone (`stalled`).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from bmwg.methodology.simulated_devices.device import Claim, Passed

_SLOWED = (0.5, 0.8)  # choice: trials of one load in a default run differed by as much (docs/adr/0371)
_PAUSED = (0.001, 0.01)  # choice: the same


@dataclass(kw_only=True)
class SharedMachine:
    """Carries `limit_fps` less `spread` (a share, half normal), and much less in a share `slowed` of trials.

    A share `paused` of them loses 0.1 to 1 % of the frames, whatever the load.
    """

    limit_fps: int
    spread: float
    slowed: float
    paused: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what the neighbours leave of it."""
        carried = self.limit_fps * (1 - abs(dice.gauss(0, self.spread)))
        if dice.random() < self.slowed:
            carried *= dice.uniform(*_SLOWED)
        received = min(frames, int(carried * duration_s))
        if dice.random() < self.paused:
            received = min(received, int(frames * (1 - dice.uniform(*_PAUSED))))
        return Passed(received=received)

    def truth_fps(self, claim: Claim) -> float | None:
        """What it carries when nobody else is there."""
        return float(self.limit_fps)

"""What a search for a conditional throughput by short trials answers, on models of a shared machine.

Models only, no traffic. For each device and search prints how many of `--cases` searches gave a plain
number, how many of these are wrong, and the traffic of an answer. A number is wrong where its interval (from
what no buffer carried to the upper end) does not hold the device's rate, or where there is none.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import mean, median

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.simulated_devices import algorithms
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import Claim, Device, Passed, events
from bmwg.methodology.simulated_devices.unruly import Bistable, Hysteretic, PerFrameLossy

QUEUE = 256
SLACK = 0.005  # of the truth: one frame in a trial, and the grain of the model


@dataclass(kw_only=True)
class Stalled:
    """A steady device whose CPU is away at random, for 0.4 to 4 ms; a queue catches what it can."""

    limit_fps: int
    stalls_per_s: float
    queue: int = QUEUE
    above: float = 0.0  # stalls come only above this share of the limit

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose what the queue cannot hold, by the rate and by each stall."""
        load = frames / duration_s
        lost = max(0.0, frames - self.limit_fps * duration_s - self.queue)
        stalls = events(self.stalls_per_s, duration_s, dice) if load > self.above * self.limit_fps else 0
        for _ in range(stalls):
            away_s = dice.uniform(0.0004, 0.004)
            free = 0 if load > self.limit_fps else self.queue
            lost += max(0.0, min(load, self.limit_fps) * away_s - free)
        return Passed(received=frames - min(frames, int(lost)))

    def truth_fps(self, claim: Claim) -> float | None:
        """The rate, or a lower load at which stalls alone lose in half of the trials."""
        return float(self.limit_fps)


@dataclass(kw_only=True)
class Lossy:
    """Loses a frame in a share of all trials, at any load."""

    limit_fps: int
    share: float

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Lose a frame by luck."""
        received = min(frames, int(self.limit_fps * duration_s))
        return Passed(received=received - (dice.random() < self.share))

    def truth_fps(self, claim: Claim) -> float | None:
        """There is none."""
        return None


@dataclass(kw_only=True)
class Tires:
    """Carries less with each second of traffic."""

    limit_fps: int
    per_s: float
    seen_s: float = field(default=0.0)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what is left of the rate."""
        self.seen_s += duration_s
        return Passed(
            received=min(frames, int(self.limit_fps * (1 - self.per_s) ** self.seen_s * duration_s))
        )

    def truth_fps(self, claim: Claim) -> float | None:
        """What it carries now."""
        return self.limit_fps * (1 - self.per_s) ** self.seen_s


@dataclass(kw_only=True)
class Bucket:
    """A policer: a bucket of frames fills while nothing comes, and is full at the begin of each trial."""

    limit_fps: int
    frames: int

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what the bucket holds beside the rate."""
        return Passed(received=min(frames, int(self.limit_fps * duration_s) + self.frames))

    def truth_fps(self, claim: Claim) -> float | None:
        """The rate."""
        return float(self.limit_fps)


@dataclass(kw_only=True)
class Moving(Stalled):
    """A stalled device on a machine that moves: its rate wanders by `by` (a share) in `within_s` of traffic.

    For the first `spell_s` it is `spell` of itself besides. The truth is the median of what it carried.
    """

    by: float = 0.0
    within_s: float = 5.0
    spell: float = 1.0
    spell_s: float = 0.0
    own_fps: int = 0
    at_s: float = 0.0
    level: float = 0.0
    carried: list[int] = field(default_factory=list)

    def passes(self, frames: int, duration_s: float, dice: random.Random) -> Passed:
        """Pass what this time carries, by a law that returns to its mean."""
        kept = math.exp(-duration_s / self.within_s)
        self.level = kept * self.level + dice.gauss(0.0, self.by * math.sqrt(1 - kept**2))
        self.own_fps = self.own_fps or self.limit_fps
        slow = self.spell if self.at_s < self.spell_s else 1.0
        self.limit_fps = int(self.own_fps * slow * math.exp(self.level))
        self.at_s += duration_s
        self.carried.append(self.limit_fps)
        return super().passes(frames, duration_s, dice)

    def truth_fps(self, claim: Claim) -> float | None:
        """What it carried in half of the trials."""
        return median(self.carried)


SEARCHES = {
    "quick bisection": lambda: algorithms.bisect(
        duration_s=0.2, width=0.03, verification=3, most_width=0.2, reopenings=6, indicative=True
    ),
    "goal 0.1f1.5d0l50e": lambda: algorithms.mlrsearch(
        duration_s=0.1, sum_s=1.5, exceed_ratio=0.5, width=0.03, initial_s=0.1, indicative=True
    ),
    "goal 0.05f0.75d0l50e": lambda: algorithms.mlrsearch(
        duration_s=0.05, sum_s=0.75, exceed_ratio=0.5, width=0.03, initial_s=0.05, indicative=True
    ),
}
DEVICES: dict[str, Callable[[int], Device]] = {
    **{
        f"stalls {n} a second": lambda fps, n=n: Stalled(limit_fps=fps, stalls_per_s=n)
        for n in (0, 2, 4, 6, 8, 10)
    },
    **{
        f"moves by {by:.0%} within {within} s, stalls 4 a second": lambda fps, by=by, within=within: Moving(
            limit_fps=fps, stalls_per_s=4, by=by, within_s=within
        )
        for by, within in ((0.05, 5), (0.1, 5), (0.1, 1), (0.2, 5))
    },
    **{
        f"at {spell:.0%} for the first 6 s, stalls 4 a second": lambda fps, spell=spell: Moving(
            limit_fps=fps, stalls_per_s=4, by=0.03, spell=spell, spell_s=6.0
        )
        for spell in (0.8, 0.7, 0.6)
    },
    "stalls 4 a second above 70 %": lambda fps: Stalled(limit_fps=fps, stalls_per_s=4, above=0.7),
    "buffer of 20 ms": lambda fps: Bucket(limit_fps=fps, frames=fps // 50),
    "buffer of 1 s": lambda fps: Bucket(limit_fps=fps, frames=fps),
    **{f"bucket of {n} frames": lambda fps, n=n: Bucket(limit_fps=fps, frames=n) for n in (30, 200, 1000)},
    "loses in 40 % of all trials": lambda fps: Lossy(limit_fps=fps, share=0.4),
    "loses in 25 % of all trials": lambda fps: Lossy(limit_fps=fps, share=0.25),
    "two states, changes in 40 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.4),
    "two states, changes in 10 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.1),
    "tires by 1 % a second": lambda fps: Tires(limit_fps=fps, per_s=0.01),
    "falls to two thirds once overloaded": lambda fps: Hysteretic(limit_fps=fps),
    "drops 1 in 100,000": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-5),
}


def row(name: str, device: str, cases: int, seed: int) -> dict[str, object]:
    """Search so many devices and count."""
    search = SEARCHES[name]()
    dice = random.Random(f"{device} {seed}")
    plain = wrong = 0
    traffic, trials, errors, widths = [], [], [], []
    for case in range(cases):
        made = DEVICES[device](int(60_000 * 10 ** dice.random()))
        answer = search.answer(ModelBench(device=made, seed=case + 1000 * (seed - 7)))
        traffic.append(answer.traffic_s)
        trials.append(answer.trials)
        if answer.type is not OutcomeType.MEASURED or answer.lower_fps is None or answer.upper_fps is None:
            continue
        plain += 1
        truth = made.truth_fps(search.claim)
        if truth is None:
            wrong += 1
            continue
        wrong += not answer.lower_fps <= truth * (1 + SLACK) <= answer.upper_fps * (1 + 2 * SLACK)
        errors.append(answer.lower_fps / truth - 1)
        widths.append(1 - answer.lower_fps / answer.upper_fps)
    return {
        "device": device,
        "search": name,
        "cases": cases,
        "plain": plain,
        "wrong": wrong,
        "lower_error": [round(min(errors), 3), round(median(errors), 3), round(max(errors), 3)]
        if errors
        else None,
        "width": [round(median(widths), 3), round(max(widths), 3)] if widths else None,
        "traffic_s": round(median(traffic), 1),
        "trials": round(mean(trials)),
    }


def main() -> None:
    """Print a row for each device and search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--search", action="append", choices=SEARCHES)
    parser.add_argument("--device", action="append", choices=DEVICES)
    said = parser.parse_args()
    for device in said.device or DEVICES:
        for name in said.search or SEARCHES:
            print(json.dumps(row(name, device, said.cases, said.seed)), flush=True)


if __name__ == "__main__":
    main()

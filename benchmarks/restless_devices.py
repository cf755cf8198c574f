"""Which searches give a plain number to devices that have none, or none to devices that have one.

Models only, no traffic. Prints JSON: for each device and search the plain numbers of `--cases` searches, and
how many of them are not the truth. `--first-seed` takes other cases than those by which rules were chosen.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable

from bmwg.methodology.models.algorithms import Algorithm, bisect, mlrsearch, verify_loss
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import Device, HardLimit, LuckZone, SlowStart, SoftKnee
from bmwg.methodology.models.study import holds
from bmwg.methodology.models.unruly import (
    Bistable,
    CorrelatedBursts,
    Fatiguing,
    Hysteretic,
    NonMonotone,
    PerFrameLossy,
)
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.trial import StallEvidence, TrialPolicy

POLICY = TrialPolicy(stall_evidence=StallEvidence.CPU, most_set_aside_ratio=0.1)
SEARCHES: dict[str, Algorithm] = {
    "bisection, 3 more trials": bisect(verification=3),
    "TST009, r = 2": verify_loss(trials=2),
    "MLRsearch, no loss": mlrsearch(),
    "MLRsearch, half may lose": mlrsearch(sum_s=120.0, exceed_ratio=0.5),
}
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
    "two states, changes in 40 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.4),
    "two states, changes in 10 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.1),
    "falls to two thirds once overloaded": lambda fps: Hysteretic(limit_fps=fps),
    "bursts take the tester's CPU, 70 % of trials": lambda fps: CorrelatedBursts(limit_fps=fps, share=0.7),
    "bursts take the tester's CPU, 20 % of trials": lambda fps: CorrelatedBursts(limit_fps=fps, share=0.2),
}


def tally(make: Callable[[int], Device], search: Algorithm, cases: int, first: int = 0) -> dict[str, float]:
    """Return of so many searches the plain numbers, the wrong ones among them, and the mean of trials.

    `first` is the seed of the first one.
    """
    dice = random.Random(5 + first)
    plain = wrong = trials = 0
    for seed in range(first, first + cases):
        device = make(dice.randint(60_000, 1_200_000))
        found = search.answer(ModelBench(device=device, seed=seed, policy=POLICY))
        trials += found.trials
        if found.type is OutcomeType.MEASURED:
            truth = device.truth_fps(search.claim)
            plain += 1
            wrong += truth is None or not holds(found, truth, search)
    return {"plain": plain, "wrong": wrong, "trials": round(trials / cases, 1)}


def main() -> None:
    """Compute and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=60)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--devices", nargs="+", choices=DEVICES, default=list(DEVICES))
    given = options.parse_args()
    cases, first = given.cases, given.first_seed
    table = {
        device: {name: tally(DEVICES[device], search, cases, first) for name, search in SEARCHES.items()}
        for device in given.devices
    }
    shown = {"benchmark": "restless_devices", "cases": cases, "first_seed": first, "table": table}
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()

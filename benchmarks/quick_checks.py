"""Which checks after a quick search leave numbers to steady devices on a shared machine, and none to others.

Models only, no traffic. For each device, search and rule prints the plain numbers of `--cases` searches, how
many of them are wrong, and the mean of trials. A number is wrong where its interval, widened by the fifth
that the quick profile allows, does not hold the truth, or where there is none.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest import mock

from bmwg.methodology.models import algorithms
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import Device, HardLimit
from bmwg.methodology.models.shared import SharedMachine
from bmwg.methodology.models.unruly import Bistable, Hysteretic, NonMonotone, PerFrameLossy
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search import steadiness

WIDE = 0.2  # profiles/quick.yaml: most_relative_width
SEARCHES = {
    "bisection": algorithms.bisect(
        duration_s=0.2, width=0.03, verification=3, most_width=WIDE, reopenings=6, indicative=True
    ),
    "TST009": algorithms.verify_loss(duration_s=0.2, step_fps=10_000, trials=2, indicative=True),
    "MLRsearch": algorithms.mlrsearch(duration_s=0.2, width=0.03, initial_s=0.1, indicative=True),
}
# checks, times as many when one deviates, ratio apart, ratio lossy
RULES = {
    "none": (0, 1, 0.0, 0.0),
    "four, one is enough (version 5)": (4, 1, 0.0, 0.0),
    "four to sixteen": (4, 4, 0.25, 0.25),
    "eight to sixteen (version 6)": (8, 2, 0.25, 0.25),
}
DEVICES: dict[str, Callable[[int], Device]] = {
    "hard limit": lambda fps: HardLimit(limit_fps=fps),
    "calm machine": lambda fps: SharedMachine(limit_fps=fps, spread=0.03, slowed=0.02, paused=0.02),
    "shared machine": lambda fps: SharedMachine(limit_fps=fps, spread=0.06, slowed=0.08, paused=0.05),
    "rough machine": lambda fps: SharedMachine(limit_fps=fps, spread=0.08, slowed=0.15, paused=0.1),
    "two states, changes in 40 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.4),
    "two states, changes in 10 % of trials": lambda fps: Bistable(limit_fps=fps, changes=0.1),
    "falls to two thirds once overloaded": lambda fps: Hysteretic(limit_fps=fps),
    "loses at 40 to 60 % of its limit only": lambda fps: NonMonotone(limit_fps=fps),
    "drops 1 in 100,000": lambda fps: PerFrameLossy(limit_fps=fps, loss_ratio=1e-5),
}


@contextmanager
def ruled(rule: str) -> Iterator[None]:
    """Check by another rule meanwhile."""
    checks, more, apart, lossy = RULES[rule]
    with (
        mock.patch.object(algorithms, "_QUICK_CHECKS", checks),
        mock.patch.multiple(steadiness, MORE=more, APART_RATIO=apart, LOSSY_RATIO=lossy),
    ):
        yield


def tally(device: str, search: str, cases: int, first: int) -> str:
    """Return plain/wrong of so many searches, and the mean of trials."""
    dice = random.Random(5 + first)
    policy, algorithm = load_profile("quick").policy, SEARCHES[search]
    plain = wrong = trials = 0
    for seed in range(first, first + cases):
        made = DEVICES[device](dice.randint(60_000, 1_000_000))
        found = algorithm.answer(ModelBench(device=made, seed=seed, policy=policy))
        trials += found.trials
        if found.type is OutcomeType.MEASURED:
            truth = made.truth_fps(algorithm.claim)
            lower, upper = found.lower_fps or 0, found.upper_fps or 0
            plain += 1
            wrong += truth is None or not lower <= truth * 1.02 or not upper >= truth * (1 - WIDE)
    return f"{plain}/{wrong} ({trials / cases:.1f})"


def main() -> None:
    """Compute and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=100)
    options.add_argument("--first-seed", type=int, default=0)
    options.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES))
    options.add_argument("--devices", nargs="+", choices=DEVICES, default=list(DEVICES))
    given = options.parse_args()
    table: dict[str, dict[str, dict[str, str]]] = {}
    for search in given.searches:
        for device in given.devices:
            for rule in RULES:
                with ruled(rule):
                    said = tally(device, search, given.cases, given.first_seed)
                table.setdefault(search, {}).setdefault(device, {})[rule] = said
    shown = {
        "benchmark": "quick_checks",
        "cases": given.cases,
        "first_seed": given.first_seed,
        "table": table,
    }
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()

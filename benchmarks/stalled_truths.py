"""Known truths under stalls: how often a search gives a plain number, and how far it is from the truth.

Models only, no traffic (`tests/unit/methodology/stalled.py` says what they imitate and what not). Devices
with a hard limit; a CPU goes away 0, 1, 5 and 10 times a second for 1 to 20 ms, and more seldom in trials of
60 s. Prints JSON: for each policy, CPU, rate and search the share of plain numbers, the wrong ones among
them, and the relative error of the others.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from typing import Any

from tests.unit.methodology.stalled import StalledBench, StallLaw

from bmwg.methodology.benchmarks.statistics import median
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.simulated_devices.algorithms import Algorithm, bisect, mlrsearch, verify_loss
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.simulated_devices.study import holds
from bmwg.methodology.trial.judging import StallEvidence

RATES = (0.0, 1.0, 5.0, 10.0)
FULL_RATES = (0.0, 0.001, 0.01, 1.0)  # a trial of 60 s meets one in 17, every second, and each of them
QUICK: dict[str, Algorithm] = {
    "bisection": bisect(
        duration_s=0.2, width=0.03, verification=3, most_width=0.2, reopenings=6, indicative=True
    ),
    "TST009": verify_loss(duration_s=0.2, step_fps=10_000, trials=2, indicative=True),
    "MLRsearch": mlrsearch(duration_s=0.2, width=0.03, initial_s=0.1, indicative=True),
}
FULL: dict[str, Algorithm] = {
    "bisection": bisect(verification=3),
    "TST009": verify_loss(trials=2),
    "MLRsearch": mlrsearch(),
}


def row(search: Algorithm, policy: Any, laws: dict[str, StallLaw], cases: int) -> dict[str, Any]:
    """Run one search on so many devices."""
    dice = random.Random(17)
    errors: list[float] = []
    plain = wrong = 0
    trials: list[float] = []
    for seed in range(cases):
        limit = dice.randint(60_000, 600_000)
        device = HardLimit(limit_fps=limit)
        made = StalledBench(device=device, carries_fps=limit, seed=seed, policy=policy, **laws)
        found = search.answer(made)
        trials.append(float(found.trials))
        if found.type is OutcomeType.MEASURED and found.lower_fps is not None:
            plain += 1
            truth = min([limit, *(law.above_fps for law in laws.values() if law.above_fps)])
            wrong += not holds(found, truth, search)
            errors.append(found.lower_fps / truth - 1)
    return {
        "plain": plain,
        "wrong": wrong,
        "error": [round(value, 4) for value in (min(errors), median(errors), max(errors))]
        if errors
        else None,
        "trials": median(trials),
    }


def main() -> None:
    """Compute and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=60)
    options.add_argument("--only", default="", help="only scenes whose name has this")
    chosen = options.parse_args()
    quick, full = load_profile("quick").policy, load_profile("rfc2544").policy
    by_cpu = replace(quick, stall_evidence=StallEvidence.CPU, max_stall_ns=1_000_000)
    scenes = {
        "quick": (quick, QUICK),
        "quick, evidence of a CPU": (by_cpu, QUICK),
        "rfc2544": (full, FULL),
    }
    table: dict[str, Any] = {}
    for name, (policy, searches) in scenes.items():
        for cpu in ("sut", "generator", "both", "together"):
            for rate in FULL_RATES if policy is full else RATES:
                law = StallLaw(per_s=rate)
                laws = {one: law for one in ("sut", "generator") if cpu in (one, "both")}
                laws |= {"together": law} if cpu == "together" else {}
                key = f"{name} / {cpu} / {rate:g} a second"
                if chosen.only not in key or (cpu != "sut" and not rate):
                    continue
                table[key] = {
                    one: row(search, policy, laws, chosen.cases) for one, search in searches.items()
                }
        caused = StallLaw(per_s=5.0, above_fps=200_000)  # the load takes the CPU away, above a third of it
        for cpu in ("sut", "generator"):
            key = f"{name} / {cpu} / 5 a second, by loads above 200,000 frames/s"
            if chosen.only in key:
                table[key] = {
                    one: row(search, policy, {cpu: caused}, chosen.cases) for one, search in searches.items()
                }
        key = f"{name} / sut / 4 a second, and one by loads above 200,000 frames/s"
        if chosen.only in key:  # a fifth of the stalls are the load's own doing
            laws = {"sut": StallLaw(per_s=4.0), "together": StallLaw(per_s=1.0, above_fps=200_000)}
            table[key] = {one: row(search, policy, laws, chosen.cases) for one, search in searches.items()}
    print(json.dumps({"benchmark": "stalled_truths", "cases": chosen.cases, "table": table}, indent=1))


if __name__ == "__main__":
    main()

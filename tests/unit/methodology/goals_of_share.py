"""Goals that forgive a share of trials, and what searches for them answer of models."""

from __future__ import annotations

import random
from dataclasses import dataclass

from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Cell
from bmwg.methodology.search import closing, steadiness, stepwise
from bmwg.methodology.simulated_devices.algorithms import bisect, mlrsearch
from bmwg.methodology.simulated_devices.bench import ModelBench, ModelHost
from bmwg.methodology.simulated_devices.device import Passed
from bmwg.methodology.trial.traffic import Traffic

GOAL = mlrsearch(duration_s=0.1, sum_s=1.5, exceed_ratio=0.5, width=0.03, initial_s=0.1, indicative=True)
OF_LITTLE_LOSS = mlrsearch(
    duration_s=0.1, sum_s=1.5, loss_ratio=0.005, exceed_ratio=0.5, width=0.03, initial_s=0.1, indicative=True
)


QUICK = bisect(duration_s=0.2, width=0.03, verification=3, most_width=0.2, reopenings=6, indicative=True)
CASES = 30


def answers(search, device, *, cases=CASES, host=None):
    dice = random.Random(11)
    for seed in range(cases):
        made = device(dice.randint(60_000, 600_000))
        bench = ModelBench(device=made, seed=seed, host=host or ModelHost())
        yield made, search.answer(bench)


@dataclass(kw_only=True)
class LosesInAShare:
    """Loses a frame in a share of all trials, whatever their load."""

    limit_fps: int
    share: float

    def passes(self, frames, duration_s, dice):
        received = min(frames, int(self.limit_fps * duration_s))
        return Passed(received=received - (dice.random() < self.share))


def share_of(**changed):
    said = {
        "offer": Traffic(frame_octets=64),
        "load": 100_000,
        "half": 50_000,
        "duration_s": 0.1,
        "loss_ratio": 0.0,
        "exceed_ratio": 0.5,
        "max_repeats": 5,
        "short_limit": 2,
        "upper": 103_000,
        "upper_ratio": 0.5,
        "step": 0.03,
        "max_load": 1_000_000,
        "lowest": 10_000,
    }
    return closing.Closing(**(said | changed))


def after(device, **changed):
    bench = ModelBench(device=device, seed=3)
    return stepwise.run(closing.procedure(share_of(**changed)), bench.measure).found


def outcomes_of_quick(device):
    profile = load_profile("quick")
    bench = ModelBench(device=device, seed=5, policy=profile.policy)
    cell = Cell(path="node", hosting="baremetal", function="kernel-l3", network="none", frame_octets=64)
    asked = Asked(
        profile=profile,
        cell=cell,
        outcome_id="x",
        trial=lambda spec, _: bench.measure(spec),
        max_load_fps=1_500_000,
    )
    return measurement("throughput").measure(asked).outcomes


def eight_checks(*, load: int, upper: int) -> steadiness.Checks:
    return steadiness.Checks(
        offer=Traffic(frame_octets=64),
        load=load,
        upper=upper,
        max_load=1_000_000,
        duration_s=0.1,
        count=8,
        below=0.05,
        loss_ratio=0.0,
        exceed_ratio=0.5,
        max_repeats=5,
        short_limit=2,
        most=40,
        apart_ratio=0.25,
    )

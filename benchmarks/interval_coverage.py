"""How often the 95 % interval of repetitions holds the mean, where these are no independent draws.

Usage: python benchmarks/interval_coverage.py [runs] [seed]
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable

from bmwg.methodology.answers.student import CONFIDENCE, quantile

Draw = Callable[[random.Random, int], list[float]]


def alike(likeness: float) -> Draw:
    """Repetitions each of which is so like the one before (autocorrelation at lag 1)."""
    rest = math.sqrt(1 - likeness**2)

    def draw(chance: random.Random, count: int) -> list[float]:
        values = [chance.gauss(0, 1)]
        while len(values) < count:
            values.append(likeness * values[-1] + rest * chance.gauss(0, 1))
        return values

    return draw


def deployed(ratio: float, *, anew: bool) -> Draw:
    """Deployments that differ `ratio` times as much as repetitions do: one for all, or one for each."""

    def draw(chance: random.Random, count: int) -> list[float]:
        one = chance.gauss(0, ratio)
        return [(chance.gauss(0, ratio) if anew else one) + chance.gauss(0, 1) for _ in range(count)]

    return draw


MODELS = {
    "independent": alike(0),
    "autocorrelation 0.2": alike(0.2),
    "autocorrelation 0.5": alike(0.5),
    "autocorrelation 0.8": alike(0.8),
    "one deployment, as different as repetitions": deployed(1, anew=False),
    "one deployment, twice as different": deployed(2, anew=False),
    "a deployment each, as different as repetitions": deployed(1, anew=True),
    "a deployment each, twice as different": deployed(2, anew=True),
}
COUNTS = (3, 5, 10, 20)


def covered(draw: Draw, count: int, runs: int, chance: random.Random) -> float:
    """Return in which share of so many cells the interval holds the mean, which is 0."""
    factor, held = quantile(0.5 + CONFIDENCE / 2, count - 1) / math.sqrt(count), 0
    for _ in range(runs):
        values = draw(chance, count)
        mean = math.fsum(values) / count
        deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in values) / (count - 1))
        held += abs(mean) <= factor * deviation
    return held / runs


def main(runs: int = 20_000, seed: int = 4_520_261) -> None:
    """Print the table, in per cent."""
    chance = random.Random(seed)
    print(f"{runs} cells each, seed {seed}; covered in % by repetitions: {', '.join(map(str, COUNTS))}")
    for name, draw in MODELS.items():
        print(f"{name}: " + ", ".join(f"{100 * covered(draw, n, runs, chance):.1f}" for n in COUNTS))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))

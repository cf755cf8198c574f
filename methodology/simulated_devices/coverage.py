"""How often the intervals of repetitions hold what they are of, where these are independent and where not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping

from bmwg.methodology.answers.order_statistics import median_interval
from bmwg.methodology.answers.student import interval, likeness

COUNTS = (3, 5, 10, 20)  # repetitions
Draw = Callable[[random.Random, int], list[float]]


def alike(correlation: float) -> Draw:
    """Repetitions each of which is so like the one before (correlation from one to the next)."""
    rest = math.sqrt(1 - correlation**2)

    def draw(chance: random.Random, count: int) -> list[float]:
        values = [chance.gauss(0, 1)]
        while len(values) < count:
            values.append(correlation * values[-1] + rest * chance.gauss(0, 1))
        return values

    return draw


def deployed(ratio: float, *, anew: bool) -> Draw:
    """Deployments that differ `ratio` times as much as repetitions do: one for all, or one for each."""

    def draw(chance: random.Random, count: int) -> list[float]:
        one = chance.gauss(0, ratio)
        return [(chance.gauss(0, ratio) if anew else one) + chance.gauss(0, 1) for _ in range(count)]

    return draw


MODELS: Mapping[str, Draw] = {
    "independent": alike(0),
    "a deployment each, which differ as much as repetitions": deployed(1, anew=True),
    "a deployment each, which differ twice as much": deployed(2, anew=True),
    "correlation 0.2": alike(0.2),
    "correlation 0.5": alike(0.5),
    "correlation 0.8": alike(0.8),
    "one deployment, which differ as much as repetitions": deployed(1, anew=False),
    "one deployment, which differ twice as much": deployed(2, anew=False),
}


def mean_covered(draw: Draw, count: int, cells: int, chance: random.Random) -> float:
    """Return in which share of so many cells the 95 % interval of a mean holds it; it is 0."""
    held = 0
    for _ in range(cells):
        found = interval(draw(chance, count))
        held += abs(found.mean) <= (found.half_width or 0.0)
    return held / cells


def median_covered(draw: Draw, count: int, cells: int, chance: random.Random) -> tuple[float, float]:
    """Return in which share of so many cells the interval of a median holds it, and what it says itself."""
    held, said = 0, 0.0
    for _ in range(cells):
        found = median_interval(draw(chance, count))
        held += found.low <= 0 <= found.high
        said = found.covers
    return held / cells, said


def remarked(draw: Draw, count: int, cells: int, chance: random.Random) -> float:
    """Return in which share of so many cells it is remarked that repetitions follow each other alike."""
    return sum(likeness(draw(chance, count)) is not None for _ in range(cells)) / cells

"""Whether repeats carry a difference, and where a series changed. Pure; the same numbers, the same answer.

The test is a permutation test: it asks how often as large a difference of mean logarithms comes from dealing
the same numbers to the sides by chance. It assumes that the runs could have been made in any order, and no
distribution.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TypeVar

ALPHA = 0.05  # choice, docs/adr/0090: share of shown differences that may be chance
CHANGE_ALPHA = 0.01  # choice, docs/adr/0091: of a change point in one series
LEAST_SEGMENT = 4  # choice: fewer runs cannot carry a change at CHANGE_ALPHA
_EXACT = 20_000  # deals; above that as many are drawn by a fixed seed
_DRAWS = 1_999
_SEED = 2544
_CLOSE = 1e-12
METHOD = (  # of the change points, in words
    "Method: a series is split in two where the sum of squares between the parts is largest, again and again;"
    f" a split counts when fewer than {CHANGE_ALPHA:.0%} of {_DRAWS} random orders of the same numbers part"
    f" as far; a level has at least {LEAST_SEGMENT} runs."
)

Item = TypeVar("Item")


def least_p(first: int, second: int, lacking: tuple[int, int] = (0, 0)) -> float:
    """Return the smallest p-value that so many repeats a side can give, of which `lacking` have no number."""
    numbers = [1.0] * (first - lacking[0]), [2.0] * (second - lacking[1])
    return difference_p(*filled(*numbers, lacking)) if all(numbers) else 1.0


def least_repeats(lacking: tuple[int, int]) -> int:
    """Return how many repeats of each side are the least that can show a difference at `ALPHA`."""
    return next(n for n in itertools.count(max(lacking) + 1) if least_p(n, n, lacking) <= ALPHA)


def filled(
    first: Sequence[float], second: Sequence[float], lacking: tuple[int, int]
) -> tuple[list[float], list[float]]:
    """Return both sides, each repeat without a number as the median of the other side (docs/adr/0630).

    So it speaks against a difference, whatever kept it from having one.
    """
    return [*first, *[median(second)] * lacking[0]], [*second, *[median(first)] * lacking[1]]


def difference_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value that both sides are the same; 1 when a side is empty.

    ValueError for a number that is not above 0: it has no logarithm.
    """
    if not first or not second:
        return 1.0
    if min(*first, *second) <= 0:
        raise ValueError(f"numbers: expected above 0, found {min(*first, *second)}")
    pool = [math.log(number) for number in (*first, *second)]
    count, total = len(first), math.fsum(pool)
    observed = _apart(math.fsum(pool[:count]), total, count, len(pool))
    if math.comb(len(pool), count) <= _EXACT:
        deals: Iterable[Sequence[float]] = itertools.combinations(pool, count)
        apart = [_apart(math.fsum(deal), total, count, len(pool)) for deal in deals]
        return sum(value >= observed - _CLOSE for value in apart) / len(apart)
    dealer = random.Random(_SEED)
    hits = sum(
        _apart(math.fsum(dealer.sample(pool, count)), total, count, len(pool)) >= observed - _CLOSE
        for _ in range(_EXACT)
    )
    return (hits + 1) / (_EXACT + 1)


def is_higher(numbers: Sequence[float], than: Sequence[float]) -> bool:
    """Whether numbers are higher by what `difference_p` tests: the mean logarithm."""
    return math.fsum(map(math.log, numbers)) / len(numbers) > math.fsum(map(math.log, than)) / len(than)


def _apart(part: float, total: float, count: int, size: int) -> float:
    return abs(part / count - (total - part) / (size - count))


def shown(p_values: Sequence[float], alpha: float = ALPHA) -> tuple[bool, ...]:
    """Say which of many tests may be shown: at most `alpha` of those are chance (Benjamini-Hochberg)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    last = 0
    for rank, index in enumerate(order, start=1):
        if p_values[index] <= alpha * rank / len(p_values):
            last = rank
    passed = set(order[:last])
    return tuple(index in passed for index in range(len(p_values)))


def change_points(numbers: Sequence[float]) -> tuple[int, ...]:
    """Return the positions at which a new level begins, ascending; found by splitting again and again.

    A split is kept when its best place parts the series more than all but CHANGE_ALPHA of random orders do.
    """
    found: list[int] = []
    open_parts = [(0, len(numbers))]
    while open_parts:
        begin, end = open_parts.pop()
        at = _split([float(number) for number in numbers[begin:end]])
        if at is not None:
            found.append(begin + at)
            open_parts += [(begin, begin + at), (begin + at, end)]
    return tuple(sorted(found))


def _split(numbers: list[float]) -> int | None:
    if len(numbers) < 2 * LEAST_SEGMENT:
        return None
    best, place = _best(numbers)
    if best <= 0:
        return None
    dealer = random.Random(_SEED)
    dealt = list(numbers)
    allowed = math.floor(CHANGE_ALPHA * (_DRAWS + 1)) - 1
    hits = 0
    for _ in range(_DRAWS):
        dealer.shuffle(dealt)
        hits += _best(dealt)[0] >= best - _CLOSE * max(1.0, best)
        if hits > allowed:
            return None
    return place


def _best(numbers: Sequence[float]) -> tuple[float, int]:
    """Return the largest between-part sum of squares and where it is."""
    total, size = math.fsum(numbers), len(numbers)
    best, place, left = -1.0, 0, math.fsum(numbers[: LEAST_SEGMENT - 1])
    for at in range(LEAST_SEGMENT, size - LEAST_SEGMENT + 1):
        left += numbers[at - 1]
        apart = left / at - (total - left) / (size - at)
        score = apart * apart * at * (size - at) / size
        if score > best:
            best, place = score, at
    return best, place


def parted(items: Sequence[Item], points: Sequence[int]) -> tuple[Sequence[Item], ...]:
    """Return the levels that the change points part."""
    edges = [0, *points, len(items)]
    return tuple(items[begin:end] for begin, end in itertools.pairwise(edges))

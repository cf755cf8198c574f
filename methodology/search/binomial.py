"""Whether so many lossy trials are more than a share of them allows. Pure."""

from __future__ import annotations

import math

ERROR = 0.01  # choice: of refusing what loses in just the share that it may


def refused(lossy: int, trials: int, share: float) -> bool:
    """Whether `lossy` or more of `trials` lose in at most 1 % of cases where a share (0..1) of them does."""
    if not 0 <= lossy <= trials:
        raise ValueError(f"lossy: expected 0 to {trials}, found {lossy}")
    if not 0 <= share <= 1:
        raise ValueError(f"share: expected 0..1, found {share}")
    as_many = (
        math.comb(trials, number) * share**number * (1 - share) ** (trials - number)
        for number in range(lossy, trials + 1)
    )
    return math.fsum(as_many) <= ERROR

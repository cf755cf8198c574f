"""May a share of trials lose more than a goal allows? A sequential test with declared errors. Pure.

A goal of RFC 9971 lets a share of its trials (the goal exceed ratio) lose more than its loss ratio. Trials
after a search ask whether a load still keeps that: they are taken one after the other, so a clear case ends
early. The test is Wald's sequential probability ratio test of two shares of lossy trials: the goal's own one,
and one at which only a fifth as many trials are good. A load of the first kind is refused, and one of the
second accepted, with the probabilities below at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

UNJUST = 0.0025  # choice: a load that keeps the goal is refused; four such tests make 1 % of an answer
MISSED = 0.01  # choice: a load at which only a fifth as many trials are good is accepted
_GOOD_LEFT = 0.2  # choice: what is told apart; nearer shares of lossy trials need hundreds of them
FIXED_ERROR = 0.01  # choice: the same, of a test of a fixed number of trials
MOST_TRIALS = 60  # choice: what is not told apart within so many does not differ by much


class Verdict(StrEnum):
    """What the trials of one load say."""

    KEEPS = "keeps"  # no more of them lose than the goal allows, as far as they tell
    EXCEEDS = "exceeds"  # significantly more
    OPEN = "open"  # one more trial is needed


def verdict(
    lossy: Iterable[bool], exceed_ratio: float, *, worse: float | None = None, missed: float = MISSED
) -> Verdict:
    """Return what trials say, in order; `exceed_ratio` (0..1) of them may be lossy.

    `worse` (0..1) is the share that has to be told from it, and `missed` how often it may be accepted. With
    an exceed ratio of 0 the first lossy trial is one too many, and three good ones are enough.
    """
    if worse is None:
        worse = 1 - (1 - exceed_ratio) * _GOOD_LEFT
    good_step = math.log((1 - worse) / (1 - exceed_ratio))
    lossy_step = math.log(worse / exceed_ratio) if exceed_ratio > 0 else math.inf
    refuse, accept = math.log((1 - missed) / UNJUST), math.log(missed / (1 - UNJUST))
    ratio, number = 0.0, 0
    for number, lost in enumerate(lossy, start=1):  # noqa: B007
        ratio += lossy_step if lost else good_step
        if ratio >= refuse:
            return Verdict.EXCEEDS
        if ratio <= accept:
            return Verdict.KEEPS
    return Verdict.KEEPS if number >= MOST_TRIALS else Verdict.OPEN


def all_lossy_trials(exceed_ratio: float) -> int:
    """Return how many trials in a row, all lossy, a load that keeps the goal has at most by bad luck."""
    if exceed_ratio <= 0:
        return 1
    return min(MOST_TRIALS, math.ceil(math.log(UNJUST) / math.log(exceed_ratio)))


def at_least(count: int, trials: int, share: float) -> float:
    """Return the probability (0..1) of `count` or more among so many trials, each of probability `share`."""
    return math.fsum(
        math.comb(trials, hits) * share**hits * (1 - share) ** (trials - hits)
        for hits in range(count, trials + 1)
    )


def refused(lossy: int, trials: int, share: float) -> bool:
    """Whether so many lossy trials, of a number fixed beforehand, are more than a share (0..1) allows.

    Trials that keep the share are refused in 1 of 100 cases at most.
    """
    if not 0 <= lossy <= trials:
        raise ValueError(f"lossy: expected 0 to {trials}, found {lossy}")
    if not 0 <= share <= 1:
        raise ValueError(f"share: expected 0..1, found {share}")
    return lossy > 0 and at_least(lossy, trials, share) <= FIXED_ERROR

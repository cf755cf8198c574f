"""The sequential test of a share of lossy trials keeps the errors that it declares."""

from __future__ import annotations

import random
from itertools import count

import pytest

from bmwg.methodology.search.sequential import (
    MISSED,
    UNJUST,
    Verdict,
    all_lossy_trials,
    at_least,
    verdict,
)


def decided(share: float, exceed_ratio: float, dice: random.Random) -> tuple[Verdict, int]:
    lossy: list[bool] = []
    for number in count():
        found = verdict(lossy, exceed_ratio)
        if found is not Verdict.OPEN:
            return found, number
        lossy.append(dice.random() < share)
    raise AssertionError


def refused(share: float, exceed_ratio: float, cases: int = 4000) -> float:
    dice = random.Random(f"{share} {exceed_ratio}")
    return sum(decided(share, exceed_ratio, dice)[0] is Verdict.EXCEEDS for _ in range(cases)) / cases


@pytest.mark.parametrize("exceed_ratio", [0.2, 0.5, 0.75])
def test_what_keeps_the_goal_is_refused_no_more_often_than_declared(exceed_ratio):
    assert refused(exceed_ratio, exceed_ratio) <= 2 * UNJUST  # 4,000 cases tell no less
    assert refused(exceed_ratio / 2, exceed_ratio) == 0


@pytest.mark.parametrize("exceed_ratio", [0.2, 0.5])
def test_where_a_fifth_as_many_are_good_it_is_accepted_no_more_often_than_declared(exceed_ratio):
    worse = 1 - (1 - exceed_ratio) / 5
    assert 1 - refused(worse, exceed_ratio) <= 1.5 * MISSED


def test_without_forgiveness_one_lossy_trial_is_too_many_and_three_good_ones_are_enough():
    assert verdict([True], 0.0) is Verdict.EXCEEDS
    assert verdict([False, False], 0.0) is Verdict.OPEN
    assert verdict([False, False, False], 0.0) is Verdict.KEEPS
    assert verdict([False, False, True], 0.0) is Verdict.EXCEEDS


def test_a_clear_case_ends_early():
    assert verdict([False] * 3, 0.5) is Verdict.KEEPS
    assert verdict([True] * 10, 0.5) is Verdict.OPEN
    assert verdict([True] * 11, 0.5) is Verdict.EXCEEDS


def test_what_cannot_be_told_apart_ends_and_is_no_refusal():
    found, trials = decided(0.72, 0.5, random.Random(5))
    assert found in (Verdict.KEEPS, Verdict.EXCEEDS)
    assert trials <= 60
    alternating = [True, True, True, False] * 15
    assert verdict(alternating, 0.5) is Verdict.KEEPS


def test_trials_in_a_row():
    assert all_lossy_trials(0.0) == 1
    assert 0.5 ** all_lossy_trials(0.5) <= UNJUST < 0.5 ** (all_lossy_trials(0.5) - 1)


def test_the_tail_of_a_binomial_law():
    assert at_least(0, 5, 0.3) == pytest.approx(1.0)
    assert at_least(1, 3, 0.5) == pytest.approx(0.875)
    assert at_least(1, 3, 0.0) == 0

"""The test behind a verdict, and where a series changed."""

from __future__ import annotations

import math
import random

import pytest

from bmwg.reports.compare.statistics import (
    change_points,
    difference_p,
    filled,
    least_p,
    least_repeats,
    shown,
)


def test_the_test_is_exact_for_small_sides() -> None:
    assert difference_p([1.0, 2.0, 3.0], [10.0, 20.0, 30.0]) == pytest.approx(2 / 20)
    assert difference_p([1.0, 2.0], [1.0, 2.0]) == 1.0
    assert difference_p([], [1.0]) == 1.0
    assert least_p(3, 3) == pytest.approx(0.1)
    assert least_p(4, 4) == pytest.approx(2 / 70)
    with pytest.raises(ValueError, match="above 0"):
        difference_p([0.0], [1.0])


def test_the_test_shows_chance_no_more_often_than_it_says() -> None:
    dealer = random.Random(7)
    hits = 0
    for _ in range(400):
        numbers = [math.exp(dealer.gauss(0, 0.1)) for _ in range(10)]
        hits += difference_p(numbers[:5], numbers[5:]) <= 0.05
    assert hits <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)


@pytest.mark.parametrize("repeats", [5, 8])
def test_equal_sides_differ_no_more_often_where_one_loses_its_lowest_numbers(repeats: int) -> None:
    """What keeps a repeat from a number may be what would have made it low."""
    dealer = random.Random(11)
    hits, lost = 0, repeats // 4
    for _ in range(400):
        first, second = ([math.exp(dealer.gauss(0, 0.1)) for _ in range(repeats)] for _ in range(2))
        hits += difference_p(*filled(sorted(first)[lost:], second, (lost, 0))) <= 0.05
    assert hits <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)


def test_as_many_repeats_as_can_show_a_difference() -> None:
    told = [least_repeats(lacking) for lacking in ((0, 0), (0, 1), (1, 1), (2, 0))]
    assert told == [4, 5, 7, 7]
    assert least_p(4, 4, (0, 4)) == 1.0


def test_large_sides_are_drawn_and_give_the_same_each_time() -> None:
    dealer = random.Random(7)
    first = [dealer.gauss(100, 1) for _ in range(15)]
    second = [dealer.gauss(103, 1) for _ in range(15)]
    assert difference_p(first, second) == difference_p(first, second) < 0.001


@pytest.mark.parametrize(
    ("p_values", "expected"),
    [
        ([], []),
        ([0.05], [True]),
        ([0.03, 0.03], [True, True]),
        ([0.01, 0.9, 0.9, 0.9, 0.9, 0.9], [False] * 6),
        ([0.001, 0.02, 0.9], [True, True, False]),
    ],
)
def test_many_tests_are_held_to_the_share_of_chance(p_values: list[float], expected: list[bool]) -> None:
    assert list(shown(p_values)) == expected


def test_change_points_are_found_where_they_are() -> None:
    dealer = random.Random(3)
    series = [dealer.gauss(level, 1.0) for level in [100.0] * 12 + [110.0] * 9 + [95.0] * 10]
    assert change_points(series) == (12, 21)
    assert change_points(series) == change_points(series)
    assert change_points([5.0] * 30) == ()
    assert change_points([1.0, 1.0, 9.0, 9.0]) == ()


def test_a_steady_series_seldom_has_a_change_point() -> None:
    dealer = random.Random(11)
    found = sum(bool(change_points([dealer.gauss(100, 1) for _ in range(20)])) for _ in range(100))
    assert found <= 4  # 1 expected of 100; more than 4 has a chance below 0.4 %

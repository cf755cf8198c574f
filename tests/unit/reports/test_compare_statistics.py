"""The test behind a verdict, and where a trend changed."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from compared_runs import record, run_of
from made_parts import THROUGHPUT

from bmwg.methodology.errors import ConfigError
from bmwg.reports.compare import trend, trend_page
from bmwg.reports.compare.statistics import change_points, difference_p, least_p, shown
from bmwg.reports.render.rst import restructured


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


def test_a_trend_names_the_run_and_the_fields_that_changed(tmp_path: Path) -> None:
    runs = []
    for number in range(16):
        late = number >= 8
        runs.append(
            run_of(
                tmp_path,
                f"run{number:02d}",
                (90_000 if late else 100_000) + 100 * (number % 3),
                hour=number,
                platform=record(release="6.18.0" if late else "6.1.0"),
            )
        )
    made = trend(list(reversed(runs)))
    series = next(one for one in made.series if one.metric == THROUGHPUT)
    (change,) = series.changes
    assert change.run_id == "run08"
    assert (change.before, change.after) == (100_100, 90_100)
    assert [field.path for field in change.fields] == ["platform/kernel/release"]
    page = restructured(trend_page(made))
    assert "platform/kernel/release" in page
    assert "run08" in page


def test_a_trend_of_two_testbeds_is_refused(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, "a", 1000), run_of(tmp_path, "b", 1000, testbed={"name": "lab"}, hour=1)]
    for wrong in (runs, runs[:1]):
        with pytest.raises(ConfigError, match="CMP-05"):
            trend(wrong)

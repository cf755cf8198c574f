"""Student's t against the printed tables, and Welch's comparison."""

from __future__ import annotations

import pytest

from bmwg.methodology.answers.student import difference, interval, likeness, quantile


@pytest.mark.parametrize(
    ("freedom", "printed"),
    [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (19, 2.093), (30, 2.042), (120, 1.980)],
)
def test_quantile_is_that_of_the_printed_tables(freedom: int, printed: float) -> None:
    assert quantile(0.975, freedom) == pytest.approx(printed, abs=0.0006)


def test_quantile_nears_the_normal_distribution() -> None:
    assert quantile(0.975, 1e7) == pytest.approx(1.959964, abs=1e-5)
    assert quantile(0.5, 3) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("share", "freedom"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_quantile_refuses_what_has_none(share: float, freedom: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        quantile(share, freedom)


def test_equal_values_do_not_vary_whatever_their_mean_rounds_to() -> None:
    """The sum of 24 such values over 24 is another number than they are."""
    values = [976738275.6552918] * 24
    assert likeness(values) is None
    assert interval(values).half_width == 0
    assert difference(values, values) is None


def test_interval_of_ten_values() -> None:
    found = interval([float(value) for value in range(1, 11)])
    assert found.mean == 5.5
    assert found.half_width == pytest.approx(2.262157 * 3.02765 / 10**0.5, rel=1e-5)
    assert (found.minimum, found.maximum, found.count) == (1, 10, 10)


def test_one_value_has_no_interval() -> None:
    assert interval([3.0]).half_width is None
    with pytest.raises(ValueError, match="at least one"):
        interval([])


def test_welch_tells_apart_only_what_differs() -> None:
    slow, fast, noisy = [10.0, 10.1, 9.9, 10.0], [5.0, 5.1, 4.9, 5.0], [1.0, 20.0, 5.0, 14.0]
    assert difference(slow, fast).sign == 1  # type: ignore[union-attr]
    assert difference(fast, slow).sign == -1  # type: ignore[union-attr]
    assert difference(slow, noisy).sign == 0  # type: ignore[union-attr]
    assert difference(slow, [1.0]) is None
    assert difference([1.0, 1.0], [2.0, 2.0]) is None

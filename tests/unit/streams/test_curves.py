"""The signed area between two curves, by hand."""

from __future__ import annotations

import pytest

from bmwg.methodology.kinds.streams.curves import of_ratios


def test_equal_curves_have_no_area() -> None:
    found = of_ratios({100: 1.0, 200: 1.0})
    assert found is not None
    assert (found.area, found.mean_excess) == (0, 0)


def test_a_curve_above_is_positive_and_one_below_negative() -> None:
    above = of_ratios({0: 1.2, 100: 1.2, 300: 1.2})
    below = of_ratios({300: 1.0, 0: 1.0, 100: 0.5})
    assert above is not None
    assert below is not None
    assert above.area == pytest.approx(0.2 * 300)
    assert above.mean_excess == pytest.approx(0.2)
    assert below.area == pytest.approx(-(0.5 * 100 / 2 + 0.5 * 200 / 2))
    assert list(below.ratios) == [0, 100, 300]


@pytest.mark.parametrize("ratios", [{}, {1: 1.0}])
def test_one_point_is_no_curve(ratios) -> None:
    assert of_ratios(ratios) is None

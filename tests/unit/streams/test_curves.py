"""The signed area between two curves, by hand."""

from __future__ import annotations

import pytest

from bmwg.methodology.kinds.streams.curves import beside


def test_equal_curves_have_no_area() -> None:
    found = beside({100: 5.0, 200: 7.0}, {100: 5.0, 200: 7.0})
    assert found is not None
    assert (found.area, found.mean_excess) == (0, 0)


def test_a_curve_above_is_positive_and_one_below_negative() -> None:
    base = {0: 10.0, 100: 10.0, 300: 10.0}
    above = beside({0: 12.0, 100: 12.0, 300: 12.0}, base)
    below = beside({0: 10.0, 100: 5.0, 300: 10.0}, base)
    assert above is not None
    assert below is not None
    assert above.area == pytest.approx(0.2 * 300)
    assert above.mean_excess == pytest.approx(0.2)
    assert below.area == pytest.approx(-(0.5 * 100 / 2 + 0.5 * 200 / 2))


def test_sizes_that_one_of_them_lacks_are_left_out() -> None:
    found = beside({1: 1.0, 2: 2.0, 4: 4.0}, {2: 2.0, 4: 8.0, 8: 1.0})
    assert found is not None
    assert found.ratios == {2: 1.0, 4: 0.5}


@pytest.mark.parametrize(
    ("curve", "base"), [({}, {}), ({1: 1.0}, {1: 1.0}), ({1: 1.0, 2: 1.0}, {1: 0.0, 2: 1.0})]
)
def test_one_point_is_no_curve(curve, base) -> None:
    assert beside(curve, base) is None

"""A median's interval: what order statistics cover, by hand."""

from __future__ import annotations

import pytest

from bmwg.methodology.answers.order_statistics import median_interval


@pytest.mark.parametrize(
    ("count", "low", "high", "covers"),
    [
        (1, 1, 1, 0.0),
        (4, 1, 4, 0.875),
        (5, 1, 5, 0.9375),
        (7, 1, 7, 0.984375),
        (8, 2, 7, 0.9297),
        (20, 6, 15, 0.9586),
    ],
)
def test_the_narrowest_that_covers_nine_of_ten(count, low, high, covers) -> None:
    found = median_interval([float(value) for value in range(count, 0, -1)])
    assert (found.count, found.low, found.high) == (count, low, high)
    assert found.covers == pytest.approx(covers, abs=1e-4)
    assert found.median == (count + 1) / 2


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="at least one"):
        median_interval([])

"""A median of executions with its interval, as tables of acts have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bmwg.methodology.answers.order_statistics import CONFIDENCE, median_interval
from bmwg.reports.render.text import NONE, nanoseconds


def median(values: Sequence[float], words: Callable[[float], str] = nanoseconds) -> str:
    """Say a median, and between what it lies; of few executions also how surely."""
    if not values:
        return NONE
    told = median_interval(values)
    covers = f", {told.covers:.0%}" if told.covers < CONFIDENCE else ""
    return f"{words(told.median)} ({words(told.low)} to {words(told.high)}{covers})"

"""Holds runs against each other: first what differs in the platform, then the numbers that repeats carry."""

from bmwg.reports.compare.comparison import Comparison, compare
from bmwg.reports.compare.page import comparison_page
from bmwg.reports.compare.sides import Side, read_side
from bmwg.reports.compare.trend import Trend, trends

__all__ = [
    "Comparison",
    "Side",
    "Trend",
    "compare",
    "comparison_page",
    "read_side",
    "trends",
]

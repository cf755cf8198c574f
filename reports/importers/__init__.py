"""Reads result files of other tools and says what their numbers are. They stay foreign: nothing here is
graded.
"""

from bmwg.reports.importers.page import foreign_page
from bmwg.reports.importers.read import TOOLS, read_foreign
from bmwg.reports.importers.records import ForeignFigure, ForeignResult, ForeignTrial, as_json

__all__ = [
    "TOOLS",
    "ForeignFigure",
    "ForeignResult",
    "ForeignTrial",
    "as_json",
    "foreign_page",
    "read_foreign",
]

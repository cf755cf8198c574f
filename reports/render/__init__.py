"""Tells of a run: a page, a text and lines for a terminal, computed from the run alone."""

from bmwg.reports.render.report import write_report
from bmwg.reports.render.summary import summary_lines

__all__ = ["summary_lines", "write_report"]

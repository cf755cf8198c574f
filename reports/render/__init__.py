"""Tells of a run: a page, texts of several forms and lines for a terminal, computed from the run alone."""

from bmwg.reports.render.report import FILES, write_form, write_report
from bmwg.reports.render.summary import summary_lines

__all__ = ["FILES", "summary_lines", "write_form", "write_report"]

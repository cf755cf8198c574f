"""Tells of a run: a page, texts of several forms and lines for a terminal, computed from the run alone."""

"""Tells of a run: a page, a text and lines for a terminal, computed from the run alone."""

"""Cells: what a cell may vary, by name and value."""

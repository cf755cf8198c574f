"""Testbed files: read, checked, and what their links are."""

"""The profiles of the suites of streams, as package data."""

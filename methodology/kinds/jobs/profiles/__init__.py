"""The profiles of the host suites, as package data."""

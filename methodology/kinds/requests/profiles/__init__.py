"""The profiles of the HTTP proxy suites, as data."""

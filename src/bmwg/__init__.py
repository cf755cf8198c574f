"""BMWG toolkit: the IETF benchmarking methodologies as executable, checkable suites."""

__version__ = "0.1.0"

"""Numbers of programs' reports, read one by one: ValueError for what is none."""

from __future__ import annotations


def count(value: object) -> int:
    """Return a count."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"expected a count, found {value!r}")
    return value


def rate(text: str) -> float:
    """Return what is printed as a rate, in its own unit."""
    value = float(text)
    if not 0 < value < 1e9:
        raise ValueError(f"expected a rate, found {text!r}")
    return value


def nanoseconds(seconds: str) -> int:
    """Return what is printed as seconds."""
    value = float(seconds)
    if not 0 < value < 1e7:
        raise ValueError(f"expected seconds, found {seconds!r}")
    return round(value * 1e9)

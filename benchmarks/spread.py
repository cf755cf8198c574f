"""How far the figures of a benchmark's runs lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median


def spread(values: Sequence[float], unit: str = "") -> dict[str, float]:
    """Median, minimum and maximum, with the unit in their names, and of how many runs."""
    if not values:
        return {"runs": 0}
    figures = {"median": median(values), "min": min(values), "max": max(values)}
    named = {f"{name}_{unit}" if unit else name: figure for name, figure in figures.items()}
    return {**named, "runs": len(values)}

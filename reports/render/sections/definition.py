"""What a definition of a metric is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric: its unit, the clause that defines it, and its meaning in our words."""

    unit: str
    clause: str
    meaning: str

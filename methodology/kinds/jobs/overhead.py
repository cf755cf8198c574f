"""A form against native: ratios of executions of the same block, with their interval. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bmwg.methodology.student import interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """The geometric mean of the ratios of so many blocks, and its 95 % interval (None of fewer than two)."""

    ratio: float
    low: float | None
    high: float | None
    blocks: int


def against(form: Mapping[int, float], native: Mapping[int, float]) -> Against | None:
    """Hold a form's figures by block against those of native; None without a block that both have."""
    both = [number for number in form if form[number] > 0 and native.get(number, 0) > 0]
    if not both:
        return None
    found = interval([math.log(form[number] / native[number]) for number in both])
    half = found.half_width
    return Against(
        ratio=math.exp(found.mean),
        low=None if half is None else math.exp(found.mean - half),
        high=None if half is None else math.exp(found.mean + half),
        blocks=len(both),
    )

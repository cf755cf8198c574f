"""Curves over a size beside the curve of another form: ratios, and the signed area between them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """A curve normalized to another: `ratios` by size (octets), for sizes that both have.

    `area` is that between the curve and the line of ratio 1 over the sizes, in octets: positive where the
    curve lies above (document 004's verdict). `mean_excess` is the area per octet of the range, which does
    not grow with it.
    """

    ratios: Mapping[int, float]
    area: float
    mean_excess: float


def of_ratios(found: Mapping[int, float]) -> Beside | None:
    """Return a normalized curve by its ratios; None of fewer than two sizes."""
    sizes = sorted(found)
    if len(sizes) < 2:
        return None
    ratios = {size: found[size] for size in sizes}
    area = sum((upper - lower) * (ratios[lower] + ratios[upper] - 2) / 2 for lower, upper in pairwise(sizes))
    return Beside(ratios=ratios, area=area, mean_excess=area / (sizes[-1] - sizes[0]))

"""Randomized complete blocks: whose turn it is, and a form against native of the same blocks. Pure.

A block is one execution of each cell of an experiment: form after form, in an order drawn from the run's
seed. What drifts with time falls on all forms alike.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bmwg.methodology.answers.student import interval


def next_up(
    forms: Sequence[Sequence[str]],
    done: Mapping[str, int],
    ended: Collection[str],
    *,
    seed: int,
    experiment: str,
) -> str | None:
    """Return which cell has its execution next; None when all have ended.

    `forms` are the cells of each form that is planned, `done` how many executions each cell has, valid or
    not. In a block all cells of a form come one after the other, so that it stands once for them. Whoever
    knows the executions so far gets the same answer, so a run that was cut off goes on where it was.
    """
    left = [cell for form in forms for cell in form if cell not in ended]
    if not left:
        return None
    block = min(done.get(cell, 0) for cell in left)
    order = list(forms)
    random.Random(f"{seed}/{experiment}/{block}").shuffle(order)
    due = (cell for form in order for cell in form if cell not in ended and done.get(cell, 0) == block)
    return next(due)


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


def together(parts: Sequence[Against]) -> Against | None:
    """Return the geometric mean of ratios of several experiments; None without one that has an interval.

    Each experiment counts alike. Its interval follows from theirs, which are taken to be independent: half
    widths of logarithms add by their squares.
    """
    if not parts or any(part.low is None or part.high is None for part in parts):
        return None
    mean = sum(math.log(part.ratio) for part in parts) / len(parts)
    halves = [math.log(part.high / part.low) / 2 for part in parts if part.high and part.low]
    half = math.hypot(*halves) / len(parts)
    return Against(
        ratio=math.exp(mean),
        low=math.exp(mean - half),
        high=math.exp(mean + half),
        blocks=sum(part.blocks for part in parts),
    )

"""In which order the hosting forms of an experiment take their executions: randomized complete blocks. Pure.

A block is one execution of each form, in an order drawn from the run's seed. What drifts with time falls on
all forms alike, and each form can be held against native of the same block.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bmwg.methodology.cells import neighbours
from bmwg.methodology.plan import blocks
from bmwg.methodology.records import Cell


def experiment_of(metric: str, cell: Cell) -> str:
    """Return the name by which forms draw their order: beside each neighbour one of its own."""
    name = neighbours.of(cell)
    return metric if name == neighbours.ALONE else f"{metric}/beside-{name}"


def next_up(
    forms: Sequence[str], done: Mapping[str, int], ended: Collection[str], *, seed: int, experiment: str
) -> str | None:
    """Return which form runs next; None when all have ended.

    `forms` are all that are planned, `done` how many executions each has, valid or not. Whoever knows the
    executions so far gets the same answer, so a run that was cut off goes on where it was.
    """
    return blocks.next_up([[form] for form in forms], done, ended, seed=seed, experiment=experiment)

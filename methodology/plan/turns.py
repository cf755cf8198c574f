"""Options take turns: plans in randomized blocks, for every kind of load (docs/adr/0267). Pure.

What drifts with time then falls on all options of a block alike, and is no difference between them.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar


class Turn(Protocol):
    """An entry of a plan. `key` is its own, `deployment` what has to stand for it.

    `block` is what it has in common with the entries that it is compared with.
    """

    @property
    def key(self) -> Hashable: ...  # noqa: D102
    @property
    def deployment(self) -> Hashable: ...  # noqa: D102
    @property
    def block(self) -> Hashable: ...  # noqa: D102


One = TypeVar("One", bound=Turn)


def interleaved(plan: Sequence[One], seed: int) -> tuple[One, ...]:
    """Return a plan in randomized blocks: in each, every deployment once, in an order of its own.

    Blocks keep their order, and the entries of one deployment in a block theirs. The same plan and seed give
    the same order.
    """
    blocks: dict[Hashable, dict[Hashable, list[One]]] = {}
    for planned in plan:
        blocks.setdefault(planned.block, {}).setdefault(planned.deployment, []).append(planned)
    order: list[One] = []
    for number, options in enumerate(blocks.values()):
        chosen = list(options.values())
        random.Random(f"{seed}/{number}").shuffle(chosen)
        order += [planned for option in chosen for planned in option]
    return tuple(order)


def in_recorded_order(plan: Sequence[One], recorded: Sequence[Hashable]) -> tuple[One, ...]:
    """Return a plan in the order of the keys that a run recorded; what it did not record comes last."""
    places = {key: place for place, key in reversed(list(enumerate(recorded)))}
    return tuple(sorted(plan, key=lambda planned: places.get(planned.key, len(places))))


def visit(plan: Sequence[One], wanted: One) -> tuple[One, ...]:
    """Return what is measured while a deployment stands: the neighbours of an entry that share it."""
    here = next((place for place, planned in enumerate(plan) if planned.key == wanted.key), None)
    if here is None:
        return (wanted,)
    first = last = here
    while first > 0 and plan[first - 1].deployment == wanted.deployment:
        first -= 1
    while last + 1 < len(plan) and plan[last + 1].deployment == wanted.deployment:
        last += 1
    return tuple(plan[first : last + 1])

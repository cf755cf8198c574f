"""One value for each direction: frames of two directions are two streams, and their delays differ.

A cell of one direction has a value under the plain name of its metric. A cell of both has two, each with the
direction behind the metric: `pdv.rfc8219_7_3_1.forward.p99`.
"""

from __future__ import annotations

from collections.abc import Iterable

from bmwg.methodology.records import Direction, Quantity

FORWARD, REVERSE = "forward", "reverse"


def sending(direction: Direction) -> tuple[str, ...]:
    """Return the directions in which frames are sent, forward first: those of a trial's `streams`."""
    return (FORWARD, REVERSE) if direction is Direction.BOTH else (direction.value,)


def ways(direction: Direction) -> tuple[str, ...]:
    """Return what tells the values of a cell apart, in the order of a trial's `streams`.

    Empty where there is one direction only.
    """
    return (FORWARD, REVERSE) if direction is Direction.BOTH else ("",)


def metric(family: str, way: str = "", part: str = "") -> str:
    """Return the metric of a value: family, direction and part, as far as there are such."""
    return ".".join(name for name in (family, way, part) if name)


def quantities(
    family: str, way: str, unit: str, numbers: Iterable[tuple[str, float]]
) -> tuple[Quantity, ...]:
    """Return the values of a direction, each with its part of the metric."""
    return tuple(Quantity(metric=metric(family, way, part), number=n, unit=unit) for part, n in numbers)


def told(names: Iterable[str], family: str) -> tuple[str, ...]:
    """Return which directions the values of a family are of; one empty word where none is named.

    Earlier versions gave one value for both directions.
    """
    found = {
        way
        for name in names
        for way in (FORWARD, REVERSE)
        if name == f"{family}.{way}" or name.startswith(f"{family}.{way}.")
    }
    return tuple(way for way in (FORWARD, REVERSE) if way in found) or ("",)


def without(name: str) -> tuple[str, str]:
    """Return a metric without its direction, and the direction (empty: it has none)."""
    parts = name.split(".")
    way = next((part for part in parts if part in (FORWARD, REVERSE)), "")
    return ".".join(part for part in parts if part != way), way


def of(text: str, way: str) -> str:
    """Return a text with the direction that it is said of."""
    return f"{text} ({way})" if way else text

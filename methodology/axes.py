"""What cells of frames vary beside path, option and frame: axes by name, with what their values may be. Pure.

A path says which axes it has (`PathKind.axes`); a line of a profile's plan names the values, and each
combination of values is a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bmwg.methodology import chains

Value = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: `wrong` says what is wrong with a value (empty: nothing), `words` how a reader calls it."""

    name: str
    wrong: Callable[[object], str]
    words: Callable[[object], str]


AXES: Mapping[str, Axis] = {
    one.name: one for one in (Axis(name=chains.AXIS, wrong=chains.wrong, words=chains.words),)
}


def contradictions(
    axes: Mapping[str, Sequence[object]], known: Sequence[str]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield place, expected and found of each axis that a path lacks, and of each value that cannot be."""
    for name, values in axes.items():
        if name not in known or name not in AXES:
            yield (name,), f"an axis of this path ({', '.join(known) or 'it has none'})", repr(name)
            continue
        for place, value in enumerate(values):
            if said := AXES[name].wrong(value):
                yield (name, place), f"a value of axis {name}", said


def combinations(axes: Mapping[str, Sequence[Value]]) -> Iterator[tuple[tuple[str, Value], ...]]:
    """Yield every combination of values, each as the axes of a cell; one empty without axes."""
    names = sorted(axes)
    for values in product(*(axes[name] for name in names)):
        yield tuple(zip(names, values, strict=True))


def words(axes: Sequence[tuple[str, Value]]) -> list[str]:
    """Return the axes of a cell as a reader would call them."""
    return [AXES[name].words(value) if name in AXES else f"{name} {value}" for name, value in axes]

"""The factors of a design, read from its cells, and what such a design can tell apart. Pure.

A design is a plan whose cells have the axis `replicate`. Whatever differs between its cells is a factor:
path, network, frame size, a chain, a setting of the testbed file. Two factors that change together are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from bmwg.methodology.cells import axes
from bmwg.methodology.records import Cell

AS_IN_FILE = "as in the file"  # the level of a cell that lacks an axis which others have
_FIELDS: Mapping[str, str] = {
    "path": "path",
    "hosting": "hosting form",
    "function": "function",
    "network": "network option",
    "frame_octets": "frame size",
    "direction": "direction",
    "frame_format": "frame format",
    "flows": "flows",
    "destination_networks": "destination networks",
    "imix": "mix of sizes",
}
_TINY = 1e-9
Term = tuple[int, ...]  # places of factors: one for a main effect, two for an interaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """What a design varies: its levels, numbers by size; the first is what others are held against.

    `places` are the fields and axes of a cell that it stands for; several where they change together.
    """

    name: str
    places: tuple[str, ...]
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Factors, and the combinations of their levels (by place of the level) that cells stand for."""

    factors: tuple[Factor, ...]
    combinations: tuple[tuple[int, ...], ...]

    @property
    def possible(self) -> int:
        """How many combinations the levels have."""
        found = 1
        for factor in self.factors:
            found *= len(factor.levels)
        return found

    def missing(self) -> tuple[tuple[int, ...], ...]:
        """Return the combinations that no cell stands for."""
        every = product(*(range(len(factor.levels)) for factor in self.factors))
        return tuple(one for one in every if one not in self.combinations)

    def place(self, cell: Cell) -> tuple[int, ...]:
        """Return a cell's combination. Raises ValueError for a cell that is none of the design."""
        return tuple(factor.levels.index(_level(cell, factor.places)) for factor in self.factors)

    def words(self, combination: Sequence[int]) -> str:
        """Return a combination as a reader would call it."""
        return ", ".join(
            factor.levels[level] for factor, level in zip(self.factors, combination, strict=True)
        )

    def name(self, term: Term) -> str:
        """Return a main effect's or an interaction's name."""
        return " \u00d7 ".join(self.factors[place].name for place in term)

    @property
    def main(self) -> tuple[Term, ...]:
        """The main effects."""
        return tuple((place,) for place in range(len(self.factors)))

    @property
    def pairs(self) -> tuple[Term, ...]:
        """The interactions of two factors; those of more are taken as nil."""
        return tuple(combinations(range(len(self.factors)), 2))

    def restricted(self, kept: Iterable[tuple[int, ...]]) -> Design:
        """Return the design of these combinations alone: the same factors, of each the levels that are left.

        A level without any combination would leave its factor told apart from nothing.
        """
        wanted = set(kept)
        mine = [combination for combination in self.combinations if combination in wanted]
        left = [sorted({combination[place] for combination in mine}) for place in range(len(self.factors))]
        return Design(
            factors=tuple(
                replace(factor, levels=tuple(factor.levels[level] for level in levels))
                for factor, levels in zip(self.factors, left, strict=True)
            ),
            combinations=tuple(
                tuple(levels.index(level) for levels, level in zip(left, combination, strict=True))
                for combination in mine
            ),
        )

    def columns(self, term: Term, combination: Sequence[int]) -> list[float]:
        """Return a term's columns for a combination: each factor's levels sum to zero over its effects."""
        found = [1.0]
        for place in term:
            levels, level = len(self.factors[place].levels), combination[place]
            coded = [-1.0 if level == 0 else float(level == other) for other in range(1, levels)]
            found = [one * other for one in found for other in coded]
        return found

    def width(self, term: Term) -> int:
        """Return how many columns a term has."""
        found = 1
        for place in term:
            found *= max(0, len(self.factors[place].levels) - 1)  # 0 of a level that is left alone
        return found

    def separable(self, term: Term, others: Iterable[Term]) -> bool:
        """Whether these combinations tell a term apart from all of the others together."""
        rest = [other for other in others if other != term]
        return self._rank([*rest, term]) - self._rank(rest) == self.width(term)

    def confounded_with(self, term: Term, others: Sequence[Term]) -> tuple[Term, ...]:
        """Return those of the others without which a term would be told apart better; none: several together.

        Only for a term that is not separable.
        """
        rest = [one for one in others if one != term]
        with_all = self._rank([*rest, term]) - self._rank(rest)
        guilty = []
        for one in rest:
            fewer = [other for other in rest if other != one]
            if self._rank([*fewer, term]) - self._rank(fewer) > with_all:
                guilty.append(one)
        return tuple(guilty)

    def _rank(self, terms: Sequence[Term]) -> int:
        rows = [
            [1.0, *(value for term in terms for value in self.columns(term, combination))]
            for combination in self.combinations
        ]
        return rank(rows)


def in_design(cell: Cell) -> bool:
    """Whether a cell belongs to a design."""
    return axes.replicate(cell.axes) is not None


def design_of(cells: Iterable[Cell]) -> Design | None:
    """Return the design that some cells make up; None where none has replicates, or nothing is varied."""
    mine = list(dict.fromkeys(cell for cell in cells if in_design(cell)))
    names = [
        *_FIELDS,
        *dict.fromkeys(name for cell in mine for name, _ in cell.axes if name != axes.REPLICATE),
    ]
    by_partition: dict[tuple[int, ...], list[str]] = {}
    for name in names:
        levels = list(dict.fromkeys(_value(cell, name) for cell in mine))
        if len(levels) > 1:
            partition = tuple(levels.index(_value(cell, name)) for cell in mine)
            by_partition.setdefault(partition, []).append(name)
    factors = tuple(
        Factor(
            name=" with ".join(_FIELDS.get(place, place) for place in places),
            places=tuple(places),
            levels=tuple(sorted({_level(cell, places) for cell in mine}, key=_natural)),
        )
        for places in by_partition.values()
    )
    if not factors:
        return None
    empty = Design(factors=factors, combinations=())
    return Design(factors=factors, combinations=tuple(dict.fromkeys(empty.place(cell) for cell in mine)))


def rank(rows: Sequence[Sequence[float]]) -> int:
    """Return the rank of a small matrix."""
    return len(independent([list(column) for column in zip(*rows, strict=True)])) if rows else 0


def independent(columns: Sequence[Sequence[float]]) -> list[int]:
    """Return the places of columns that no earlier ones make up, by Gram and Schmidt's way."""
    basis: list[list[float]] = []
    found = []
    for place, column in enumerate(columns):
        left = [float(value) for value in column]
        size = sum(value * value for value in left)
        for _ in range(2):  # a second pass takes away what rounding left
            for one in basis:
                share = sum(a * b for a, b in zip(left, one, strict=True))
                left = [a - share * b for a, b in zip(left, one, strict=True)]
        norm = sum(value * value for value in left)
        if norm > _TINY * max(size, 1.0):
            basis.append([value / norm**0.5 for value in left])
            found.append(place)
    return found


def _value(cell: Cell, name: str) -> str:
    if name in _FIELDS:
        return str(getattr(cell, name))
    return str(dict(cell.axes).get(name, AS_IN_FILE))


def _natural(text: str) -> list[tuple[int, str]]:
    """Order numbers within texts by size; a chain before the longer one that begins like it."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|\D+", text)]


def _level(cell: Cell, places: Sequence[str]) -> str:
    return ", ".join(_value(cell, place) for place in places)

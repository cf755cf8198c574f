"""How a service chain is written down: functions by name in the order in which a frame passes them. Pure.

`a>b>c` is a chain of three (PVVVP), `a` alone is PVP. One name is one running function: a chain that names
one twice would lead its frames back to where they were, and is refused (CINF08-5.2.6-02).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from bmwg.methodology.answers.throughput import ends
from bmwg.methodology.records import Cell, Outcome, OutcomeType

CHAIN, PVP = "chain", "pvp"  # paths through pods that forward
AXIS = "chain"  # of a cell, and of a line of a profile's plan
ONE = "a"  # a chain of one function
MOST = 16  # choice: more functions of one chain fit on no node that was tried
_NAME = re.compile(r"[a-z][a-z0-9-]{0,15}")
_NEXT = ">"


def members(text: object) -> tuple[str, ...]:
    """Return the functions of a chain in order. Raises ValueError that says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError(f"functions joined by {_NEXT}, such as a{_NEXT}b, found {text!r}")
    names = tuple(text.split(_NEXT))
    if strange := [name for name in names if not _NAME.fullmatch(name)]:
        raise ValueError(
            f"names of small letters joined by {_NEXT}, such as a{_NEXT}b, found {strange[0]!r} in {text!r}"
        )
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise ValueError(
            f"a chain without a loop: {twice[0]!r} comes twice in {text!r}, its frames would come back to it"
        )
    if len(names) > MOST:
        raise ValueError(f"at most {MOST} functions, found {len(names)}")
    return names


def of(axes: Mapping[str, int | str]) -> tuple[str, ...]:
    """Return the chain of a cell by its axes; a cell without that axis has one function."""
    return members(axes.get(AXIS, ONE))


def words(text: object) -> str:
    """Return a chain as a reader would call it."""
    number = len(members(text))
    return f"of {number} function{'' if number == 1 else 's'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A chain's throughput held against a shorter chain of the same option, which cannot be slower.

    `holds` is None where bounds overlap or one of them is not proven.
    """

    longer: Outcome
    shorter: Outcome
    holds: bool | None


def length(cell: Cell) -> int | None:
    """Return how many functions a cell's frames pass one after the other; None for what is no chain."""
    if cell.path == PVP:
        return 1
    return len(of(dict(cell.axes))) if cell.path == CHAIN else None


def alike(cell: Cell) -> Cell:
    """Return what chains must share to be compared: all but their length."""
    return replace(cell, path=CHAIN, axes=tuple(axis for axis in cell.axes if axis[0] != AXIS))


def against_shorter(outcomes: Iterable[Outcome]) -> tuple[Link, ...]:
    """Hold each chain of several functions against the next shorter one of the same option and traffic.

    A frame that passes the longer chain passes the functions of the shorter one, so the longer one carries no
    more: it holds where its upper end is not above the shorter one's lower end, and not where its lower end
    is above the shorter one's upper end.
    """
    series: dict[Cell, list[tuple[int, Outcome]]] = {}
    for outcome in outcomes:
        if (number := length(outcome.cell)) is not None:
            series.setdefault(alike(outcome.cell), []).append((number, outcome))
    found = []
    for chains in series.values():
        ordered = sorted(chains, key=lambda one: one[0])
        for (few, shorter), (many, longer) in pairwise(ordered):
            if few < many:
                found.append(Link(longer=longer, shorter=shorter, holds=_holds(longer, shorter)))
    return tuple(found)


def _holds(longer: Outcome, shorter: Outcome) -> bool | None:
    if {longer.type, shorter.type} & {OutcomeType.UNSTABLE, OutcomeType.INVALID}:
        return None  # their trials contradict each other, or are too few: such bounds prove nothing
    (low, high), (shorter_low, shorter_high) = ends(longer), ends(shorter)
    if low is not None and shorter_high is not None and low >= shorter_high:
        return False
    if high is not None and shorter_low is not None and high <= shorter_low:
        return True
    return None

"""How a cell's pattern of ports is written down: `full-mesh-4`, `many-to-one-4x16` (RFC 2889). Pure.

The first number is how many tester ports take part; the words before it say who sends to whom. Behind an `x`
stands how many MAC addresses each port has, one where nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from bmwg.methodology.trial.pattern import (
    LEAST_PORTS,
    MOST_ADDRESSES,
    MOST_PORTS,
    Pattern,
    between,
    full_mesh,
)

AXIS: Final = "pattern"  # of a cell, and of a line of a profile's plan
CONGESTION: Final = "congestion"
ADDRESS_TABLE: Final = "address-table"
UNDERSIZE: Final = "undersize"
OVERSIZE: Final = "oversize"
_WRITTEN = re.compile(r"([a-z-]+)-([0-9])(?:x([1-9][0-9]*))?")
_ALONE = frozenset({"broadcast", CONGESTION, ADDRESS_TABLE, UNDERSIZE, OVERSIZE})  # one address of each port


def _one_to_many(ports: int) -> Pattern:
    return Pattern(to=between([0], range(ports), ports=ports))


def _many_to_one(ports: int) -> Pattern:
    return Pattern(to=between(range(1, ports), [0], ports=ports))


def _one_way(ports: int) -> Pattern:
    half = ports // 2
    return Pattern(to=between(range(half), range(half, ports), ports=ports))


def _broadcast(ports: int) -> Pattern:
    return Pattern(to=between([0], range(ports), ports=ports), broadcast=True)


def _congestion(ports: int) -> Pattern:
    """Of each four: one port to an uncongested and a congested one in turn, one to the congested alone."""
    to: list[tuple[int, ...]] = []
    for first in range(0, ports, _GROUP):
        to += [(first + 2, first + 3), (first + 3,), (), ()]
    return Pattern(to=tuple(to))


def _address_table(ports: int) -> Pattern:
    return Pattern(to=((1,), *((),) * (ports - 1)))


_GROUP = 4  # rfc2889-5.5.3
LEARNER = 1  # the port at which a switch learns; port 0 tests, all others listen

KINDS: Mapping[str, tuple[Callable[[int], Pattern], str]] = {
    "full-mesh": (full_mesh, "each of {} ports to all others in turn"),  # rfc2889-5.1
    "one-to-many": (_one_to_many, "one of {} ports to all others in turn"),  # rfc2889-5.2
    "many-to-one": (_many_to_one, "all but one of {} ports to that one"),  # rfc2889-5.2
    "one-way-mesh": (_one_way, "each of one half of {} ports to all of the other half"),  # rfc2889-5.4
    "broadcast": (_broadcast, "one of {} ports to all others at once"),  # rfc2889-5.10
    # rfc2889-5.5, rfc2889-5.7
    CONGESTION: (_congestion, "two of each four of {} ports to one, one of them to a free port too"),
    ADDRESS_TABLE: (_address_table, "one of {} ports to addresses of another, all others listen"),
    # rfc2889-5.9
    UNDERSIZE: (full_mesh, "each of {} ports to all others in turn, frames below 64 octets too"),
    OVERSIZE: (full_mesh, "each of {} ports to all others in turn, frames above 1518 octets too"),
}
_OF_PORTS: Mapping[str, tuple[Callable[[int], bool], str]] = {  # what else the number of ports has to be
    "one-way-mesh": (lambda ports: ports % 2 == 0, "an even number of ports"),  # halves
    CONGESTION: (lambda ports: ports % _GROUP == 0, "4 or 8 ports"),
    ADDRESS_TABLE: (lambda ports: ports > _PAIR, "three ports or more"),  # rfc2889-5.7.3
}
_PAIR = 2


def _parts(text: object) -> tuple[str, int, int]:
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    kind, ports, addresses = (found[1], int(found[2]), int(found[3] or 1)) if found else ("", 0, 1)
    if kind not in KINDS or not LEAST_PORTS <= ports <= MOST_PORTS:
        known = ", ".join(KINDS)
        raise ValueError(f"one of {known} and {LEAST_PORTS} to {MOST_PORTS} ports, found {text!r}")
    fits, wanted = _OF_PORTS.get(kind, (lambda _: True, ""))
    if not fits(ports):
        raise ValueError(f"{wanted} for {kind}, found {text!r}")
    if addresses > MOST_ADDRESSES or addresses & (addresses - 1):  # rfc2889-5.1.2
        raise ValueError(f"a power of two of addresses up to {MOST_ADDRESSES}, found {text!r}")
    if addresses > 1 and kind in _ALONE:
        raise ValueError(f"one address of each port for {kind}, found {text!r}")
    return kind, ports, addresses


def pattern(text: object) -> Pattern:
    """Return the pattern that is written so. Raises ValueError that says what is wrong with it."""
    kind, ports, addresses = _parts(text)
    return replace(KINDS[kind][0](ports), sources=addresses, destinations=addresses)


def words(text: object) -> str:
    """Return a pattern as a reader would call it."""
    kind, ports, addresses = _parts(text)
    told = KINDS[kind][1].format(ports)
    return told if addresses == 1 else f"{told}, {addresses} addresses of each port"


def kind_of(axes: Iterable[tuple[str, int | str]]) -> str:
    """Return of which kind the pattern of a cell is; empty where frames go between two ports."""
    text = dict(axes).get(AXIS)
    return "" if text is None else _parts(text)[0]


def has_load(axes: Iterable[tuple[str, int | str]]) -> bool:
    """Whether a load is what is asked of a cell: not of congestion, address tables and illegal frames."""
    return kind_of(axes) not in (CONGESTION, ADDRESS_TABLE, UNDERSIZE, OVERSIZE)


def of(axes: Iterable[tuple[str, int | str]]) -> Pattern | None:
    """Return the pattern of a cell by its axes; None where frames go between two ports."""
    text = dict(axes).get(AXIS)
    return None if text is None else pattern(text)


def share_of_tester(axes: Iterable[tuple[str, int | str]]) -> int:
    """Return how many frames the tester carries for one of a port's load, where a pair carries one.

    Its qualification is of one frame sent and received; it sends all senders' frames, and receives each copy.
    """
    found = of(axes)
    if found is None:
        return 1
    copies = [len(found.to[sender]) if found.broadcast else 1 for sender in found.senders]
    return sum(copies)

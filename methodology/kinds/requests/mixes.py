"""Mixes: transactions ask for their objects by turns, so each share is exact. Pure.

A mix of sizes has one application. A mix of applications says of each connection, by turns, what it is for:
with TLS or without, and which objects it asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_KB = 1024  # choice: as of the single sizes; the document says KByte
RFC9411_MIXED, BMWG_WEB = "rfc9411-mixed", "bmwg-web"
SIZES: dict[str, tuple[int, ...]] = {  # sizes in octets, in the order in which they are asked for
    # rfc9411-7.3.3.2, from memory (source: unconfirmed): ten sizes, 0.2 to 347 KByte, each with weight 1
    RFC9411_MIXED: (205, *(size * _KB for size in (6, 8, 9, 10, 25, 26, 35, 59, 347))),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """What connections of one kind ask for, by turns; no size is that of another application of the mix."""

    name: str
    encrypted: bool
    sizes_octets: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One connection of a mix: with TLS or without, for `count` objects from `first` on of all its sizes."""

    first: int
    count: int
    encrypted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationMix:
    """Applications, and which of them each connection is for, by turns."""

    version: str
    applications: tuple[Application, ...]
    order: tuple[str, ...]

    def share(self, name: str) -> int:
        """Connections of an application in one round of turns."""
        return self.order.count(name)

    @property
    def encrypted_turns(self) -> int:
        """Connections with TLS in one round."""
        return sum(self.share(one.name) for one in self.applications if one.encrypted)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Each connection of one round."""
        first, by_name = 0, {}
        for one in self.applications:
            count = len(one.sizes_octets)
            by_name[one.name] = Turn(first=first, count=count, encrypted=one.encrypted)
            first += count
        return tuple(by_name[name] for name in self.order)

    @property
    def whole_requests(self) -> int:
        """A connection that asks for a multiple of this asks for each of its objects equally often."""
        return math.lcm(*(len(one.sizes_octets) for one in self.applications))


_PAGE, _CALL, _FILE, _PLAIN, _CHECK = "page", "call", "file", "plain page", "check"
APPLICATIONS: dict[str, ApplicationMix] = {
    # choice: rfc9411-7.1 leaves the mix to whoever asks and wants it stated; 8 of 10 connections have TLS
    BMWG_WEB: ApplicationMix(
        version="1",
        applications=(
            Application(
                name=_PAGE, encrypted=True, sizes_octets=tuple(size * _KB for size in (2, 6, 16, 26, 59))
            ),
            Application(name=_CALL, encrypted=True, sizes_octets=(512, _KB)),
            Application(name=_FILE, encrypted=True, sizes_octets=(128 * _KB,)),
            Application(name=_PLAIN, encrypted=False, sizes_octets=(8 * _KB, 25 * _KB)),
            Application(name=_CHECK, encrypted=False, sizes_octets=(205,)),
        ),
        order=(_PAGE, _CALL, _PAGE, _PLAIN, _PAGE, _FILE, _PAGE, _CALL, _PAGE, _CHECK),
    ),
}


def sizes_octets(name: str) -> tuple[int, ...]:
    """Every object size of a mix, in the order in which a client is told of them."""
    if name in SIZES:
        return SIZES[name]
    return tuple(size for one in APPLICATIONS[name].applications for size in one.sizes_octets)


def turns(name: str) -> tuple[Turn, ...]:
    """What the connections of a mix are for; none of a mix of sizes, whose connections are all alike."""
    return APPLICATIONS[name].turns if name in APPLICATIONS else ()


def mean_octets(name: str) -> int:
    """The mean size of a mix, in whole octets."""
    if name in SIZES:
        return sum(SIZES[name]) // len(SIZES[name])
    of, mean = APPLICATIONS[name], 0.0
    for one in of.applications:
        mean += of.share(one.name) / len(of.order) * sum(one.sizes_octets) / len(one.sizes_octets)
    return int(mean)

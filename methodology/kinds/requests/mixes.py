"""Mixes of object sizes: transactions ask for their objects by turns, so each share is exact. Pure."""

from __future__ import annotations

_KB = 1024  # choice: as of the single sizes; the document says KByte
RFC9411_MIXED = "rfc9411-mixed"
MIXES: dict[str, tuple[int, ...]] = {  # sizes in octets, in the order in which they are asked for
    # rfc9411-7.3.3.2, from memory (source: unconfirmed): ten sizes, 0.2 to 347 KByte, each with weight 1
    RFC9411_MIXED: (205, *(size * _KB for size in (6, 8, 9, 10, 25, 26, 35, 59, 347))),
}


def mean_octets(name: str) -> int:
    """The mean size of a mix, in whole octets."""
    return sum(MIXES[name]) // len(MIXES[name])

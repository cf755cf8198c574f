"""Which version of IP the clients' side and the origin's side of a row speak, by name. Pure."""

from __future__ import annotations

V4 = ""  # of cells that name none
V6, V6_V4 = "v6", "v6-v4"
NAMED_V4 = "v4"  # as a profile names it
_VERSIONS = {V4: (4, 4), V6: (6, 6), V6_V4: (6, 4)}  # of the clients' side, of the origin's
_WORDS = {V4: "IPv4", V6: "IPv6", V6_V4: "IPv6 to the clients, IPv4 to the origin"}


def versions(name: str) -> tuple[int, int]:
    """Return the versions of the clients' side and of the origin's."""
    return _VERSIONS[name]


def words(name: str) -> str:
    """Say it in words."""
    return _WORDS[name]

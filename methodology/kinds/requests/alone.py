"""Whether clients and origin alone carry so much more than a function that its figure is its own. Pure."""

from __future__ import annotations

TIMES = 3  # choice: of what a function carries; rfc9411-5 asks for reference tests and names no factor


def limits(carried: int, alone: int) -> bool:
    """Whether clients and origin may be what limits a function that carried so much."""
    return carried * TIMES > alone

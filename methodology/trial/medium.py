"""What a medium carries at most: the theoretical frame rates of RFC 2544 appendix B."""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.methodology.benchmarks import imix
from bmwg.methodology.records import Cell

PREAMBLE_OCTETS = 8  # RFC2544-B: 64 bits, start delimiter included
GAP_OCTETS = 12  # RFC2544-B: 96 bits


def ethernet_fps(bit_rate: int, frame_octets: int) -> int:
    """Return the whole frames/s of `frame_octets` (with FCS and tag) at `bit_rate` bit/s (RFC2544-B)."""
    if bit_rate < 1:
        raise ValueError(f"bit_rate: expected at least 1, found {bit_rate}")
    if frame_octets < 1:
        raise ValueError(f"frame_octets: expected at least 1, found {frame_octets}")
    return bit_rate // (8 * (PREAMBLE_OCTETS + frame_octets + GAP_OCTETS))


def mixed_fps(bit_rate: int, sizes_octets: Sequence[int]) -> int:
    """Return the whole frames/s at `bit_rate` bit/s of frames that have these sizes in turn."""
    bits = sum(8 * (PREAMBLE_OCTETS + size + GAP_OCTETS) for size in sizes_octets)
    return bit_rate * len(sizes_octets) // bits


def cell_fps(line_rate_bps: int | None, cell: Cell) -> int | None:
    """Return the medium's frames/s, per port and direction, for the frames of a cell; None without a rate."""
    if line_rate_bps is None:
        return None
    sizes = imix.parse(cell.imix).sequence if cell.imix else (cell.frame_octets,)
    return mixed_fps(line_rate_bps, sizes)

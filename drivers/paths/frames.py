"""Which frames fit through a path; what does not is refused by name before anything is built."""

from __future__ import annotations

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.nodes import links
from bmwg.drivers.testbed.file import Testbed
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Cell

VLAN_TAG_OCTETS = 4

LINK_MTU_OCTETS = 1500  # choice: what a testbed's links have unless it says otherwise
FRAME_OVERHEAD_OCTETS = 18  # Ethernet header and FCS, which an MTU does not count
# A veth end takes an XDP program only while a frame and its surroundings fit one page (Linux 6: 3506 octets);
# what the kernel keeps around a live frame is more (3408 octets with the Ethernet header).
_MOST_MTU_OCTETS = {"auto": 3394, "xdp": 3394, "af_xdp": 3498}


def link_mtu(testbed: Testbed, frame_octets: int) -> int:
    """Return the MTU (octets) for links that are to carry frames of this size, as far as the ports can."""
    most = min(_MOST_MTU_OCTETS.get(io, links.MAX_MTU_OCTETS) for io in testbed.tester.ios)
    return max(LINK_MTU_OCTETS, min(frame_octets - FRAME_OVERHEAD_OCTETS, most))


def too_large(cell: Cell, *, mtu_octets: int = LINK_MTU_OCTETS, because: str = "") -> Missing | None:
    """Return why the cell's frames do not fit an MTU, or None. A VLAN tag does not count against an MTU."""
    limit_octets = mtu_octets + FRAME_OVERHEAD_OCTETS + (VLAN_TAG_OCTETS if cell.vlan_id is not None else 0)
    if cell.frame_octets <= limit_octets:
        return None
    return Missing(
        what=f"frames of {cell.frame_octets} octets on path {cell.path}",
        reason=f"the MTU is {mtu_octets} octets{because}; that carries frames of {limit_octets} octets",
        mend="a larger MTU of the links, or smaller frame sizes for this path in the profile",
    )


def refuse(missing: Missing | None) -> None:
    """Raise TestbedError PATH-02 when something is missing."""
    if missing is not None:
        raise TestbedError("PATH-02", missing.what, found=missing.reason, hint=missing.mend)

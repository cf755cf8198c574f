"""Which frames fit through a path; what does not is refused by name before anything is built."""

from __future__ import annotations

from bmwg.drivers.api import Missing
from bmwg.drivers.paths.bed import FRAME_OVERHEAD_OCTETS, LINK_MTU_OCTETS
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Cell

VLAN_TAG_OCTETS = 4


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

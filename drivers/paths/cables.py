"""Whether cables join what the testbed file says, seen by probe frames before any test frame is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.ports import cabling
from bmwg.drivers.testbed.file import CABLE, LinkSpec
from bmwg.methodology.errors import TestbedError

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed

_CABLED_ID = "LAB-01"


def misled(link: LinkSpec, arrived: Mapping[str, Sequence[str]]) -> str:
    """Say where what left a cable's ends was heard, if not at the other end alone; empty where it was."""
    ways = [(str(link.a), str(link.b)), (str(link.b), str(link.a))]
    if all(list(arrived.get(end, ())) == [other] for end, other in ways):
        return ""
    told = []
    for end, _ in ways:
        places = ", ".join(arrived.get(end, ())) or (
            "nowhere" if end in arrived else "nowhere: it has no link"
        )
        told.append(f"what {end} sent was heard at {places}")
    return "; ".join(told)


def require_as_told(bed: Bed) -> None:
    """TestbedError LAB-01 when a cable does not join its two ends, and nothing else; no test frame was sent.

    Ports are up and in their nodes; the NIC of a PCI port is with its kernel driver still.
    """
    links = [link for link in bed.testbed.links if link.kind == CABLE]
    ends = [end for link in links for end in (link.a, link.b)]
    places: dict[Calls, dict[str, str]] = {}
    for end in ends:
        nic = bed.nics.get(end)
        node = bed.node(end.node)
        place: Calls = node.machine if nic else node
        places.setdefault(place, {})[str(nic["interface"]) if nic else end.interface] = str(end)
    arrived = cabling.heard(list(places.items())) if links else {}
    wrong = [f"{link.a} - {link.b}: {said}" for link in links if (said := misled(link, arrived))]
    if wrong:
        raise TestbedError(
            _CABLED_ID,
            "cables of the testbed file; no test frame was sent",
            expected="a frame of each end to be heard at the other, and nowhere else",
            found="; ".join(wrong),
            hint="cable them as the testbed file says, or write there how they are cabled; bmwg lab check",
        )

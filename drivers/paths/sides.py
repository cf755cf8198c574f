"""The sides of a chain: the tester's ports, and where they are cabled to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bmwg.drivers.testbed.file import TESTER, VETH
from bmwg.methodology.errors import ConfigError

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a chain: the tester's port and the NIC of the node that it is cabled to."""

    number: int
    tester_interface: str
    tester_mac: str
    node: str
    nic: str
    link: str = VETH  # what joins them


def ends_of(bed: Bed) -> tuple[Side, Side]:
    """Return where the first two tester ports are cabled to, of more too. Raises as `side_of` does."""
    left, right = (side_of(bed, number, port) for number, port in enumerate(bed.testbed.tester.ports[:2]))
    return left, right


def on_one_node(ends: tuple[Side, Side]) -> tuple[Side, Side]:
    """Return both; ConfigError PATH-01 where they are at two nodes."""
    left, right = ends
    if left.node != right.node:
        raise ConfigError(
            "PATH-01",
            "a path of one node needs both tester ports there",
            expected="links from both tester ports to the same node",
            found=f"{left.node}/{left.nic} and {right.node}/{right.nic}",
            hint="path chain-underlay has a pod on each of two nodes",
        )
    return ends


def side_of(bed: Bed, number: int, port: str) -> Side:
    """Return the side of a tester port; ConfigError PATH-01 where no link joins it to a node."""
    for link in bed.testbed.links:
        for mine, other in ((link.a, link.b), (link.b, link.a)):
            if str(mine) == port and mine.node == TESTER:
                return Side(
                    number=number,
                    tester_interface=mine.interface,
                    tester_mac=bed.mac(mine),
                    link=link.kind,
                    node=other.node,
                    nic=other.interface,
                )
    raise ConfigError(
        "PATH-01",
        f"tester port {port} is not the tester's end of a link",
        expected="a link from it to a node",
        found="none",
    )


def every_side(bed: Bed) -> tuple[Side, ...]:
    """Return the sides of all tester ports, which one node joins; ConfigError PATH-01 else."""
    sides = tuple(side_of(bed, number, port) for number, port in enumerate(bed.testbed.tester.ports))
    if len({side.node for side in sides}) > 1:
        raise ConfigError(
            "PATH-01",
            "a switch needs all tester ports at one node",
            expected="links from all tester ports to the same node",
            found=", ".join(f"{side.node}/{side.nic}" for side in sides),
        )
    return sides

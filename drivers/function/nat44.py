"""NAT44: a kernel that gives the source of each flow of IPv4 its own address and a port of a range.

Flows are opened from the side of the tester's first port. What comes back to a flow is addressed to the port
that was drawn for it, and no test frame is: the other direction is refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import FunctionLink, JsonValue, KernelFunction, Missing, PlacedNode, UndoLog
from bmwg.drivers.function import rules, tables
from bmwg.drivers.function.in_kernel import InKernel, Loaded
from bmwg.drivers.function.options import FunctionOptions
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import connections
from bmwg.methodology.cells import chains, parallel
from bmwg.methodology.records import Cell, Direction

NAME = "nat44"
FIRST_PORT, LAST_PORT = 49184, 65535  # the source ports by which a tester knows its frames


class Nat44(InKernel):
    """A kernel that routes, and translates the source of each flow."""

    name: ClassVar[str] = NAME
    forwarding: ClassVar[str] = (
        "the kernel in the pod's network namespace, which tracks and translates connections, run by the"
        " threads of the device queues"
    )

    def __init__(self, bed: Bed) -> None:
        """Read the range of ports. Raises ConfigError FUNC-01."""
        options = FunctionOptions(bed, NAME)
        whole = (FIRST_PORT, LAST_PORT)
        self._ports = options.numbers("ports", default=whole, least=FIRST_PORT, most=LAST_PORT)
        options.finish()
        self._bed = bed

    def unfit(self, cell: Cell) -> Missing | None:
        """Return why it cannot translate the frames of a cell: what they are, ports, room for connections."""
        return self.no_ipv4(cell) or _untranslated(cell) or no_room(cell.flows, self._ports, self._size())

    def _size(self) -> int | None:
        node = self._bed.node(self._bed.sides()[0].node)
        return node.call(tables.connections).get("nf_conntrack_max")

    def loaded(self, links: Sequence[FunctionLink]) -> Loaded:
        """Return the rule set."""
        inside, outside = (link.interface for link in links)
        return Loaded(
            install=rules.load_nat44,
            arguments={"ports": list(self._ports), "inside": inside, "outside": outside},
            told={"ports": "{}-{}".format(*self._ports), "opened_from": "the tester's first port"},
            tracked=True,
        )

    @contextmanager
    def on_node(self, node: PlacedNode, links: Sequence[FunctionLink], undo: UndoLog) -> Iterator[JsonValue]:
        """Translate in the node's network namespace while this is open, and forget its connections then."""
        with super().on_node(node, links, undo) as told:
            try:
                yield told
            finally:
                mine = [host(segment.far_ipv4) for segment in OUTER]
                node.call(connections.forget, addresses=mine, port=rules.TEST_PORT)


def no_room(flows: int, ports: Sequence[int], size: int | None) -> Missing | None:
    """Return that a range has too few ports for so many flows to one place, or the kernel's table no room.

    `size` is how many connections the kernel keeps; None: it has tracked none yet, and does not say.
    """
    first, last = ports
    if flows > last - first + 1:
        return Missing(
            what=f"{flows} flows through function {NAME}",
            reason=f"ports {first}-{last} are {last - first + 1}, and each flow to one place needs its own",
            mend=f"functions.{NAME}.ports: a wider range within {FIRST_PORT}-{LAST_PORT}, or fewer flows",
        )
    if size is not None and flows > size:
        return Missing(
            what=f"{flows} flows through function {NAME}",
            reason=f"the kernel keeps {size} connections (net.netfilter.nf_conntrack_max)",
            mend=f"sysctl -w net.netfilter.nf_conntrack_max={2 * flows} on the node's host, or fewer flows",
        )
    return None


def _untranslated(cell: Cell) -> Missing | None:
    if {chains.AXIS, parallel.AXIS} & dict(cell.axes).keys():
        return Missing(
            what=f"function {NAME} on path {cell.path}",
            reason="what one of them translated the next one would translate again",
            mend="a path with one function",
        )
    if cell.direction is not Direction.FORWARD:
        return Missing(
            what=f"direction {cell.direction} through function {NAME}",
            reason="what comes back to a flow is addressed to the port drawn for it, and no test frame is",
            mend="direction forward",
        )
    if cell.destination_networks != 1:
        return Missing(
            what=f"{cell.destination_networks} destination networks through function {NAME}",
            reason="its ports are counted for flows to one place",
            mend="one destination network, and as many flows",
        )
    return None


_: type[KernelFunction] = Nat44

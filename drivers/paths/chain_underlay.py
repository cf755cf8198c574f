"""A chain over two nodes: pods forward on the node of each tester port, and an L2 underlay joins the nodes.

Frames enter and leave by one tester, so it has one clock, and each frame is accounted for. The first half of
the pods is on the node of port 0, the rest on that of port 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import JsonValue, Missing, PathDriver
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths import queues, uplinks
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.chain import ChainPath
from bmwg.drivers.paths.forwarding_pods import End, bridge_of
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.testbed.file import Endpoint
from bmwg.methodology.cells import chains
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import POD, Cell


class UnderlayChainPath(ChainPath):
    """Pods on two nodes, whose underlay NICs are ports of the bridges between the last and the first pod."""

    kind: ClassVar[PathKind] = PathKind(
        name="chain-underlay",
        hostings=(POD,),
        functions=registry.names(registry.FUNCTION),
        networked=True,
        scenario="chain: interface, pods on one node, pods on another, interface",
        between_nodes="L2 underlay",
        axes=(chains.AXIS,),
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        super().__init__(cell, bed)
        self._first = len(self._members) - len(self._members) // 2  # pods on the first node

    def _unled(self) -> Missing | None:
        """Return why frames cannot be led over two nodes here, or None."""
        one, other = self._sides()
        what = f"path {self.kind.name} on network {self._cell.network}"
        if len(self._members) == 1 or one.node == other.node:
            return Missing(
                what=what,
                reason="its pods are on two nodes: the chain has one, or both tester ports are at one node",
                mend="a chain such as a>b; links from the tester's ports to two nodes that a link joins",
            )
        if self._uplink != uplinks.BRIDGE_PORT:
            return Missing(
                what=what,
                reason=f"its uplink is {self._uplink}, and nodes are joined by bridges with the underlay",
                mend="a network option with `uplink: bridge_port`",
            )
        return self._unroutable()

    # ---------------------------------------------------------------- where it stands

    def _sides(self) -> tuple[Side, Side]:
        return self._bed.ends()

    def _nodes(self, sides: tuple[Side, Side]) -> Sequence[BedNode]:
        one, other = (self._bed.node(side.node) for side in sides)
        return [one] * self._first + [other] * (len(self._members) - self._first)

    def _under(self) -> tuple[Endpoint, Endpoint]:
        """Return the underlay's ends, in the order of the tester's ports."""
        one, other = self._bed.underlay()
        return (one, other) if one.node == self._sides()[0].node else (other, one)

    def _lots(self, sides: tuple[Side, Side]) -> Sequence[tuple[int, BedNode, str | None]]:
        nodes = self._nodes(sides)
        one, other = self._under()
        found: list[tuple[int, BedNode, str | None]] = []
        for segment, nic in self._segments(sides):
            if segment == self._first:
                found += [(segment, nodes[0], one.interface), (segment, nodes[-1], other.interface)]
            else:
                found.append((segment, nodes[0] if segment < self._first else nodes[-1], nic))
        return found

    def _inner_queues(self, stack: ExitStack, /) -> list[dict[str, JsonValue]]:
        """Give each end of the underlay the queue that a NIC between two hosts has."""
        for end in self._under():
            node = self._bed.node(end.node)
            stack.enter_context(queues.towards_queue(self._bed, node, end.interface))
        return [
            queues.isolate(self._bed, self._bed.node(end.node), end.interface, number)
            for number, end in enumerate(self._under())
        ]

    def _crossed(self, end: End) -> list[JsonValue]:
        if end != End(member=self._first - 1, side=1):
            return []
        bridge = bridge_of(self._first)
        return [{"at": str(under), "what": f"underlay NIC, port of {bridge}"} for under in self._under()]


_: type[PathDriver] = UnderlayChainPath

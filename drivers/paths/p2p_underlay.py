"""P2P over two nodes: each pod on its node's CNI bridge, the bridges joined by a plain L2 underlay."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers.api.protocols import Missing, PodPathDriver
from bmwg.drivers.paths import destinations, endpoints, uplinks
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import too_large
from bmwg.drivers.paths.pair import Join, Nodes, OpenPairPath, Pods, over_underlay
from bmwg.methodology.cells.paths import PathKind, between_pods
from bmwg.methodology.records import Cell

FORWARDING = "both nodes' kernels, in the threads of the pods' device queues if any"


def option_missing(cell: Cell, bed: Bed) -> Missing | None:
    """Return why a network option cannot carry a path over two nodes, or None."""
    uplink = bed.network(cell.network).spec.uplink
    if found := destinations.unroutable(cell, "both pods are on one segment"):
        return found
    if uplink != uplinks.BRIDGE_PORT:
        return Missing(
            what=f"network {cell.network} over two nodes",
            reason=f"its uplink is {uplink}; nodes are joined by a bridge with the underlay as port",
            mend="a network option with `uplink: bridge_port`",
        )
    for end in bed.underlay():
        missing = bed.missing(cell.network, end.node)
        if missing is not None:
            return missing
    return None


class UnderlayPath(OpenPairPath):
    """Two nodes, the underlay NIC of each a port of its CNI bridge."""

    kind: ClassVar[PathKind] = between_pods(
        "p2p-underlay", "pod to pod on two nodes, one L2 segment", "L2 underlay"
    )

    def probe_frames(self) -> Missing | None:
        """Return what is missing: the frame's room, a bridging option on both nodes."""
        return too_large(self._cell) or self.probe_pods()

    def probe_pods(self) -> Missing | None:
        """Return what is missing with the pods' own kernels at the ends."""
        return option_missing(self._cell, self._bed)

    def nodes(self, stack: ExitStack) -> Nodes:
        """Return the nodes at the underlay's two ends."""
        return over_underlay(self._bed)

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Make each node's underlay NIC a port of its bridge."""
        under = self._bed.underlay()
        for node, end in zip(nodes, under, strict=True):
            ports = (end.interface,)
            stack.enter_context(uplinks.bridged(node, interfaces=ports, bridge=endpoints.BRIDGE))
        return Join(
            hops=[
                {"at": nodes[0].name, "what": f"bridge {endpoints.BRIDGE}"},
                {"at": str(under[0]), "what": "underlay NIC, bridge port"},
                {"at": str(under[1]), "what": "underlay NIC, bridge port"},
                {"at": nodes[1].name, "what": f"bridge {endpoints.BRIDGE}"},
            ],
            forwarding=FORWARDING,
            way=[(nodes[0], under[0].interface, "tx"), (nodes[1], under[1].interface, "rx")],
        )


_: type[PodPathDriver] = UnderlayPath

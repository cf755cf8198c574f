"""P2P over two nodes: each pod on its node's CNI bridge, the bridges joined by a plain L2 underlay."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api import BetweenPods, Deployment, Missing, PodPathDriver
from bmwg.drivers.paths import destinations, endpoints, uplinks
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import NOTHING, POD, Cell


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


class UnderlayPath:
    """Two nodes, the underlay NIC of each a port of its CNI bridge."""

    kind: ClassVar[PathKind] = PathKind(
        name="p2p-underlay",
        hostings=(POD,),
        functions=(NOTHING,),
        networked=True,
        scenario="pod to pod on two nodes, one L2 segment",
        between_nodes="L2 underlay",
        apart=True,
        ends_in_pods=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, a bridging option on both nodes."""
        return too_large(self._cell) or self.probe_pods()

    def probe_pods(self) -> Missing | None:
        """Return what is missing with the pods' own kernels at the ends."""
        return option_missing(self._cell, self._bed)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make both pods, make the underlay NICs bridge ports; undo it on leaving."""
        refuse(self.probe())
        with self._made(endpoints.TESTER) as (pair, evidence):
            yield Deployment(ports=endpoints.ports(self._bed, self._network, pair), evidence=evidence)

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """The same for what runs in the pods."""
        refuse(self.probe_pods())
        with self._made(endpoints.KERNEL) as (pair, evidence):
            mine, other = self._bed.underlay()
            way = [
                (self._bed.node(mine.node), mine.interface, "tx"),
                (self._bed.node(other.node), other.interface, "rx"),
            ]
            yield endpoints.between(pair, evidence, way)

    @contextmanager
    def _made(self, speaker: str) -> Iterator[endpoints.Made]:
        bed, network = self._bed, self._network
        under = bed.underlay()
        nodes = (bed.node(under[0].node), bed.node(under[1].node))
        with ExitStack() as stack:
            count = endpoints.wanted(self._cell)
            pair = stack.enter_context(
                endpoints.pods(bed, network, nodes, nic=None, speaker=speaker, count=count)
            )
            for node, end in zip(nodes, under, strict=True):
                ports = (end.interface,)
                stack.enter_context(uplinks.bridged(node, interfaces=ports, bridge=endpoints.BRIDGE))
            yield (
                pair,
                {
                    "path": self.kind.name,
                    **endpoints.evidence(bed, network, pair),
                    "hops": [
                        *pair[0].hops(),
                        {"at": nodes[0].name, "what": f"bridge {endpoints.BRIDGE}"},
                        {"at": str(under[0]), "what": "underlay NIC, bridge port"},
                        {"at": str(under[1]), "what": "underlay NIC, bridge port"},
                        {"at": nodes[1].name, "what": f"bridge {endpoints.BRIDGE}"},
                        *reversed(pair[1].hops()),
                    ],
                    "forwarding": "both nodes' kernels, in the threads of the pods' device queues if any",
                },
            )


_: type[PodPathDriver] = UnderlayPath

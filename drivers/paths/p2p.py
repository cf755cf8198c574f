"""P2P: two pods on one node, attached to the same network option; nothing leaves the node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api import BetweenPods, Deployment, Missing, PodPathDriver
from bmwg.drivers.network.handover import undriven
from bmwg.drivers.paths import destinations, endpoints, policed, routers, uplinks
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import NOTHING, POD, Cell


class PodToPodPath:
    """The plugin's own switching or routing between two pods of a node."""

    kind: ClassVar[PathKind] = PathKind(
        name="p2p",
        hostings=(POD,),
        functions=(NOTHING,),
        networked=True,
        scenario="pod to pod on one node",
        apart=True,
        ends_in_pods=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, the network option on the node."""
        return (
            too_large(self._cell)
            or endpoints.no_ipv6(self._cell, self._network)
            or self.probe_pods()
            or endpoints.no_program(self._bed, self._network)
        )

    def probe_pods(self) -> Missing | None:
        """Return what is missing with the pods' own kernels at the ends."""
        return (
            endpoints.own_way(self._network)
            or endpoints.too_many(self._cell, self._network)
            or undriven(self._network, "an end of a path in a pod", endpoints.DRIVEN)
            or self._bed.missing(self._cell.network, self._bed.sides()[0].node, policed=True)
            or policed.unenforced(self._bed, self._network)
            or destinations.unroutable(self._cell, "behind a pod is its own address alone")
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make both pods and their attachments; remove them on leaving."""
        refuse(self.probe())
        with self._made(endpoints.TESTER) as (pair, evidence):
            yield Deployment(ports=endpoints.ports(self._bed, self._network, pair), evidence=evidence)

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """The same for what runs in the pods."""
        refuse(self.probe_pods())
        with self._made(endpoints.KERNEL) as (pair, evidence):
            yield endpoints.between(pair, evidence)

    @contextmanager
    def _made(self, speaker: str) -> Iterator[endpoints.Made]:
        bed, network = self._bed, self._network
        side = bed.sides()[0]
        node = bed.node(side.node)
        uplink = network.spec.uplink
        with ExitStack() as stack:
            if uplink == uplinks.ROUTED:
                stack.enter_context(routers.forwarding(node))
            nic = side.nic if uplink == uplinks.MASTER else None
            pair = stack.enter_context(
                endpoints.pods(
                    bed, network, (node, node), nic=nic, speaker=speaker, count=endpoints.wanted(self._cell)
                )
            )
            policies = stack.enter_context(policed.policed(bed, network, node, (pair[0], pair[1])))
            known = endpoints.joined(network, pair)
            between = network.on_one_node or {
                uplinks.ROUTED: "the node's kernel routes",
                uplinks.BRIDGE_PORT: f"bridge {endpoints.BRIDGE}",
            }.get(uplink, "the plugin's own switching")
            yield (
                pair,
                {
                    "path": self.kind.name,
                    **endpoints.evidence(bed, network, pair),
                    **policies,
                    **({"known_to_network": known} if known else {}),
                    "hops": [
                        *pair[0].hops(),
                        {"at": node.name, "what": between},
                        *reversed(pair[1].hops()),
                    ],
                    "forwarding": "the node's kernel, in the threads of the device queues if any",
                },
            )


_: type[PodPathDriver] = PodToPodPath

"""P2P over two nodes by VXLAN (RFC 7348): a tunnel device is the port of each node's CNI bridge."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api import BetweenPods, Deployment, Missing, PodPathDriver
from bmwg.drivers.hosting import interfaces, routing
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.hosting.routing import VXLAN_OVERHEAD_OCTETS
from bmwg.drivers.paths import endpoints, uplinks
from bmwg.drivers.paths.addresses import UNDERLAY, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, refuse, too_large
from bmwg.drivers.paths.p2p_underlay import option_missing
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import NOTHING, POD, Cell

TUNNEL = "bmwg-vx0"
VNI = 2544  # choice: any number of 24 bits
MTU_OCTETS = LINK_MTU_OCTETS - VXLAN_OVERHEAD_OCTETS


class VxlanPath:
    """Two nodes whose underlay carries IPv4; the pods' segment is tunnelled over it."""

    kind: ClassVar[PathKind] = PathKind(
        name="p2p-vxlan",
        hostings=(POD,),
        functions=(NOTHING,),
        networked=True,
        scenario="pod to pod on two nodes, by VXLAN",
        between_nodes="overlay: VXLAN",
        apart=True,
        ends_in_pods=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: room for the frame in the tunnel, a bridging option on both nodes."""
        because = f" ({LINK_MTU_OCTETS} of the underlay less {VXLAN_OVERHEAD_OCTETS} of VXLAN)"
        missing = too_large(self._cell, mtu_octets=MTU_OCTETS, because=because)
        return missing or self.probe_pods()

    def probe_pods(self) -> Missing | None:
        """Return what is missing with the pods' own kernels at the ends."""
        return option_missing(self._cell, self._bed)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make both pods and the tunnel; undo it on leaving. The pods' MTU is the tunnel's."""
        refuse(self.probe())
        with self._made(endpoints.TESTER) as (pair, evidence):
            yield Deployment(ports=endpoints.ports(self._bed, self._network, pair), evidence=evidence)

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """The same for what runs in the pods."""
        refuse(self.probe_pods())
        with self._made(endpoints.KERNEL) as (pair, evidence):
            mine, other = self._bed.underlay()
            here, there = self._bed.node(mine.node), self._bed.node(other.node)
            way = [
                (here, TUNNEL, "tx"),
                (here, mine.interface, "tx"),
                (there, other.interface, "rx"),
                (there, TUNNEL, "rx"),
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
            for number, node in enumerate(nodes):
                stack.enter_context(_tunnel(node, under[number].interface, number))
                stack.enter_context(uplinks.bridged(node, interfaces=(TUNNEL,), bridge=endpoints.BRIDGE))
            for end in pair:
                end.pod.inside(interfaces.set_mtu, interface=endpoints.INTERFACE, mtu_octets=MTU_OCTETS)
            yield (
                pair,
                {
                    "path": self.kind.name,
                    **endpoints.evidence(bed, network, pair),
                    "tunnel": {
                        "kind": "vxlan",
                        "vni": VNI,
                        "overhead_octets": VXLAN_OVERHEAD_OCTETS,
                        "mtu_octets": MTU_OCTETS,
                        "underlay_mtu_octets": LINK_MTU_OCTETS,
                    },
                    "hops": [
                        *pair[0].hops(),
                        {"at": nodes[0].name, "what": f"bridge {endpoints.BRIDGE}"},
                        {"at": f"{nodes[0].name}/{TUNNEL}", "what": "VXLAN device, bridge port"},
                        {"at": str(under[0]), "what": "underlay NIC, routed"},
                        {"at": str(under[1]), "what": "underlay NIC, routed"},
                        {"at": f"{nodes[1].name}/{TUNNEL}", "what": "VXLAN device, bridge port"},
                        {"at": nodes[1].name, "what": f"bridge {endpoints.BRIDGE}"},
                        *reversed(pair[1].hops()),
                    ],
                    "forwarding": "both nodes' kernels, in the threads of the pods' device queues if any",
                },
            )


@contextmanager
def _tunnel(node: NamespaceNode, nic: str, number: int) -> Iterator[None]:
    mine = UNDERLAY.router_ipv4 if number == 0 else UNDERLAY.far_ipv4
    other = UNDERLAY.far_ipv4 if number == 0 else UNDERLAY.router_ipv4
    try:
        node.call(interfaces.add_address, interface=nic, address=mine)
        node.call(
            routing.add_vxlan,
            interface=TUNNEL,
            vni=VNI,
            local=host(mine),
            remote=host(other),
            underlay=nic,
            mtu_octets=MTU_OCTETS,
        )
        yield
    finally:
        node.call(interfaces.delete, interface=TUNNEL)
        node.call(interfaces.remove_address, interface=nic, address=mine)


_: type[PodPathDriver] = VxlanPath

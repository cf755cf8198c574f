"""P2P over two nodes by the cluster's own network: what its daemons made between them carries the frames."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api import (
    BetweenPods,
    ClusterNetwork,
    Deployment,
    JsonValue,
    Missing,
    NetworkDriver,
    PodPathDriver,
)
from bmwg.drivers.hosting import routing
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.paths import destinations, endpoints, uplinks
from bmwg.drivers.paths.addresses import UNDERLAY
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import NOTHING, POD, Cell

_Way = list[tuple[NamespaceNode, str, str]]


class ClusterPath:
    """Two pods on two nodes; no part of the way between them is made by the toolkit."""

    kind: ClassVar[PathKind] = PathKind(
        name="p2p-cluster",
        hostings=(POD,),
        functions=(NOTHING,),
        networked=True,
        scenario="pod to pod on two nodes, by the cluster's network",
        between_nodes="the network's own: overlay or routes",
        apart=True,
        ends_in_pods=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: a network that joins nodes, its daemon on both, room for the frame."""
        if missing := self.probe_pods():
            return missing
        if found := endpoints.no_ipv6(self._cell, self._network):
            return found
        node = self._bed.node(self._bed.underlay()[0].node)
        network = self._joining()
        because = f" (of {network.between_nodes})"
        return too_large(self._cell, mtu_octets=network.mtu_octets(node), because=because)

    def probe_pods(self) -> Missing | None:
        """Return what is missing with the pods' own kernels at the ends."""
        name = self._cell.network
        if found := destinations.unroutable(self._cell, "behind a pod is its own address alone"):
            return found
        if not isinstance(self._network, ClusterNetwork):
            return Missing(
                what=f"network {name} between nodes",
                reason="it makes nothing between nodes",
                mend="driver: flannel, cilium or ovs; paths p2p-underlay and p2p-vxlan join bridges",
            )
        if missing := endpoints.too_many(self._cell, self._network):
            return missing
        for end in self._bed.underlay():
            missing = self._bed.missing(name, end.node)
            if missing is not None:
                return missing
        return None

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make both pods; remove them on leaving."""
        refuse(self.probe())
        with self._made(endpoints.TESTER) as (pair, evidence, _):
            yield Deployment(ports=endpoints.ports(self._bed, self._network, pair), evidence=evidence)

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """The same for what runs in the pods."""
        refuse(self.probe_pods())
        with self._made(endpoints.KERNEL) as (made, evidence, way):
            yield endpoints.between(made, evidence, way)

    def _joining(self) -> ClusterNetwork:
        assert isinstance(self._network, ClusterNetwork)  # see `probe_pods`
        return self._network

    @contextmanager
    def _made(
        self, speaker: str
    ) -> Iterator[tuple[tuple[endpoints.Endpoint, ...], dict[str, JsonValue], _Way]]:
        bed, network = self._bed, self._joining()
        under = bed.underlay()
        nodes = (bed.node(under[0].node), bed.node(under[1].node))
        with ExitStack() as stack:
            bridged = nodes if _routed(network) and not network.own_router else ()
            for node in bridged:  # the plugin makes the bridge, and leaves it
                stack.enter_context(
                    uplinks.cleared(node, uplinks.BRIDGE_PORT, nic=None, bridge=endpoints.BRIDGE)
                )
            count = endpoints.wanted(self._cell)
            pair = stack.enter_context(
                endpoints.pods(bed, network, nodes, nic=None, speaker=speaker, count=count)
            )
            for node in bridged:
                stack.enter_context(uplinks.bridged(node, interfaces=(), bridge=endpoints.BRIDGE))
            way = [(nodes[0], under[0].interface, "tx"), (nodes[1], under[1].interface, "rx")]
            at = (UNDERLAY.router_ipv4, UNDERLAY.far_ipv4)
            ends = zip(nodes, (under[0].interface, under[1].interface), at, strict=True)
            stack.enter_context(network.joining(list(ends), bridge=endpoints.BRIDGE))
            known = endpoints.joined(network, pair)
            at_node = f"bridge {endpoints.BRIDGE}, routed" if bridged else network.on_one_node
            yield (
                pair,
                {
                    "path": self.kind.name,
                    **endpoints.evidence(bed, network, pair),
                    "between_nodes": network.between_nodes,
                    "routes": {
                        node.name: _way(node, to) for node, to in zip(nodes, (pair[1], pair[0]), strict=True)
                    },
                    **({"known_to_network": known} if known else {}),
                    "hops": [
                        *pair[0].hops(),
                        {"at": nodes[0].name, "what": at_node},
                        {"at": str(under[0]), "what": network.between_nodes},
                        {"at": str(under[1]), "what": network.between_nodes},
                        {"at": nodes[1].name, "what": at_node},
                        *reversed(pair[1].hops()),
                    ],
                    "forwarding": "both nodes' kernels, in the threads of the pods' device queues if any"
                    if _routed(network)
                    else "the vSwitch of each node",
                },
                way,
            )


def _routed(network: NetworkDriver) -> bool:
    """Whether the pods of a node have a subnet of their own, and the node routes."""
    return network.spec.uplink == uplinks.ROUTED


def _way(node: NamespaceNode, other: endpoints.Endpoint) -> list[JsonValue]:
    """Return a node's routes to the other pod's subnet as the kernel has them."""
    subnet = endpoints.subnet(other)
    return [one for one in node.call(routing.routes) if one["destination"] == subnet]


_: type[PodPathDriver] = ClusterPath

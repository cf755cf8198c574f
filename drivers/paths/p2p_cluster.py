"""P2P over two nodes by the cluster's own network: what its daemons made between them carries the frames."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    ClusterNetwork,
    HostNode,
    JsonValue,
    Missing,
    NetworkDriver,
    PodPathDriver,
)
from bmwg.drivers.paths import destinations, endpoints, uplinks
from bmwg.drivers.paths.addresses import UNDERLAY
from bmwg.drivers.paths.frames import too_large
from bmwg.drivers.paths.p2p_underlay import FORWARDING
from bmwg.drivers.paths.pair import Join, Nodes, OpenPairPath, Pods, over_underlay
from bmwg.drivers.ports import routing
from bmwg.methodology.cells.paths import PathKind, between_pods


class ClusterPath(OpenPairPath):
    """Two pods on two nodes; no part of the way between them is made by the toolkit."""

    kind: ClassVar[PathKind] = between_pods(
        "p2p-cluster",
        "pod to pod on two nodes, by the cluster's network",
        "the network's own: overlay or routes",
    )

    def probe_frames(self) -> Missing | None:
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

    def _joining(self) -> ClusterNetwork:
        assert isinstance(self._network, ClusterNetwork)  # see `probe_pods`
        return self._network

    def nodes(self, stack: ExitStack) -> Nodes:
        """Return the nodes at the underlay's ends, cleared where the plugin makes a bridge and leaves it."""
        nodes = over_underlay(self._bed)
        for node in nodes if self._bridged() else ():
            stack.enter_context(uplinks.cleared(node, uplinks.BRIDGE_PORT, nic=None, bridge=endpoints.BRIDGE))
        return nodes

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Tell the network which interfaces lead to the other node, and wait until it knows both pods."""
        network, under = self._joining(), self._bed.underlay()
        for node in nodes if self._bridged() else ():
            stack.enter_context(uplinks.bridged(node, interfaces=(), bridge=endpoints.BRIDGE))
        at = (UNDERLAY.router_ipv4, UNDERLAY.far_ipv4)
        ends = zip(nodes, (under[0].interface, under[1].interface), at, strict=True)
        stack.enter_context(network.joining(list(ends), bridge=endpoints.BRIDGE))
        known = endpoints.joined(network, pods)
        at_node = f"bridge {endpoints.BRIDGE}, routed" if self._bridged() else network.on_one_node
        return Join(
            told={
                "between_nodes": network.between_nodes,
                "routes": {
                    node.name: _way(node, to) for node, to in zip(nodes, (pods[1], pods[0]), strict=True)
                },
                **({"known_to_network": known} if known else {}),
            },
            hops=[
                {"at": nodes[0].name, "what": at_node},
                {"at": str(under[0]), "what": network.between_nodes},
                {"at": str(under[1]), "what": network.between_nodes},
                {"at": nodes[1].name, "what": at_node},
            ],
            forwarding=FORWARDING if _routed(network) else "the vSwitch of each node",
            way=[(nodes[0], under[0].interface, "tx"), (nodes[1], under[1].interface, "rx")],
        )

    def _bridged(self) -> bool:
        """Whether the plugin makes a bridge on each node, which then routes."""
        return _routed(self._network) and not self._network.own_router


def _routed(network: NetworkDriver) -> bool:
    """Whether the pods of a node have a subnet of their own, and the node routes."""
    return network.spec.uplink == uplinks.ROUTED


def _way(node: HostNode, other: endpoints.Endpoint) -> list[JsonValue]:
    """Return a node's routes to the other pod's subnet as the kernel has them."""
    subnet = endpoints.subnet(other)
    return [one for one in node.call(routing.routes) if one["destination"] == subnet]


_: type[PodPathDriver] = ClusterPath

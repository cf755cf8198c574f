"""P2P: two pods on one node, attached to the same network option; nothing leaves the node."""

from __future__ import annotations

from contextlib import ExitStack
from typing import ClassVar

from bmwg.drivers.api.protocols import Missing, PodPathDriver
from bmwg.drivers.network.handover import undriven
from bmwg.drivers.paths import destinations, endpoints, policed, routers, uplinks
from bmwg.drivers.paths.frames import too_large
from bmwg.drivers.paths.pair import Join, Nodes, OpenPairPath, Pods
from bmwg.methodology.cells.paths import PathKind, between_pods


class PodToPodPath(OpenPairPath):
    """The plugin's own switching or routing between two pods of a node."""

    kind: ClassVar[PathKind] = between_pods("p2p", "pod to pod on one node")

    def probe_frames(self) -> Missing | None:
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

    def nodes(self, stack: ExitStack) -> Nodes:
        """Return the node of the tester's first link, twice; it forwards where it routes."""
        node = self._bed.node(self._bed.sides()[0].node)
        if self._network.spec.uplink == uplinks.ROUTED:
            stack.enter_context(routers.forwarding(node))
        return node, node

    def nic(self) -> str | None:
        """Return the node's NIC, where attachments stand on one."""
        return self._bed.sides()[0].nic if self._network.spec.uplink == uplinks.MASTER else None

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Load the policies that the testbed asks for, and wait until the network knows both pods."""
        network = self._network
        policies = stack.enter_context(policed.policed(self._bed, network, nodes[0], (pods[0], pods[1])))
        known = endpoints.joined(network, pods)
        between = network.on_one_node or {
            uplinks.ROUTED: "the node's kernel routes",
            uplinks.BRIDGE_PORT: f"bridge {endpoints.BRIDGE}",
        }.get(network.spec.uplink, "the plugin's own switching")
        return Join(
            hops=[{"at": nodes[0].name, "what": between}],
            forwarding="the node's kernel, in the threads of the device queues if any",
            told={**policies, **({"known_to_network": known} if known else {})},
        )


_: type[PodPathDriver] = PodToPodPath

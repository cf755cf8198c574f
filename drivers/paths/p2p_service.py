"""P2P on one node through a Service: a pod sends to its front, the node's rules send to another pod.

The front is the cluster's address (ClusterIP), a port of the node's address (NodePort), or the address that
an implementation in the cluster gives it (LoadBalancer).
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import ClassVar

from bmwg.drivers.api.pods import of_cluster
from bmwg.drivers.api.protocols import ClusterRuntime, Missing, PathDriver, TesterPort
from bmwg.drivers.paths import destinations, endpoints, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, host
from bmwg.drivers.paths.frames import too_large
from bmwg.drivers.paths.pair import Join, Nodes, PairPath, Pods
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import NOTHING, POD, Direction, FrameFormat

UDP_PORT = 7  # rfc2544 appendix C.2.6.4: that of test frames


class ServicePath(PairPath):
    """Two pods on a network that the node routes; only the way forward is translated."""

    kind: ClassVar[PathKind] = PathKind(
        name="p2p-service",
        hostings=(POD,),
        functions=(NOTHING,),
        networked=True,
        scenario="pod to pod on one node, through a Service",
        apart=True,
    )

    service_kind: ClassVar[str] = "ClusterIP"

    def probe_frames(self) -> Missing | None:
        """Return what is missing: Services, a network that the node routes, frames that rules translate."""
        cell, name = self._cell, self._cell.network
        if found := destinations.unroutable(cell, "a Service has one address") or destinations.other_ports(
            cell, "a Service has one"
        ):
            return found
        if not isinstance(self._bed.runtime, ClusterRuntime):
            return Missing(
                what="a Service",
                reason=f"pods.runtime is {self._bed.testbed.pods.runtime}, which has none",
                mend="pods.runtime: kubernetes",
            )
        if found := self._bed.runtime.own_alone("a Service between the tester's ports"):
            return found
        own = endpoints.own_way(self._network) is not None or self._network.own_router
        if self._network.spec.uplink != uplinks.ROUTED or own:
            return Missing(
                what=f"a Service on network {name}",
                reason="the node does not route between the pods, so its rules see no frame",
                mend="a network option with `uplink: routed`, such as ptp",
            )
        if cell.direction is not Direction.FORWARD or cell.frame_format is not FrameFormat.IPV4_UDP:
            return Missing(
                what=f"{cell.frame_format} frames, {cell.direction}, through a Service",
                reason="the rules translate UDP over IPv4 towards the Service alone",
                mend="direction forward and format ipv4-udp",
            )
        return (
            too_large(cell) or self._bed.missing(name, self._bed.sides()[0].node) or self._without_a_front()
        )

    def _without_a_front(self) -> Missing | None:
        """Return that the Service would get no front; every cluster gives a ClusterIP."""
        return None

    def _front(self) -> dict[str, str]:
        """Return what the runtime is told of the Service's kind."""
        return {"kind": self.service_kind}

    def nodes(self, stack: ExitStack) -> Nodes:
        """Return the node of the tester's first link, twice; it forwards."""
        node = self._bed.node(self._bed.sides()[0].node)
        stack.enter_context(routers.forwarding(node))
        return node, node

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Make the Service, whose address the node's rules translate to the second pod's."""
        service = stack.enter_context(
            of_cluster(self._bed.runtime).service(
                nodes[0],
                name=f"service-{self._bed.next_id()}",
                address=host(INNER[1].far_ipv4),
                port=UDP_PORT,
                **self._front(),
            )
        )
        return Join(
            told={"service": service},
            hops=[{"at": nodes[0].name, "what": "rules of kube-proxy, then the node's kernel routes"}],
            forwarding="the node's kernel, in the threads of the device queues if any",
        )

    def ports(self, pods: Pods, join: Join) -> tuple[TesterPort, TesterPort]:
        """Return the tester's ports; the second one's address is the Service's front.

        Frames go to the address that a port calls its own; this one is entered by fixed MACs alone.
        """
        client, server = super().ports(pods, join)
        front = f"{join.told['service']['front']}/32"
        return client, replace(server, ipv4=front, peer_mac=str(pods[1].attached.host_mac))


class NodePortPath(ServicePath):
    """The same by a port of the node's address."""

    kind: ClassVar[PathKind] = replace(
        ServicePath.kind,
        name="p2p-nodeport",
        scenario="pod to pod on one node, through a Service's node port",
    )
    service_kind: ClassVar[str] = "NodePort"

    def _front(self) -> dict[str, str]:
        layout = of_cluster(self._bed.runtime).layout(self._bed.sides()[0].node)
        return {"kind": self.service_kind, "node_address": layout.port_address}


class LoadBalancerPath(ServicePath):
    """The same by the address that an implementation of the user's gives; refused where none answers."""

    kind: ClassVar[PathKind] = replace(
        ServicePath.kind,
        name="p2p-loadbalancer",
        scenario="pod to pod on one node, through a Service's load balancer",
    )
    service_kind: ClassVar[str] = "LoadBalancer"

    def _without_a_front(self) -> Missing | None:
        return of_cluster(self._bed.runtime).unbalanced()


_: type[PathDriver] = ServicePath
_nodes_port: type[PathDriver] = NodePortPath
_balanced: type[PathDriver] = LoadBalancerPath

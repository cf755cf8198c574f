"""Through one pod behind a Service: tester port, node, Service, pod, node, tester port; the pod may move.

The pod is in the cluster's own network and on any of its nodes; the node of the tester's ports leads to it by
the rules of kube-proxy. So frames follow a pod that is placed anew, which those to the addresses of a network
option do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bmwg.drivers.api.pods import of_cluster
from bmwg.drivers.api.protocols import ClusterRuntime, Deployment, Evidence, Missing, PathDriver, TesterPort
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import destinations, queues, routers
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.ports import routing
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import POD, Cell, Direction, FrameFormat

UDP_PORT = 7  # rfc2544 appendix C.2.6.4: that of test frames
FUNCTION = "udp-relay"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The path while it stands: the pod's keeper, whose acts move it, and the tester's ports."""

    moving: Any
    ports: tuple[TesterPort, TesterPort]
    evidence: Evidence


class RelayedPath:
    """One pod that relays datagrams, found by a Service."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp-service",
        hostings=(POD,),
        functions=(FUNCTION,),
        networked=False,
        scenario="through one pod behind a Service, in the cluster's own network",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: a cluster with two nodes, frames that its rules translate."""
        cell, bed = self._cell, self._bed
        runtime = bed.runtime
        if found := destinations.unroutable(cell, "a Service has one address") or destinations.other_ports(
            cell, "a Service has one"
        ):
            return found
        if not isinstance(runtime, ClusterRuntime):
            return Missing(
                what="a pod that moves between nodes",
                reason=f"pods.runtime is {bed.testbed.pods.runtime}, which places none",
                mend="pods.runtime: kubernetes",
            )
        if bed.testbed.pods.policies:
            return Missing(
                what=f"{bed.testbed.pods.policies} network policies on this path",
                reason="they are for a pod that receives what another one sends",
                mend="path p2p, or no `pods.policies`",
            )
        if (found := runtime.no_move()) is not None:
            return found
        if cell.direction is not Direction.FORWARD or cell.frame_format is not FrameFormat.IPV4_UDP:
            return Missing(
                what=f"{cell.frame_format} frames, {cell.direction}, through a relay",
                reason="it relays datagrams of IPv4 one way",
                mend="direction forward and format ipv4-udp",
            )
        return too_large(cell)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pod and its Services; remove them on leaving."""
        with self.standing() as stands:
            name, node = stands.moving.name, self._bed.node(stands.moving.node)
            pod = of_cluster(self._bed.runtime).pod_of(stands.moving, node, self._spec(name))
            self._bed.pods[pod.pod_id] = pod  # whose namespace is one of the run's
            try:
                yield Deployment(ports=stands.ports, evidence=stands.evidence)
            finally:
                del self._bed.pods[pod.pod_id]

    def _spec(self, name: str) -> PodSpec:
        limits = self._bed.testbed.pods
        return PodSpec(
            pod_id=name,
            cpus=limits.cpuset,
            memory_octets=limits.memory_octets,
            forwarding=False,
            root=False,
            least=True,
            endpoint=True,
        )

    @contextmanager
    def standing(self) -> Iterator[Standing]:
        """The same for who moves the pod."""
        refuse(self.probe())
        bed, runtime = self._bed, of_cluster(self._bed.runtime)
        one, other = sides = bed.sides()
        node = bed.node(one.node)
        with ExitStack() as stack:
            stack.enter_context(routers.forwarding(node))
            stack.enter_context(queues.released(bed, node, [side.nic for side in sides]))
            for side in sides:
                stack.enter_context(routers.router_addresses(node, side))
            device_queues = [queues.isolate(bed, node, side.nic, side.number) for side in sides]
            beyond = str(OUTER[other.number].subnets[0])
            for name, via in runtime.ways_to(one.node).items():
                place = bed.node(name)
                stack.callback(place.call, routing.remove_route, destination=beyond)
                place.call(routing.add_route, destination=beyond, via=via)
            moving = stack.enter_context(
                runtime.moving(
                    node,
                    self._spec(f"bmwg-{bed.next_id()}"),
                    target=(host(OUTER[other.number].far_ipv4), UDP_PORT),
                    port=UDP_PORT,
                )
            )
            front = f"{moving.evidence['service']['front']}/32"  # where frames go, not the port's own address
            ports = (routed_port(bed, one), replace(routed_port(bed, other), ipv4=front))
            yield Standing(
                moving=moving,
                ports=ports,
                evidence={
                    "path": self.kind.name,
                    "hosting": "pod",
                    "function": {"name": FUNCTION, "runs_in": "a pod, by a program with a socket"},
                    **moving.evidence,
                    "pod_runtime": dict(runtime.describe()),
                    "hops": [
                        {"at": f"tester/{one.tester_interface}", "what": f"tester port, {one.link}"},
                        {"at": f"{node.name}/{one.nic}", "what": "rules of kube-proxy"},
                        {"at": "pod", "what": "in the pods' own network, on this node or another"},
                        {"at": f"{node.name}/{other.nic}", "what": f"{other.link}, kernel routes"},
                        {"at": f"tester/{other.tester_interface}", "what": f"tester port, {other.link}"},
                    ],
                    "forwarding": "the pod's program, and the nodes' kernels around it",
                    "device_queues": device_queues,
                    "datapath": {node.name: node.call(datapath.observe)},
                },
            )


_: type[PathDriver] = RelayedPath

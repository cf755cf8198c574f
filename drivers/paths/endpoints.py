"""Two pods whose own interfaces are the tester's ports, on one node or on two."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bmwg.drivers.api import (
    Attached,
    Attachment,
    JsonValue,
    Missing,
    NetworkDriver,
    PlacedNode,
    Pod,
    PodNetwork,
    TesterPort,
)
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.paths import queues, routers, uplinks
from bmwg.drivers.paths.addresses import ENDPOINTS, INNER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.drivers.port_kind import XDP

INTERFACE = "net0"
DRIVEN = frozenset({NETDEV})  # a socket's port would need a qualification of the tester on its own kind
BRIDGE = "bmwg-br0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One pod with its one attachment, whose addresses the tester speaks for instead of the kernel."""

    number: int
    pod: Pod
    attached: Attached
    check: dict[str, JsonValue]
    queue: dict[str, JsonValue]

    @property
    def node(self) -> PlacedNode:
        """The pod's node."""
        return self.pod.node

    def evidence(self, bed: Bed) -> dict[str, JsonValue]:
        """Return what stands in the platform record about this end."""
        return {
            "node": self.node.name,
            "pod": described(bed, self.pod, works=False),
            "attachment": dict(self.attached.evidence),
            "check": self.check,
            "addresses_spoken_for_by": "the tester",
        }

    def hops(self) -> list[JsonValue]:
        """Return the hops from the port outwards."""
        hops: list[JsonValue] = [
            {
                "at": f"{self.pod.pod_id}/{INTERFACE}",
                "what": f"tester port, {self.attached.link_kind} in the pod",
            }
        ]
        if self.attached.host_interface is not None:
            hops.append(
                {
                    "at": f"{self.node.name}/{self.attached.host_interface}",
                    "what": "host side of the attachment",
                }
            )
        return hops


def own_way(network: NetworkDriver) -> Missing | None:
    """Return why pods of one node are no cell of a network that joins nodes, or None for another network."""
    if not getattr(network, "between_nodes", ""):
        return None
    return Missing(
        what=f"two pods of one node on network {network.spec.name}",
        reason="frames would pass the bridge alone, and nothing of what joins the nodes",
        mend="path p2p-cluster for this option",
    )


def no_program(bed: Bed, network: NetworkDriver) -> Missing | None:
    """Return why the tester's programs cannot run at these pods' interfaces, or None (io: xdp only).

    What a plugin makes on top of the NIC (macvlan, ipvlan, vlan) runs no XDP program of its own.
    """
    if network.spec.uplink != uplinks.MASTER or bed.port_kind.used != XDP:
        return None
    return Missing(
        what=f"tester ports inside the kernel (io: xdp) on pods of network {network.spec.name}",
        reason="their interfaces stand on the node's NIC and run no XDP program themselves",
        mend="`io: af_xdp` in the testbed file, for all of the run",
    )


@contextmanager
def pod_pair(
    bed: Bed, network: NetworkDriver, nodes: tuple[NamespaceNode, NamespaceNode], *, nic: str | None
) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Make one pod on each of `nodes` (they may be the same) and attach both to the network option.

    On one L2 segment the pods share a subnet; where the node routes (`uplink: routed`) each has its own.
    """
    with ExitStack() as stack:
        for node in dict.fromkeys(nodes):
            stack.enter_context(uplinks.cleared(node, network.spec.uplink, nic=nic, bridge=BRIDGE))
        first, second = (
            stack.enter_context(_endpoint(bed, network, node, number, nic))
            for number, node in enumerate(nodes)
        )
        for node in dict.fromkeys(nodes):
            if network.spec.uplink == uplinks.BRIDGE_PORT:
                stack.enter_context(uplinks.bridged(node, interfaces=(), bridge=BRIDGE))
        yield first, second


@contextmanager
def _endpoint(
    bed: Bed, network: NetworkDriver, node: NamespaceNode, number: int, nic: str | None
) -> Iterator[Endpoint]:
    routed = network.spec.uplink == uplinks.ROUTED
    addresses = INNER[number].far if routed else ENDPOINTS[number]
    routes: tuple[tuple[str, str], ...] = ()
    if routed:
        routes = tuple(
            (subnet, host(via))
            for subnet, via in zip(INNER[1 - number].subnets, INNER[number].router, strict=True)
        )
    attachment = Attachment(
        network=network.spec.name,
        interface=INTERFACE,
        side=number,
        uplink=nic,
        addresses=addresses,
        routes=routes,
    )
    wanted = PodNetwork(driver=network, attachment=attachment, bridge=BRIDGE)
    with created_pod(bed, node, name=f"bmwg-{bed.next_id()}-{number}", networks=[wanted]) as pod:
        (attached,), (check,) = pod.attached, pod.checks
        keep = attached.link_kind == "ipvlan"  # it is told apart by its addresses only
        for address in () if keep else addresses:
            pod.inside("bmwg.drivers.hosting.interfaces:remove_address", interface=INTERFACE, address=address)
        pod.start()
        if routed:
            router = BRIDGE if getattr(network, "between_nodes", "") else uplinks.host_side(node, attached)
            node.call("bmwg.drivers.hosting.routing:disable_reverse_path_filter", interface=router)
            for arguments in routers.neighbour_arguments(router, INNER[number].far, attached.mac):
                node.call("bmwg.drivers.hosting.routing:set_neighbour", **arguments)
        queue: dict[str, JsonValue] = {"at": f"{pod.pod_id}/{INTERFACE}", "device_queue": "inline"}
        if attached.host_interface is not None:
            queue = queues.isolate(bed, node, attached.host_interface, number)
        yield Endpoint(number=number, pod=pod, attached=attached, check=check, queue=queue)


def subnet(end: Endpoint) -> str:
    """Return the IPv4 prefix of an endpoint's addresses."""
    return str(ipaddress.ip_interface(end.attached.attachment.addresses[0]).network)


def ports(bed: Bed, network: NetworkDriver, pair: tuple[Endpoint, Endpoint]) -> tuple[TesterPort, TesterPort]:
    """Return the tester's ports: the other pod's MAC as destination on L2, the node as next hop on L3."""
    first, second = (_port(bed, network, pair[number], pair[1 - number]) for number in (0, 1))
    return first, second


def _port(bed: Bed, network: NetworkDriver, mine: Endpoint, other: Endpoint) -> TesterPort:
    ipv4, ipv6 = mine.attached.attachment.addresses
    routed = network.spec.uplink == uplinks.ROUTED
    inner = INNER[mine.number]
    return bed.port(
        name=f"pod{mine.number}/{INTERFACE}",  # counters of the two ports stand side by side
        device=INTERFACE,
        netns=mine.pod.netns_path,
        mac=mine.attached.mac,
        ipv4=ipv4,
        ipv6=ipv6,
        gateway_ipv4=host(inner.router_ipv4) if routed else None,
        gateway_ipv6=host(inner.router_ipv6) if routed else None,
        peer_mac=None if routed else other.attached.mac,
    )


def evidence(bed: Bed, network: NetworkDriver, pair: tuple[Endpoint, Endpoint]) -> dict[str, JsonValue]:
    """Return what all paths of this kind have in common for the platform record."""
    return {
        "hosting": "pod",
        "function": {
            "name": "none",
            "runs_in": "the pods are endpoints; the tester's ports are their interfaces",
        },
        "network": {end.node.name: bed.described(network.spec.name, end.node.name) for end in pair},
        "endpoints": [end.evidence(bed) for end in pair],
        "pod_runtime": dict(bed.runtime.describe()),
        "device_queues": [end.queue for end in pair],
        "datapath": {end.node.name: end.node.call("bmwg.drivers.network.datapath:observe") for end in pair},
    }

"""Two pods at the ends of a path, on one node or two: ports of the tester, or with kernels of their own."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    BetweenPods,
    ClusterNetwork,
    Crossed,
    Evidence,
    HostNode,
    JsonValue,
    Missing,
    NetworkDriver,
    PlacedNode,
    Pod,
    PodEnd,
    PodNetwork,
    PodRuntime,
    TesterPort,
)
from bmwg.drivers.network import datapath
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.paths import queues, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, host
from bmwg.drivers.paths.addresses import endpoint as address_of
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.testbed.port_kind import XDP
from bmwg.methodology.records import Cell, FrameFormat

INTERFACE = "net0"
TESTER, KERNEL = "the tester", "the pod's kernel"  # who speaks for the addresses of a pod at a path's end
_TOLD: dict[str, Evidence] = {  # what the record says of the pods
    TESTER: {
        "function": {
            "name": "none",
            "runs_in": "the pods are endpoints; the tester's ports are their interfaces",
        }
    },
    KERNEL: {
        "function": {
            "name": "none",
            "runs_in": "the pods are endpoints; programs in them use their kernels' sockets",
            "endpoint": "endpoint: programs in it use its interface",
        },
        "chain": "none: programs in the pods speak to each other",
        "flow_definition": "transport connections and datagrams between the pods' addresses",
    },
}
_PLACES = {TESTER: "tester port", KERNEL: "end of the path"}
DRIVEN = frozenset({NETDEV})  # a socket's port would need a qualification of the tester on its own kind
BRIDGE = "bmwg-br0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One pod with its one attachment, for whose addresses the tester speaks, or the pod's own kernel."""

    number: int
    pod: Pod
    attached: Attached
    check: dict[str, JsonValue]
    queue: dict[str, JsonValue]
    speaker: str

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
            "addresses_spoken_for_by": self.speaker,
        }

    def hops(self) -> list[JsonValue]:
        """Return the hops from the port outwards."""
        hops: list[JsonValue] = [
            {
                "at": f"pod{self.number}/{INTERFACE}",  # its id is drawn anew at each deployment
                "what": f"{_PLACES[self.speaker]}, {self.attached.link_kind} in the pod",
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


_PAIR = 2


def wanted(cell: Cell) -> int:
    """Return how many pods a cell wants in all: two, where its load does not say otherwise."""
    return int(dict(cell.axes).get("pods", _PAIR))


def too_many(cell: Cell, network: NetworkDriver) -> Missing | None:
    """Return why a network cannot join as many pods as a cell wants, or None."""
    if wanted(cell) == _PAIR or network.spec.uplink != uplinks.ROUTED:
        return None
    return Missing(
        what=f"{wanted(cell)} pods on network {network.spec.name}",
        reason=f"its uplink is {network.spec.uplink}: each pod has a subnet of its own, and there are two",
        mend="a network option with another uplink",
    )


def beyond_reach(bed: Bed) -> Missing | None:
    """Return why the tester cannot open the interfaces of pods: their nodes are on other hosts."""
    if not bed.hosts:
        return None
    return Missing(
        what="tester ports that are the pods' own interfaces",
        reason="the nodes are on other hosts, and the tester opens interfaces of its own machine alone",
        mend="path pvp for frames over cables; testcases/pod_to_pod for programs in pods of two hosts",
    )


def own_way(network: NetworkDriver) -> Missing | None:
    """Return why pods of one node are no cell of a network that joins nodes alone, or None for another."""
    if not isinstance(network, ClusterNetwork) or network.on_one_node:
        return None
    return Missing(
        what=f"two pods of one node on network {network.spec.name}",
        reason="frames would pass the bridge alone, and nothing of what joins the nodes",
        mend="path p2p-cluster for this option",
    )


def no_ipv6(cell: Cell, network: NetworkDriver) -> Missing | None:
    """Return why frames of IPv6 are no cell of a network whose pods have addresses of IPv4 alone, or None."""
    if not network.ipv4_alone or cell.frame_format is not FrameFormat.IPV6_UDP:
        return None
    return Missing(
        what=f"IPv6 frames on network {network.spec.name}",
        reason="its pods have addresses of IPv4",
        mend="another network option for IPv6",
    )


def no_program(bed: Bed, network: NetworkDriver) -> Missing | None:
    """Return why the tester cannot be at these pods' interfaces by ports of its kind, or None.

    What a plugin makes on top of the NIC (macvlan, ipvlan, vlan) runs no XDP program of its own, and a pod's
    interface is no device on a PCI bus.
    """
    if bed.nics:
        return Missing(
            what=f"tester ports on the PCI bus (io: pci) on pods of network {network.spec.name}",
            reason="the tester's ports are the interfaces of the pods there",
            mend="a path that begins and ends at NICs, or `io: af_xdp` in the testbed file",
        )
    if network.spec.uplink != uplinks.MASTER or bed.port_kind.used != XDP:
        return None
    return Missing(
        what=f"tester ports inside the kernel (io: xdp) on pods of network {network.spec.name}",
        reason="their interfaces stand on the node's NIC and run no XDP program themselves",
        mend="`io: af_xdp` in the testbed file, for all of the run",
    )


@contextmanager
def pods(
    bed: Bed,
    network: NetworkDriver,
    nodes: tuple[HostNode, HostNode],
    *,
    nic: str | None,
    speaker: str,
    count: int,
) -> Iterator[tuple[Endpoint, ...]]:
    """Make pods by turns on the first and the second of `nodes`, and attach all to the network option.

    On one L2 segment the pods share a subnet; where the node routes (`uplink: routed`) each has its own. Pods
    whose kernels speak are left as their runtime and the plugins made them: no device queue is theirs alone.
    """
    with ExitStack() as stack:
        for node in dict.fromkeys(nodes):
            stack.enter_context(uplinks.cleared(node, network.spec.uplink, nic=nic, bridge=BRIDGE))
        made = tuple(
            stack.enter_context(
                endpoint(bed, network, nodes[number % _PAIR], number=number, nic=nic, speaker=speaker)
            )
            for number in range(count)
        )
        for node in dict.fromkeys(nodes):
            if network.spec.uplink == uplinks.BRIDGE_PORT:
                stack.enter_context(uplinks.bridged(node, interfaces=(), bridge=BRIDGE))
        yield made


@contextmanager
def endpoint(
    bed: Bed,
    network: NetworkDriver,
    node: HostNode,
    *,
    number: int,
    nic: str | None,
    speaker: str,
    runtime: PodRuntime | None = None,
) -> Iterator[Endpoint]:
    """Make one pod and attach it; its number says which of a path's addresses it gets.

    `runtime` makes it in place of the testbed's own.
    """
    routed = network.spec.uplink == uplinks.ROUTED
    addresses = INNER[number].far if routed else address_of(number)
    routes: tuple[tuple[str, str], ...] = ()
    if routed:
        routes = tuple(
            (subnet, host(via))
            for subnet, via in zip(INNER[1 - number].subnets, INNER[number].router, strict=True)
            if ":" not in via or not network.ipv4_alone
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
    by_tester = speaker == TESTER
    name = f"bmwg-{bed.next_id()}-{number}"
    with created_pod(bed, node, name=name, networks=[wanted], runtime=runtime, programs=not by_tester) as pod:
        (attached,), (check,) = pod.attached, pod.checks
        keep = not by_tester or attached.link_kind == "ipvlan"  # it is told apart by its addresses only
        for address in () if keep else _given(attached):
            pod.inside(interfaces.remove_address, interface=INTERFACE, address=address)
        pod.start()
        if routed and not network.own_router:
            router = BRIDGE if isinstance(network, ClusterNetwork) else uplinks.host_side(node, attached)
            node.call(routing.disable_reverse_path_filter, interface=router)
            if by_tester:
                for arguments in routers.neighbour_arguments(router, INNER[number].far, attached.mac):
                    node.call(routing.set_neighbour, **arguments)
            else:
                for destination, via in routes:
                    pod.inside(routing.add_route, destination=destination, via=via, interface=INTERFACE)
        queue: dict[str, JsonValue] = {"at": f"{pod.pod_id}/{INTERFACE}", "device_queue": "inline"}
        if by_tester and attached.host_interface is not None:
            queue = queues.isolate(bed, node, attached.host_interface, number)
        yield Endpoint(number=number, pod=pod, attached=attached, check=check, queue=queue, speaker=speaker)


def _given(attached: Attached) -> tuple[str, ...]:
    """Return the attachment's addresses as the plugins have set them, whose prefix may be another."""
    wanted = {ipaddress.ip_interface(text).ip for text in attached.attachment.addresses}
    return tuple(text for text in attached.addresses if ipaddress.ip_interface(text).ip in wanted)


def joined(network: NetworkDriver, pair: tuple[Endpoint, ...]) -> dict[str, JsonValue]:
    """Wait until the network's daemons know both pods, where they must; return what they know of them."""
    return network.joined([(end.node, end.attached) for end in pair])


def between(
    made: tuple[Endpoint, ...],
    evidence: Evidence,
    way: Sequence[tuple[HostNode, str, str]] = (),
) -> BetweenPods:
    """Return what stands for programs in the pods; `way` is what `crossed` takes."""
    first, second, *more = (
        PodEnd(pod=end.pod, interface=INTERFACE, address=host(end.attached.attachment.addresses[0]))
        for end in made
    )
    return BetweenPods(ends=(first, second), crossed=crossed(made, way), evidence=evidence, more=tuple(more))


def crossed(
    made: tuple[Endpoint, ...], between: Sequence[tuple[HostNode, str, str]] = ()
) -> tuple[Crossed, ...]:
    """Return the interfaces from the first pod to the second; `between` are the nodes' own on the way.

    Each of these is node, interface and the counter that tells what goes forward. Of further pods, those of
    an even number send forward.
    """
    nodes = [
        Crossed(at=f"{node.name}/{interface}", place=node, interface=interface, forward=forward)
        for node, interface, forward in between
    ]
    sending = [one for end in made[::_PAIR] for one in crossed_by(end, outwards=True)]
    receiving = [one for end in made[1::_PAIR] for one in crossed_by(end, outwards=False)]
    return (*sending, *nodes, *receiving)


def crossed_by(end: Endpoint, *, outwards: bool) -> tuple[Crossed, ...]:
    """Return the interfaces of one pod's attachment in their order; `outwards`: data leaves the pod."""
    role = f"pod{end.number}"
    mine = [Crossed(at=f"{role}/{INTERFACE}", place=end.pod, interface=INTERFACE, forward=_way(outwards))]
    if (name := end.attached.host_interface) is not None:
        at = f"{end.node.name}, host end of {role}"
        mine.append(Crossed(at=at, place=end.node, interface=name, forward=_way(not outwards)))
    return tuple(mine if outwards else mine[::-1])


def _way(sends: bool) -> str:
    return "tx" if sends else "rx"


def subnet(end: Endpoint) -> str:
    """Return the IPv4 prefix of an endpoint's addresses."""
    return str(ipaddress.ip_interface(end.attached.attachment.addresses[0]).network)


def subnets(end: Endpoint) -> tuple[str, ...]:
    """Return the prefixes of all of an endpoint's addresses."""
    return tuple(
        str(ipaddress.ip_interface(address).network) for address in end.attached.attachment.addresses
    )


def ports(bed: Bed, network: NetworkDriver, pair: tuple[Endpoint, ...]) -> tuple[TesterPort, TesterPort]:
    """Return the tester's ports: the other pod's MAC as destination on L2, the node as next hop on L3."""
    first, second = (_port(bed, network, pair[number], pair[1 - number]) for number in (0, 1))
    if network.ipv4_alone:  # its router has no address of IPv6 to be asked for
        return replace(first, gateway_ipv6=None), replace(second, gateway_ipv6=None)
    return first, second


def _port(bed: Bed, network: NetworkDriver, mine: Endpoint, other: Endpoint) -> TesterPort:
    ipv4, ipv6 = mine.attached.attachment.addresses
    routed = network.spec.uplink == uplinks.ROUTED
    inner = INNER[mine.number]
    return bed.port(
        mine.number,
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


def evidence(bed: Bed, network: NetworkDriver, pair: tuple[Endpoint, ...]) -> Evidence:
    """Return what all paths of this kind have in common for the platform record."""
    return {
        "hosting": "pod",
        **_TOLD[pair[0].speaker],
        "network": {end.node.name: bed.described(network.spec.name, end.node.name) for end in pair},
        "endpoints": [end.evidence(bed) for end in pair],
        "pod_runtime": dict(bed.runtime.describe()),
        "device_queues": [end.queue for end in pair],
        "datapath": {end.node.name: end.node.call(datapath.observe) for end in pair},
    }

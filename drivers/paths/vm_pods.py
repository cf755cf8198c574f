"""Pods in virtual machines: from the node to its guest (BMP2VMP), or between two guests of it (VMP2VMP).

A pod in a guest is a pod like any other on a node that happens to be a guest: the same runtime and the same
plugins make it there. The guest's vNIC joins it to the node, by a bridge of the node's namespace or, where
nodes route, by their routes. Frames of the tester have no cells on it: its ports are this machine's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import HostNode, JsonValue, Missing, PodPathDriver
from bmwg.drivers.network.handover import undriven
from bmwg.drivers.paths import endpoints, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, UNDERLAY, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse
from bmwg.drivers.paths.pair import Join, Nodes, OpenPairPath, Pods
from bmwg.drivers.places import guest_hosts
from bmwg.drivers.places.guest_hosts import GuestHost
from bmwg.drivers.ports import interfaces, routing
from bmwg.methodology.cells import vnics
from bmwg.methodology.cells.paths import PathKind, between_pods
from bmwg.methodology.records import Cell

SEGMENT = "bmwg-vm0"  # the node's bridge between the taps of two guests
_RUNTIME = "crun"
_UPLINKS = (uplinks.BRIDGE_PORT, uplinks.ROUTED, uplinks.MASTER)


class VmPodsPath(OpenPairPath):
    """What all these paths have in common; `guests` of the two pods' nodes are guests, here of one node."""

    guests: ClassVar[int]

    def __init__(self, cell: Cell, bed: Bed) -> None:
        super().__init__(cell, bed)
        self._vnic = str(dict(cell.axes).get(vnics.AXIS, vnics.VIRTIO))

    @property
    def _node(self) -> HostNode:
        """The guests' host."""
        return self._bed.node(self._bed.sides()[0].node)

    def hosts(self) -> tuple[HostNode, ...]:
        """Return the host of each guest."""
        return (self._node,) * self.guests

    def probe_frames(self) -> Missing | None:
        """Return that frames are not for this path."""
        return Missing(
            what=f"frames on path {self.kind.name}",
            reason="the tester's ports are interfaces of this machine, and a guest has its own kernel",
            mend="`bmwg run --in-guest` for frames in a guest; this path is of testcases/pod_to_pod",
        )

    def probe_pods(self) -> Missing | None:
        """Return what is missing before a guest is booted; what the guest lacks is found inside."""
        bed, uplink = self._bed, self._network.spec.uplink
        if bed.testbed.pods.runtime != _RUNTIME:
            return Missing(
                what=f"pods of {bed.testbed.pods.runtime} in a guest",
                reason="its service runs on the nodes of the testbed file",
                mend=f"pods.runtime: {_RUNTIME}",
            )
        found = undriven(self._network, "an end of a path in a pod", endpoints.DRIVEN)
        found = found or endpoints.own_way(self._network) or endpoints.too_many(self._cell, self._network)
        if found or (found := self.no_uplink(uplink)):
            return found
        if self.guests == 1 and (lack := bed.missing(self._cell.network, self.hostless().name)):
            return lack
        lacks = (guest_hosts.lacking(bed, node, self._vnic) for node in self.hosts())
        return next((lack for lack in lacks if lack), None)

    def hostless(self) -> HostNode:
        """Return the first pod's node, where that is no guest."""
        return self._node

    def no_uplink(self, uplink: str) -> Missing | None:
        """Return why pods' networks with this uplink are none of this path."""
        if uplink not in _UPLINKS or self._network.on_one_node:
            return Missing(
                what=f"network {self._cell.network} in a guest",
                reason=f"its uplink is {uplink}; a guest's NIC is {', '.join(_UPLINKS)} of a pod's network",
                mend="a network option of CNI plugins",
            )
        return None

    def nodes(self, stack: ExitStack) -> Nodes:
        """Boot the guests, and join their taps where there are two; return the pods' nodes.

        Raises TestbedError PATH-02 when the guest lacks what the option needs, and what booting it raises.
        """
        bed = self._bed
        pods = endpoints.wanted(self._cell) // 2
        guests = [
            stack.enter_context(guest_hosts.guest_host(bed, node, number=number, vnic=self._vnic, pods=pods))
            for number, node in enumerate(self.hosts())
        ]
        refuse(bed.runtime.probe(guests[0]) or bed.missing(self._cell.network, guests[0].name))  # all alike
        self.segment(stack, guests)
        return guests[0] if self.guests > 1 else self.hostless(), guests[-1]

    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Return what lies between the pods: `nodes` and `pods` have made all of it."""
        guests = [node for node in nodes if isinstance(node, GuestHost)]
        return Join(
            told={
                "machines": {
                    guest.name: guest_hosts.described(self._bed, guest, self._vnic) for guest in guests
                },
            },
            hops=self.hops(guests),
            forwarding="the kernels of node and guests, and QEMU between them",
            way=self.way(guests),
        )

    def segment(self, stack: ExitStack, guests: Sequence[GuestHost]) -> None:
        """Join the taps of two guests by a bridge of the node's; that of one joins the pod's own bridge."""
        if len(guests) > 1:
            stack.enter_context(bridging(self._node, *(guest.tap for guest in guests)))

    def port(self, nodes: Nodes, number: int) -> str:
        """Return the interface by which the node of that number reaches the other one."""
        node = nodes[number]
        return node.interface if isinstance(node, GuestHost) else _tap_of(nodes[1 - number])

    def joined(self, stack: ExitStack, nodes: Nodes, ports: Sequence[str], pods: Pods) -> None:
        """Make each node's port one of its pods' bridge."""
        for one, port in zip(nodes, ports, strict=True):
            stack.enter_context(uplinks.bridged(one, interfaces=(port,), bridge=endpoints.BRIDGE))

    def pods(self, stack: ExitStack, nodes: Nodes, speaker: str) -> Pods:
        """Make pods by turns on the nodes, and join each node's side to the segment between them."""
        uplink = self._network.spec.uplink
        ports = [self.port(nodes, number) for number in range(len(nodes))]
        for one, port in zip(nodes, ports, strict=True):
            nic = port if uplink == uplinks.MASTER else None
            stack.enter_context(uplinks.cleared(one, uplink, nic=nic, bridge=endpoints.BRIDGE))
        if uplink == uplinks.ROUTED:
            for number, one in enumerate(nodes):
                stack.enter_context(routers.forwarding(one))
                stack.enter_context(_routed(one, ports[number], number))
        pods = [
            stack.enter_context(
                endpoints.endpoint(
                    self._bed,
                    self._network,
                    nodes[number % 2],
                    number=number,
                    nic=ports[number % 2] if uplink == uplinks.MASTER else None,
                    speaker=speaker,
                )
            )
            for number in range(endpoints.wanted(self._cell))
        ]
        if uplink == uplinks.BRIDGE_PORT:
            self.joined(stack, nodes, ports, tuple(pods))
        return tuple(pods)

    def way(self, guests: Sequence[GuestHost]) -> list[tuple[HostNode, str, str]]:
        """Return the interfaces between the two pods' attachments, and which counter goes forward."""
        last = guests[-1]
        into: list[tuple[HostNode, str, str]] = [
            (self._node, last.tap, "tx"),
            (last, last.interface, "rx"),
        ]
        if len(guests) == 1:
            return into
        first = guests[0]
        return [(first, first.interface, "tx"), (self._node, first.tap, "rx"), *into]

    def switching(self) -> str:
        """Say how a node joins its pod to its port."""
        return {
            uplinks.BRIDGE_PORT: f"bridge {endpoints.BRIDGE}",
            uplinks.ROUTED: "its kernel routes",
        }.get(self._network.spec.uplink, "the plugin's own switching")

    def hops(self, guests: Sequence[GuestHost]) -> list[JsonValue]:
        """Return what lies between the pods' attachments, in order."""
        joined = self.switching()
        node = self._node.name
        vnic = f"the guest's vNIC ({self._vnic})"
        last = guests[-1]
        into: list[JsonValue] = [
            {"at": f"{node}/{last.tap}", "what": "tap of the guest"},
            {"at": f"{last.name}/{last.interface}", "what": vnic},
            {"at": last.name, "what": joined},
        ]
        out: list[JsonValue] = [{"at": node, "what": joined}]
        if len(guests) > 1:
            first = guests[0]
            out = [
                {"at": first.name, "what": joined},
                {"at": f"{first.name}/{first.interface}", "what": vnic},
                {"at": f"{node}/{first.tap}", "what": "tap of the guest"},
                {"at": node, "what": f"bridge {SEGMENT}"},
            ]
        return [*out, *into]


@contextmanager
def bridging(node: HostNode, *ports: str) -> Iterator[None]:
    """Have a bridge of ours join interfaces of a node while this is entered."""
    try:
        node.call(routing.add_bridge, bridge=SEGMENT)
        for port in ports:
            node.call(routing.set_controller, interface=port, controller=SEGMENT)
        yield
    finally:
        node.call(interfaces.delete, interface=SEGMENT)


def _tap_of(guest: HostNode) -> str:
    assert isinstance(guest, GuestHost)
    return guest.tap


@contextmanager
def _routed(node: HostNode, interface: str, number: int) -> Iterator[None]:
    """Give a node its address towards the other one, and its routes to the other's pod."""
    mine, other = (UNDERLAY.router, UNDERLAY.far) if number == 0 else (UNDERLAY.far, UNDERLAY.router)
    try:
        for address in mine:
            node.call(interfaces.add_address, interface=interface, address=address)
        node.call(routing.disable_reverse_path_filter, interface=interface)
        for destination, via in zip(INNER[1 - number].subnets, other, strict=True):
            node.call(routing.add_route, destination=destination, via=host(via), interface=interface)
        yield
    finally:
        for address in mine:  # the routes go with them
            node.call(interfaces.remove_address, interface=interface, address=address)


class HostToGuestPath(VmPodsPath):
    """One pod on the node, the other in a guest of that node."""

    kind: ClassVar[PathKind] = between_pods(
        "bmp2vmp", "BMP2VMP: pod on a host to pod in a virtual machine of that host"
    )
    guests: ClassVar[int] = 1

    def no_uplink(self, uplink: str) -> Missing | None:
        """Return why pods' networks with this uplink are none of this path."""
        if uplink == uplinks.MASTER:
            return Missing(
                what=f"network {self._cell.network} from the node to its guest",
                reason="the node's pod would stand on a NIC that ends at no bridge with the guest's tap",
                mend="path vmp2vmp for this option",
            )
        return super().no_uplink(uplink)


class GuestToGuestPath(VmPodsPath):
    """A pod in each of two guests of one node."""

    kind: ClassVar[PathKind] = between_pods(
        "vmp2vmp", "VMP2VMP: pod to pod in two virtual machines of one host"
    )
    guests: ClassVar[int] = 2


_: type[PodPathDriver] = HostToGuestPath
__: type[PodPathDriver] = GuestToGuestPath

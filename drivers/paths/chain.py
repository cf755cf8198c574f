"""A chain: tester port, node NIC, one pod after the other, node NIC, tester port; each pod forwards.

PVP is the chain of one.

Each pod has two attachments of the network option. Between two pods lies a segment of its own, as between a
pod and a NIC: a bridge, a pair of ports of a switch, a pair of programs, or the node's routes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api import (
    Attached,
    Attachment,
    Deployment,
    FunctionLink,
    JsonValue,
    Missing,
    PathDriver,
    PlacedNode,
    Pod,
    PodNetwork,
    TesterPort,
)
from bmwg.drivers.hosting import routing
from bmwg.drivers.network import datapath
from bmwg.drivers.network.handover import undriven
from bmwg.drivers.paths import destinations, members, pod_ends, queues, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, OUTER, Segment, host, transit
from bmwg.drivers.paths.bed import Bed, Side
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.methodology import chains
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import POD, Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """One attachment of one pod: `member` counts the pods, `side` is 0 towards port 0 and 1 towards port 1.

    `number` counts all ends along the way, `segment` the segments; `nic` is the node's NIC on that segment.
    """

    member: int
    side: int
    nic: str | None

    @property
    def number(self) -> int:
        return 2 * self.member + self.side

    @property
    def segment(self) -> int:
        return self.member + self.side


class ChainPath:
    """A chain of pods, in each of which one of the functions for pods forwards."""

    kind: ClassVar[PathKind] = PathKind(
        name="chain",
        hostings=(POD,),
        functions=registry.names(registry.FUNCTION),
        networked=True,
        scenario="chain: interface, pods one after the other, interface",
        axes=(chains.AXIS,),
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._members = chains.of(dict(cell.axes))
        self._network = bed.network(cell.network)
        self._functions = [registry.function(cell.function, bed) for _ in self._members]
        self._uplink = self._network.spec.uplink

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, the network option on the node, the function."""
        missing = too_large(self._cell, mtu_octets=self._bed.mtu_octets) or undriven(
            self._network, f"function {self._cell.function}", self._functions[0].drives
        )
        if missing is None and len(self._members) > 1:
            missing = self._no_segment_between() or self._bed.runtime.side_by_side(len(self._members))
        return (
            missing
            or self._unroutable()
            or self._bed.missing(self._cell.network, self._bed.sides()[0].node)
            or self._network.transit()
            or self._functions[0].probe()
        )

    def _unroutable(self) -> Missing | None:
        return destinations.unroutable(self._cell, "a chain has routes to one network behind each port")

    def _no_segment_between(self) -> Missing | None:
        """Return why an option joins no two pods: its attachments stand on the node's NIC."""
        if self._uplink != uplinks.MASTER:
            return None
        return Missing(
            what=f"a chain of {len(self._members)} on network {self._cell.network}",
            reason="its attachments stand on the node's NIC, and between two pods there is none",
            mend="an option that joins two pods itself: bridge, ptp, ebpf-tc, ovs-dpdk",
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pods and their attachments, join the segments, start the functions; undo it on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node = bed.node(sides[0].node)
        began_s = time.monotonic()
        with ExitStack() as stack:
            nics = tuple(side.nic for side in sides)
            stack.enter_context(queues.released(bed, node, nics))
            if self._cell.vlan_id is not None:
                stack.enter_context(queues.tags_in_frames(node, nics))
            if self._uplink == uplinks.ROUTED:
                stack.enter_context(routers.forwarding(node))
                for side in sides:
                    stack.enter_context(routers.router_addresses(node, side))
            for segment in range(len(self._members) + 1):
                nic = self._nic(segment, sides)
                stack.enter_context(uplinks.cleared(node, self._uplink, nic=nic, bridge=bridge_of(segment)))
            pods = [
                stack.enter_context(self._pod(node, member, sides)) for member in range(len(self._members))
            ]
            ends = list(self._ends(sides))
            attached = [item for pod in pods for item in pod.attached]
            for end, item in zip(ends, attached, strict=True):
                pod_ends.widen(bed, self._network, pods[end.member], item)
            for segment in range(len(self._members) + 1):
                stack.enter_context(self._joined(node, segment, sides, ends, attached))
            links = self._links(sides, ends, attached)
            functions = []
            for member, (pod, function) in enumerate(zip(pods, self._functions, strict=True)):
                pod.start(function.furnish(pod, links[2 * member : 2 * member + 2]))
            networks = self._networks_routed(stack, pods[0], sides, attached)
            for pod, function in zip(pods, self._functions, strict=True):
                functions.append(function.started(pod))
            settled = [
                self._network.settled(
                    node, item, pod_id=pods[end.member].pod_id, pod_pid=pods[end.member].pid
                )
                for end, item in zip(ends, attached, strict=True)
            ]
            outer = ((pods[0], attached[0]), (pods[-1], attached[-1]))
            device_queues = [
                pod_ends.queue(bed, self._network, pod, side, item)
                for side, (pod, item) in zip(sides, outer, strict=True)
            ]
            activation_s = round(time.monotonic() - began_s, 3)
            yield Deployment(
                ports=(self._port(sides[0], attached[0]), self._port(sides[1], attached[-1])),
                evidence={
                    "path": self.kind.name,
                    "hosting": "pod",
                    "function": functions[0],
                    "network": bed.described(self._cell.network, node.name),
                    "attachments": [
                        {**item.evidence, **more, **self._member(end)}
                        for end, item, more in zip(ends, attached, settled, strict=True)
                    ],
                    "checks": [check for pod in pods for check in pod.checks],
                    "pod": described(bed, pods[0], works=True),
                    "pod_runtime": dict(bed.runtime.describe()),
                    "hops": self._hops(sides, ends, attached),
                    "forwarding": self._functions[0].forwarding,
                    "device_queues": device_queues,
                    **({"destination_networks": networks} if networks else {}),
                    "datapath": {
                        node.name: node.call(datapath.observe),
                        **{
                            name: node.call(datapath.observe, netns=pod.netns_path)
                            for name, pod in zip(self._pod_names(), pods, strict=True)
                        },
                    },
                    **self._told(pods, functions, activation_s, attached),
                },
            )

    def _networks_routed(
        self, stack: ExitStack, pod: Pod, sides: tuple[Side, Side], attached: Sequence[Attached]
    ) -> list[JsonValue]:
        """Set the routes for the networks behind the tester's ports in all that routes; return evidence."""
        return []  # one network is connected

    def _told(
        self,
        pods: Sequence[Pod],
        functions: Sequence[dict[str, JsonValue]],
        activation_s: float,
        attached: Sequence[Attached],
    ) -> dict[str, JsonValue]:
        """Return each function by name. Activation includes the start of a vSwitch, which is told apart."""
        told = members.told(self._bed, self._members, pods, functions)
        return {"chain": {"members": told, **members.activation(activation_s, attached)}}

    # ---------------------------------------------------------------- what there is

    def _ends(self, sides: tuple[Side, Side]) -> Iterator[_End]:
        for member in range(len(self._members)):
            for side in (0, 1):
                yield _End(member=member, side=side, nic=self._nic(member + side, sides))

    def _nic(self, segment: int, sides: tuple[Side, Side]) -> str | None:
        """Return the node's NIC on a segment: the first and the last have one."""
        if segment == 0:
            return sides[0].nic
        return sides[1].nic if segment == len(self._members) else None

    def _pod_names(self) -> list[str]:
        several = len(self._members) > 1
        return [f"pod{number}" if several else "pod" for number in range(len(self._members))]

    def _member(self, end: _End) -> dict[str, JsonValue]:
        return {"member": self._members[end.member]} if len(self._members) > 1 else {}

    # ---------------------------------------------------------------- making it

    @contextmanager
    def _pod(self, node: PlacedNode, member: int, sides: tuple[Side, Side]) -> Iterator[Pod]:
        name = f"bmwg-{self._bed.next_id()}"
        wanted = [self._wanted(end, sides) for end in self._ends(sides) if end.member == member]
        with (
            self._functions[member].parts(name) as parts,
            self._network.pod_parts(node, name) as more,
            created_pod(self._bed, node, name=name, networks=wanted, parts=parts | more) as pod,
        ):
            yield pod

    def _wanted(self, end: _End, sides: tuple[Side, Side]) -> PodNetwork:
        attachment = Attachment(
            network=self._cell.network,
            interface=f"net{end.side}",
            side=end.side,
            uplink=end.nic,
            addresses=self._own(end),
            routes=self._routes(end),
        )
        return PodNetwork(driver=self._network, attachment=attachment, bridge=bridge_of(end.segment))

    def _routed(self, end: _End) -> Segment:
        """Return the subnet between the node, which routes, and one attachment."""
        return INNER[end.side] if end.nic is not None else transit(end.number)

    def _own(self, end: _End) -> tuple[str, str]:
        """Return the addresses of a pod's interface."""
        if self._uplink == uplinks.ROUTED:
            return self._routed(end).far
        if end.nic is not None:
            return OUTER[end.side].router
        between = transit(end.segment)
        return between.far if end.side == 0 else between.router

    def _next(self, end: _End) -> tuple[str, str]:
        """Return the addresses of whom frames that leave by this end go to."""
        if self._uplink == uplinks.ROUTED:
            return self._routed(end).router
        if end.nic is not None:
            return OUTER[end.side].far
        between = transit(end.segment)
        return between.router if end.side == 0 else between.far

    def _routes(self, end: _End) -> tuple[tuple[str, str], ...]:
        """Return the routes of a pod by this end: to the tester's port that lies that way."""
        if self._uplink != uplinks.ROUTED and end.nic is not None:
            return ()  # the port is a neighbour
        return tuple(
            (subnet, host(via)) for subnet, via in zip(OUTER[end.side].subnets, self._next(end), strict=True)
        )

    @contextmanager
    def _joined(
        self,
        node: PlacedNode,
        segment: int,
        sides: tuple[Side, Side],
        ends: Sequence[_End],
        attached: Sequence[Attached],
    ) -> Iterator[None]:
        """Join what lies on a segment: an attachment and a NIC, or two attachments."""
        nic = self._nic(segment, sides)
        here = [(end, item) for end, item in zip(ends, attached, strict=True) if end.segment == segment]
        if self._uplink == uplinks.BRIDGE_PORT:
            nics = () if nic is None else (nic,)
            with uplinks.bridged(node, interfaces=nics, bridge=bridge_of(segment)):
                yield
        elif self._uplink == uplinks.ROUTED:
            with ExitStack() as stack:
                for end, item in here:
                    host_interface = uplinks.host_side(node, item)
                    far = self._routed(end).far
                    for arguments in routers.neighbour_arguments(host_interface, far, item.mac):
                        node.call(routing.set_neighbour, **arguments)
                if nic is not None:
                    ((end, item),) = here
                    side = sides[end.side]
                    stack.enter_context(routers.steered_to_pod(node, side, uplinks.host_side(node, item)))
                else:
                    for (_, one), (end, other) in (here, here[::-1]):
                        stack.enter_context(
                            routers.steered(
                                node,
                                incoming=uplinks.host_side(node, one),
                                to=OUTER[1 - end.side].subnets,
                                via=self._routed(end).far,
                                outgoing=uplinks.host_side(node, other),
                                number=routers.SIDES + end.number,
                            )
                        )
                yield
        else:
            yield

    def _links(
        self, sides: tuple[Side, Side], ends: Sequence[_End], attached: Sequence[Attached]
    ) -> list[FunctionLink]:
        """Return the functions' interfaces with the next hops of what leaves by them."""
        return [
            FunctionLink(
                interface=item.attachment.interface,
                routes=item.attachment.routes,
                neighbours=self._next(end),
                neighbour_mac=self._neighbour_mac(sides, end, ends, attached),
                device=item.device,
            )
            for end, item in zip(ends, attached, strict=True)
        ]

    def _neighbour_mac(
        self, sides: tuple[Side, Side], end: _End, ends: Sequence[_End], attached: Sequence[Attached]
    ) -> str:
        """Return the MAC that frames leaving a pod by this end go to."""
        if self._uplink == uplinks.ROUTED:
            return str(attached[end.number].host_mac)
        if end.nic is not None:
            return sides[end.side].tester_mac
        return next(
            attached[other.number].mac for other in ends if other.segment == end.segment and other != end
        )

    # ---------------------------------------------------------------- how it is entered

    def _port(self, side: Side, attached: Attached) -> TesterPort:
        answers = self._functions[0].answers_neighbours
        return pod_ends.port(self._bed, self._cell, self._network, side, attached, answers=answers)

    def _hops(
        self, sides: tuple[Side, Side], ends: Sequence[_End], attached: Sequence[Attached]
    ) -> list[JsonValue]:
        hops: list[JsonValue] = []
        names = self._pod_names()
        for end, item in zip(ends, attached, strict=True):
            part: list[JsonValue] = []
            if end.nic is not None:
                side = sides[end.side]
                part += [
                    {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                    {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, uplink {self._uplink}"},
                ]
            if item.host_interface is not None:
                part.append(
                    {"at": f"{sides[0].node}/{item.host_interface}", "what": "host side of the attachment"}
                )
            inside = f"{item.link_kind}, {self._cell.function}"
            part.append({"at": f"{names[end.member]}/{item.attachment.interface}", "what": inside})
            hops.extend(part if end.side == 0 else reversed(part))
        return hops


def bridge_of(segment: int) -> str:
    """Return the name of the bridge on a segment, where the option makes one."""
    return f"bmwg-br{segment}"


_: type[PathDriver] = ChainPath

"""What chains of pods do alike: a node or two, NICs to the tester, pods that forward by two attachments."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    Deployment,
    Evidence,
    FunctionLink,
    JsonValue,
    KernelFunction,
    Missing,
    PlacedNode,
    Pod,
    PodNetwork,
    TesterPort,
)
from bmwg.drivers.network import datapath
from bmwg.drivers.network.handover import BY_DPDK, undriven
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths import pod_ends, queues, routers, uplinks
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, refuse, too_large
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.paths.standing_programs import standing_programs
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import Cell


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class End:
    """One attachment of one pod: `member` counts pods, `side` is 0 towards port 0 and 1 towards port 1."""

    member: int
    side: int

    @property
    def number(self) -> int:
        """Its place among all attachments."""
        return 2 * self.member + self.side


def both(member: int) -> tuple[End, End]:
    """Return the two attachments of a pod."""
    return End(member=member, side=0), End(member=member, side=1)


def bridge_of(segment: int) -> str:
    """Return the name of the bridge on a segment, where the network option makes one."""
    return f"bmwg-br{segment}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a path has made: the pods, each on its node, each attachment, and where the tester is cabled to.

    Once they run, `functions` are what they told of themselves, `activation_s` how long all of it took, and
    `steered` what leads frames.
    """

    nodes: Sequence[PlacedNode]
    sides: tuple[Side, Side]
    pods: Sequence[Pod]
    attached: dict[End, Attached]
    functions: Sequence[dict[str, JsonValue]] = ()
    activation_s: float = 0.0
    steered: Sequence[JsonValue] = ()

    @property
    def node(self) -> PlacedNode:
        """The node of the first pod, where all pods are on one."""
        return self.nodes[0]


class ForwardingPods(ABC):
    """A path through pods, in each of which a function of its own forwards.

    A path states which pods there are, what each attachment is, how frames are led from one to the next, and
    where the tester's ports enter.
    """

    kind: ClassVar[PathKind]

    def __init__(self, cell: Cell, bed: Bed, members: Sequence[str]) -> None:
        self._cell = cell
        self._bed = bed
        self._members = members
        self._network = bed.network(cell.network)
        self._functions = [registry.function(cell.function, bed) for _ in members]
        self._uplink = self._network.spec.uplink

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, who leads frames, the network option, the function."""
        missing = (
            self._too_large()
            or undriven(self._network, f"function {self._cell.function}", self._functions[0].drives)
            or self._unfit()
            or self._unled()
        )
        if missing is None and len(self._members) > 1:
            missing = self._bed.runtime.side_by_side(len(self._members))
        if missing is None:
            missing = self._network.transit()
        for node in () if missing else dict.fromkeys(self._nodes(self._sides())):
            missing = (
                missing or self._bed.missing(self._cell.network, node.name) or self._functions[0].probe(node)
            )
        return missing

    def _too_large(self) -> Missing | None:
        """Return why frames do not fit: ports that DPDK sets up keep the MTU of ordinary frames."""
        mtu_octets = self._bed.mtu_octets
        if self._network.hands_over not in BY_DPDK:
            return too_large(self._cell, mtu_octets=mtu_octets)
        why = f" of ports by {self._network.hands_over}"
        return too_large(self._cell, mtu_octets=min(mtu_octets, LINK_MTU_OCTETS), because=why)

    def _unfit(self) -> Missing | None:
        function = self._functions[0]
        return function.unfit(self._cell) if isinstance(function, KernelFunction) else None

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pods, lead frames through them, start the functions; undo it on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = self._sides()
        nodes = self._nodes(sides)
        began_s = time.monotonic()
        with ExitStack() as stack:
            self._ground(stack, sides)
            pods = [stack.enter_context(self._pod(node, member, sides)) for member, node in enumerate(nodes)]
            attached = {end: pods[end.member].attached[end.side] for end in self._ends()}
            standing = Standing(nodes=nodes, sides=sides, pods=pods, attached=attached)
            for end, item in attached.items():
                pod_ends.widen(bed, self._network, pods[end.member], item)
            steered = self._lead(stack, standing)
            for member, (pod, function) in enumerate(zip(pods, self._functions, strict=True)):
                pod.start(function.furnish(pod, self._links(member, standing)))
            steered += self._route_inside(stack, standing)
            functions = [function.started(pod) for pod, function in zip(pods, self._functions, strict=True)]
            settled = [
                self._network.settled(
                    nodes[end.member], item, pod_id=pods[end.member].pod_id, pod_pid=pods[end.member].pid
                )
                for end, item in attached.items()
            ]
            for node in dict.fromkeys(nodes):
                stack.enter_context(standing_programs(bed, node, self._network))
            outer = self._outer()
            device_queues = [
                pod_ends.queue(bed, self._network, pods[end.member], side, attached[end])
                for side, end in zip(sides, outer, strict=True)
            ] + self._inner_queues(stack)
            standing = replace(
                standing,
                functions=functions,
                activation_s=round(time.monotonic() - began_s, 3),
                steered=steered,
            )
            yield Deployment(
                ports=(self._port(sides[0], attached[outer[0]]), self._port(sides[1], attached[outer[1]])),
                evidence={
                    "path": self.kind.name,
                    "hosting": "pod",
                    "function": functions[0],
                    "network": self._described(nodes),
                    "attachments": [
                        {**item.evidence, **more, **self._member(end)}
                        for (end, item), more in zip(attached.items(), settled, strict=True)
                    ],
                    "checks": [check for pod in pods for check in pod.checks],
                    "pod": described(bed, pods[0], works=True),
                    "pod_runtime": dict(bed.runtime.describe()),
                    "hops": self._hops(standing),
                    "forwarding": self._functions[0].forwarding,
                    "device_queues": device_queues,
                    "datapath": {
                        **{node.name: node.call(datapath.observe) for node in dict.fromkeys(nodes)},
                        **{
                            name: pod.node.call(datapath.observe, netns=pod.netns_path)
                            for name, pod in zip(self._pod_names(), pods, strict=True)
                        },
                    },
                    **self._told(standing),
                },
            )

    # ---------------------------------------------------------------- what a path states

    @abstractmethod
    def _unled(self) -> Missing | None:
        """Return why frames cannot be led through these pods, or None."""

    @abstractmethod
    def _segments(self, sides: tuple[Side, Side]) -> Sequence[tuple[int, str | None]]:
        """Return each segment's number, with the node's NIC on it if there is one."""

    @abstractmethod
    def _segment(self, end: End) -> int:
        """Return the number of the segment that an attachment is on: its bridge has it, and its subnet."""

    @abstractmethod
    def _nic(self, end: End, sides: tuple[Side, Side]) -> str | None:
        """Return the node's NIC that an attachment brings with it, or None."""

    @abstractmethod
    def _at_tester(self, end: End) -> bool:
        """Whether a port of the tester is the next hop by an attachment, unless the node routes."""

    @abstractmethod
    def _own(self, end: End) -> tuple[str, str]:
        """Return the addresses of a pod's interface."""

    @abstractmethod
    def _next(self, end: End) -> tuple[str, str]:
        """Return the addresses of whom frames that leave by this end go to."""

    @abstractmethod
    def _lead(self, stack: ExitStack, standing: Standing) -> list[JsonValue]:
        """Lead frames on the node from each attachment to the next; `stack` undoes it. Returns evidence."""

    def _route_inside(self, stack: ExitStack, standing: Standing) -> list[JsonValue]:
        """Set the routes that functions need once they are furnished; return evidence of them."""
        return []

    @abstractmethod
    def _outer(self) -> tuple[End, End]:
        """Return the attachments that frames enter by, one a side."""

    @abstractmethod
    def _hops(self, standing: Standing) -> list[JsonValue]:
        """Return what frames pass, from the tester's first port to the second."""

    @abstractmethod
    def _told(self, standing: Standing) -> Evidence:
        """Return what the platform record says of this path alone."""

    # ---------------------------------------------------------------- where it stands

    def _sides(self) -> tuple[Side, Side]:
        """Return where the tester's ports are cabled to: one node, unless a path says otherwise."""
        return self._bed.sides()

    def _nodes(self, sides: tuple[Side, Side]) -> Sequence[BedNode]:
        """Return the node of each pod."""
        return [self._bed.node(sides[0].node)] * len(self._members)

    def _lots(self, sides: tuple[Side, Side]) -> Sequence[tuple[int, BedNode, str | None]]:
        """Return each segment's number, a node that it lies on, and the NIC of that node on it."""
        (node,) = dict.fromkeys(self._nodes(sides))
        return [(segment, node, nic) for segment, nic in self._segments(sides)]

    def _inner_queues(self, _: ExitStack, /) -> list[dict[str, JsonValue]]:
        """Return the evidence of queues beside those that face the tester."""
        return []

    def _described(self, nodes: Sequence[BedNode]) -> Mapping[str, JsonValue]:
        """Return the network option's evidence, by node where there are two."""
        found = {
            node.name: self._bed.described(self._cell.network, node.name) for node in dict.fromkeys(nodes)
        }
        return found if len(found) > 1 else next(iter(found.values()))

    # ---------------------------------------------------------------- what all do

    def _ends(self) -> Iterator[End]:
        for member in range(len(self._members)):
            yield from both(member)

    def _pod_names(self) -> list[str]:
        return [f"pod{number}" for number in range(len(self._members))]

    def _member(self, end: End) -> dict[str, JsonValue]:
        return {"member": self._members[end.member]}

    def _ground(self, stack: ExitStack, sides: tuple[Side, Side]) -> None:
        """Make the nodes ready: queues, tags, routing, and no bridge of an earlier deployment."""
        lots = self._lots(sides)
        for node in dict.fromkeys(node for _, node, _ in lots):
            nics = tuple(nic for _, one, nic in lots if one is node and nic is not None)
            stack.enter_context(queues.released(self._bed, node, nics))
            if self._cell.vlan_id is not None:
                stack.enter_context(queues.tags_in_frames(node, nics))
            if self._uplink == uplinks.ROUTED:
                stack.enter_context(routers.forwarding(node))
                for side in sides:
                    stack.enter_context(routers.router_addresses(node, side))
        for segment, node, nic in lots:
            stack.enter_context(uplinks.cleared(node, self._uplink, nic=nic, bridge=bridge_of(segment)))

    def _wanted(self, end: End, sides: tuple[Side, Side]) -> PodNetwork:
        at_neighbour = self._uplink != uplinks.ROUTED and self._at_tester(end)  # which needs no route
        attachment = Attachment(
            network=self._cell.network,
            interface=f"net{end.side}",
            side=end.side,
            uplink=self._nic(end, sides),
            addresses=self._own(end),
            routes=()
            if at_neighbour
            else tuple(
                (subnet, host(via))
                for subnet, via in zip(OUTER[end.side].subnets, self._next(end), strict=True)
            ),
        )
        return PodNetwork(driver=self._network, attachment=attachment, bridge=bridge_of(self._segment(end)))

    def _links(self, member: int, standing: Standing) -> list[FunctionLink]:
        """Return a function's two interfaces with the next hops of what leaves by them."""
        return [
            FunctionLink(
                interface=item.attachment.interface,
                routes=item.attachment.routes,
                neighbours=self._next(end),
                neighbour_mac=self._neighbour_mac(end, standing),
                device=item.device,
            )
            for end, item in standing.attached.items()
            if end.member == member
        ]

    def _neighbour_mac(self, end: End, standing: Standing) -> str:
        """Return the MAC that frames leaving a pod by this end go to."""
        routed = self._uplink == uplinks.ROUTED
        return str(standing.attached[end].host_mac) if routed else standing.sides[end.side].tester_mac

    def _port(self, side: Side, attached: Attached) -> TesterPort:
        answers = self._functions[0].answers_neighbours
        return pod_ends.port(self._bed, self._cell, self._network, side, attached, answers=answers)

    @contextmanager
    def _pod(self, node: PlacedNode, member: int, sides: tuple[Side, Side]) -> Iterator[Pod]:
        name = f"bmwg-{self._bed.next_id()}"
        wanted = [self._wanted(end, sides) for end in both(member)]
        with (
            self._functions[member].parts(name) as parts,
            self._network.pod_parts(node, name) as more,
            created_pod(self._bed, node, name=name, networks=wanted, parts=parts | more) as pod,
        ):
            yield pod

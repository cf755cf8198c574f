"""Chains beside each other: one pair of NICs, one network, several chains of pods at once, functions shared.

The node tells chains apart by the destination network of a frame: by its own routing tables (`uplink:
routed`), or by the flows of a switch that steers. The tester draws a chain for each frame and counts each.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
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
    SteeringNetwork,
    TesterPort,
    Way,
)
from bmwg.drivers.hosting import routing
from bmwg.drivers.network import datapath
from bmwg.drivers.network.handover import undriven
from bmwg.drivers.paths import destinations, members, pod_ends, queues, routers, uplinks
from bmwg.drivers.paths.addresses import OUTER, Segment, host, transit
from bmwg.drivers.paths.bed import Bed, Side
from bmwg.drivers.paths.destinations import Hop
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.methodology import parallel
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import POD, Cell, FrameFormat

_BRIDGE = "bmwg-br0"  # of all: the flows of one switch lead to every chain


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class _End:
    """One attachment of one function, or with `member` -1 the node's NIC of that side."""

    member: int
    side: int

    @property
    def is_nic(self) -> bool:
        return self.member < 0

    @property
    def number(self) -> int:
        """Number of a rule and its table on the node: first the NICs, then all attachments."""
        return routers.SIDES + 2 * self.member + self.side


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What enters the node by one end for these networks behind a side leaves it by another end."""

    incoming: _End
    outgoing: _End
    behind: int
    numbers: tuple[int, ...]


class ParallelPath:
    """Several chains of pods at once, in each of which one of the functions for pods forwards."""

    kind: ClassVar[PathKind] = PathKind(
        name=parallel.PATH,
        hostings=(POD,),
        functions=registry.names(registry.FUNCTION),
        networked=True,
        scenario="parallel chains: interface, one of several chains of pods, interface",
        axes=(parallel.AXIS,),
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._chains = parallel.of(cell)
        self._members = parallel.functions(self._chains)
        self._network = bed.network(cell.network)
        self._functions = [registry.function(cell.function, bed) for _ in self._members]
        self._routed = self._network.spec.uplink == uplinks.ROUTED

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, who tells chains apart, the network, the function."""
        missing = too_large(self._cell, mtu_octets=self._bed.mtu_octets) or undriven(
            self._network, f"function {self._cell.function}", self._functions[0].drives
        )
        if missing is None:
            missing = self._not_told_apart() or self._bed.runtime.side_by_side(len(self._members))
        if missing is None:
            missing = (
                self._bed.missing(self._cell.network, self._bed.sides()[0].node) or self._network.transit()
            )
        return missing or self._functions[0].probe()

    def _not_told_apart(self) -> Missing | None:
        what = f"{len(self._chains)} chains at once on network {self._cell.network}"
        if self._cell.destination_networks != len(self._chains):
            return Missing(
                what=what,
                reason=f"frames go to {self._cell.destination_networks} networks, and each chain has one",
                mend="cells of this path as a profile plans them",
            )
        if self._cell.frame_format is FrameFormat.ETHERNET:
            return Missing(
                what=what,
                reason="bare Ethernet frames have no destination network, by which chains are told apart",
                mend="frames of IPv4 or IPv6",
            )
        if self._routed or isinstance(self._network, SteeringNetwork):
            return None
        return Missing(
            what=what,
            reason="neither the node's routes nor the network itself lead frames by their destination there",
            mend="an option with `uplink: routed` such as ptp, or one that steers: ovs-dpdk",
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pods, lead each chain's networks through it, start the functions; undo it on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node = bed.node(sides[0].node)
        began_s = time.monotonic()
        with ExitStack() as stack:
            nics = tuple(side.nic for side in sides)
            stack.enter_context(queues.released(bed, node, nics))
            if self._routed:
                stack.enter_context(routers.forwarding(node))
                for side in sides:
                    stack.enter_context(routers.router_addresses(node, side))
            for nic in nics:
                stack.enter_context(uplinks.cleared(node, self._network.spec.uplink, nic=nic, bridge=_BRIDGE))
            pods = [
                stack.enter_context(self._pod(node, member, sides)) for member in range(len(self._members))
            ]
            attached = {
                end: item
                for member, pod in enumerate(pods)
                for end, item in zip(self._ends(member), pod.attached, strict=True)
            }
            for end, item in attached.items():
                pod_ends.widen(bed, self._network, pods[end.member], item)
            steered = self._steered(stack, node, sides, attached)
            for member, (pod, function) in enumerate(zip(pods, self._functions, strict=True)):
                pod.start(function.furnish(pod, self._links(member, sides, attached)))
                steered += self._routes_in(pod, member)
            functions = [function.started(pod) for pod, function in zip(pods, self._functions, strict=True)]
            settled = [
                self._network.settled(
                    node, item, pod_id=pods[end.member].pod_id, pod_pid=pods[end.member].pid
                )
                for end, item in attached.items()
            ]
            device_queues = [
                pod_ends.queue(bed, self._network, pods[0], side, item)
                for side, item in zip(sides, pods[0].attached, strict=True)
            ]
            activation_s = round(time.monotonic() - began_s, 3)
            yield Deployment(
                ports=(self._port(sides[0], pods[0]), self._port(sides[1], pods[0])),
                evidence={
                    "path": self.kind.name,
                    "hosting": "pod",
                    "function": functions[0],
                    "network": bed.described(self._cell.network, node.name),
                    "attachments": [
                        {**item.evidence, **more, "member": self._members[end.member]}
                        for (end, item), more in zip(attached.items(), settled, strict=True)
                    ],
                    "checks": [check for pod in pods for check in pod.checks],
                    "pod": described(bed, pods[0], works=True),
                    "pod_runtime": dict(bed.runtime.describe()),
                    "hops": self._hops(sides, attached),
                    "forwarding": self._functions[0].forwarding,
                    "device_queues": device_queues,
                    "datapath": {
                        node.name: node.call(datapath.observe),
                        **{
                            f"pod{number}": node.call(datapath.observe, netns=pod.netns_path)
                            for number, pod in enumerate(pods)
                        },
                    },
                    parallel.AXIS: {
                        "members": members.told(bed, self._members, pods, functions),
                        "services": self._services(),
                        "shared": list(parallel.shared(self._chains)),
                        "steered": steered,
                        **members.activation(activation_s, list(attached.values())),
                    },
                },
            )

    # ---------------------------------------------------------------- what there is

    def _ends(self, member: int) -> tuple[_End, _End]:
        return _End(member=member, side=0), _End(member=member, side=1)

    def _services(self) -> list[JsonValue]:
        """Return each chain: its functions in order, and the networks behind either port that are its own."""
        count = len(self._chains)
        return [
            {
                "functions": list(names),
                "networks": [list(destinations.behind(side, (number,), count)) for side in (0, 1)],
            }
            for number, names in enumerate(self._chains)
        ]

    def _steps(self) -> list[_Step]:
        """Return every step between two ends, of all chains and both ways, each with its networks."""
        found: dict[tuple[_End, _End, int], list[int]] = {}
        for number, names in enumerate(self._chains):
            entered = [self._ends(self._members.index(name)) for name in names]
            forward = [_End(member=-1, side=0), *(end for ends in entered for end in ends)]
            forward.append(_End(member=-1, side=1))
            for behind, way in ((1, forward), (0, forward[::-1])):
                # an end is left by what has come in by the one before it: pods lie between every second pair
                for incoming, outgoing in list(pairwise(way))[::2]:
                    found.setdefault((incoming, outgoing, behind), []).append(number)
        return [
            _Step(incoming=incoming, outgoing=outgoing, behind=behind, numbers=tuple(numbers))
            for (incoming, outgoing, behind), numbers in found.items()
        ]

    def _segment(self, end: _End) -> Segment:
        """Return the subnet between the node and an attachment."""
        return transit(2 * end.member + end.side)

    # ---------------------------------------------------------------- making it

    @contextmanager
    def _pod(self, node: PlacedNode, member: int, sides: tuple[Side, Side]) -> Iterator[Pod]:
        name = f"bmwg-{self._bed.next_id()}"
        wanted = [self._wanted(end, sides) for end in self._ends(member)]
        with (
            self._functions[member].parts(name) as parts,
            self._network.pod_parts(node, name) as more,
            created_pod(self._bed, node, name=name, networks=wanted, parts=parts | more) as pod,
        ):
            yield pod

    def _wanted(self, end: _End, sides: tuple[Side, Side]) -> PodNetwork:
        """Return an attachment's intent; the first function's bring the NICs, which all chains share."""
        segment = self._segment(end)
        attachment = Attachment(
            network=self._cell.network,
            interface=f"net{end.side}",
            side=end.side,
            uplink=sides[end.side].nic if end.member == 0 else None,
            addresses=segment.far,
            routes=tuple(
                (subnet, host(via))
                for subnet, via in zip(OUTER[end.side].subnets, segment.router, strict=True)
            )
            if self._routed
            else (),
        )
        return PodNetwork(driver=self._network, attachment=attachment, bridge=_BRIDGE)

    def _steered(
        self, stack: ExitStack, node: PlacedNode, sides: tuple[Side, Side], attached: dict[_End, Attached]
    ) -> list[JsonValue]:
        """Lead the networks of each chain through it; return what stands, as who leads them tells it."""
        count = len(self._chains)
        if not self._routed:
            assert isinstance(self._network, SteeringNetwork)  # see `probe`
            ways = [
                Way(
                    incoming=sides[step.incoming.side].nic
                    if step.incoming.is_nic
                    else attached[step.incoming],
                    outgoing=sides[step.outgoing.side].nic
                    if step.outgoing.is_nic
                    else attached[step.outgoing],
                    destinations=destinations.behind(step.behind, step.numbers, count),
                )
                for step in self._steps()
            ]
            return self._network.steer(node, bridge=_BRIDGE, ways=ways)
        names = {end: uplinks.host_side(node, item) for end, item in attached.items()}
        names |= {_End(member=-1, side=side.number): side.nic for side in sides}
        for end, item in attached.items():
            node.call(routing.disable_reverse_path_filter, interface=names[end])
            for arguments in routers.neighbour_arguments(names[end], self._segment(end).far, item.mac):
                node.call(routing.set_neighbour, **arguments)
        hops = [
            Hop(
                side=step.behind,
                via=_hosts(
                    (OUTER[step.behind] if step.outgoing.is_nic else self._segment(step.outgoing)).far
                ),
                interface=names[step.outgoing],
                table=routers.table_of(_number(step.incoming)),
                on_link=True,
                numbers=step.numbers,
            )
            for step in self._steps()
        ]
        found = stack.enter_context(destinations.routed(node.call, node.name, hops, count))
        for end, interface in names.items():
            stack.enter_context(routers.ruled(node, incoming=interface, number=_number(end)))
        return found

    def _routes_in(self, pod: Pod, member: int) -> list[JsonValue]:
        """Set the routes of a function that forwards by routes: each side's networks by that side."""
        if not self._functions[member].routes:
            return []
        hops = [
            Hop(side=end.side, via=_hosts(self._segment(end).router), interface=f"net{end.side}")
            for end in self._ends(member)
        ]
        return destinations.set_routes(pod.inside, self._members[member], hops, len(self._chains))

    def _links(
        self, member: int, sides: tuple[Side, Side], attached: dict[_End, Attached]
    ) -> list[FunctionLink]:
        """Return a function's interfaces. Behind a switch that steers by destination any MAC will do."""
        return [
            FunctionLink(
                interface=attached[end].attachment.interface,
                routes=attached[end].attachment.routes,
                neighbours=self._segment(end).router if self._routed else OUTER[end.side].far,
                neighbour_mac=str(attached[end].host_mac) if self._routed else sides[end.side].tester_mac,
                device=attached[end].device,
            )
            for end in self._ends(member)
        ]

    # ---------------------------------------------------------------- how it is entered

    def _port(self, side: Side, pod: Pod) -> TesterPort:
        answers = self._functions[0].answers_neighbours
        item = pod.attached[side.number]
        port = pod_ends.port(self._bed, self._cell, self._network, side, item, answers=answers)
        if (networks := self._bed.networks_behind(side.number)) is None:
            return port
        return replace(port, networks_ipv4=networks[0], networks_ipv6=networks[1])

    def _hops(self, sides: tuple[Side, Side], attached: dict[_End, Attached]) -> list[JsonValue]:
        """Return the tester's ports, the NICs, and of each function the ends; `services` has their order."""
        hops: list[JsonValue] = []
        for side in sides:
            hops += [
                {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, shared by all chains"},
            ]
        for end, item in attached.items():
            if item.host_interface is not None:
                at = f"{sides[0].node}/{item.host_interface}"
                hops.append({"at": at, "what": "host side of the attachment"})
            inside = f"{item.link_kind}, {self._cell.function}"
            hops.append({"at": f"{self._members[end.member]}/{item.attachment.interface}", "what": inside})
        return hops


def _number(end: _End) -> int:
    return end.side if end.is_nic else end.number


def _hosts(addresses: Sequence[str]) -> tuple[str, str]:
    ipv4, ipv6 = addresses
    return host(ipv4), host(ipv6)


_: type[PathDriver] = ParallelPath

"""Chains beside each other: one pair of NICs, one network, several chains of pods at once, functions shared.

The node tells chains apart by the destination network of a frame: by its own routing tables (`uplink:
routed`), or by the flows of a switch that steers. The tester draws a chain for each frame and counts each.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import (
    Attached,
    Evidence,
    JsonValue,
    Missing,
    PathDriver,
    SteeringNetwork,
    TesterPort,
    Way,
)
from bmwg.drivers.paths import destinations, members, routers, uplinks
from bmwg.drivers.paths.addresses import OUTER, Segment, host, transit
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.destinations import Hop
from bmwg.drivers.paths.forwarding_pods import End, ForwardingPods, Standing, both, bridge_of
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import routing
from bmwg.methodology.cells import parallel
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import POD, Cell, FrameFormat

_NIC = -1  # in place of a member: the node's NIC of that side


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What enters the node by one end for these networks behind a side leaves it by another end."""

    incoming: End
    outgoing: End
    behind: int
    numbers: tuple[int, ...]


class ParallelPath(ForwardingPods):
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
        self._chains = parallel.of(cell)
        super().__init__(cell, bed, parallel.functions(self._chains))
        self._routed = self._uplink == uplinks.ROUTED

    def _unled(self) -> Missing | None:
        """Return why the chains cannot be told apart."""
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

    def _told(self, standing: Standing) -> Evidence:
        return {
            parallel.AXIS: {
                "members": members.told(self._bed, self._members, standing),
                "services": self._services(),
                "shared": list(parallel.shared(self._chains)),
                "steered": list(standing.steered),
                **members.activation(standing),
            }
        }

    # ---------------------------------------------------------------- what there is

    def _segments(self, sides: tuple[Side, Side]) -> Sequence[tuple[int, str | None]]:
        return [(0, side.nic) for side in sides]

    def _segment(self, end: End) -> int:
        return 0  # the flows of one switch lead to every chain

    def _nic(self, end: End, sides: tuple[Side, Side]) -> str | None:
        return sides[end.side].nic if end.member == 0 else None  # all chains share them

    def _at_tester(self, end: End) -> bool:
        return True  # behind a switch that steers by destination any next hop will do

    def _own(self, end: End) -> tuple[str, str]:
        return self._between(end).far

    def _next(self, end: End) -> tuple[str, str]:
        return self._between(end).router if self._routed else OUTER[end.side].far

    def _outer(self) -> tuple[End, End]:
        return End(member=0, side=0), End(member=0, side=1)

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
        found: dict[tuple[End, End, int], list[int]] = {}
        for number, names in enumerate(self._chains):
            entered = [both(self._members.index(name)) for name in names]
            forward = [End(member=_NIC, side=0), *(end for ends in entered for end in ends)]
            forward.append(End(member=_NIC, side=1))
            for behind, way in ((1, forward), (0, forward[::-1])):
                # an end is left by what has come in by the one before it: pods lie between every second pair
                for incoming, outgoing in list(pairwise(way))[::2]:
                    found.setdefault((incoming, outgoing, behind), []).append(number)
        return [
            _Step(incoming=incoming, outgoing=outgoing, behind=behind, numbers=tuple(numbers))
            for (incoming, outgoing, behind), numbers in found.items()
        ]

    def _between(self, end: End) -> Segment:
        """Return the subnet between the node and an attachment."""
        return transit(end.number)

    # ---------------------------------------------------------------- making it

    def _lead(self, stack: ExitStack, standing: Standing) -> list[JsonValue]:
        """Lead the networks of each chain through it; return what stands, as who leads them tells it."""
        count = len(self._chains)
        node, sides, attached = standing.node, standing.sides, standing.attached
        if not self._routed:
            assert isinstance(self._network, SteeringNetwork)  # see `probe`
            ways = [
                Way(
                    incoming=sides[step.incoming.side].nic
                    if step.incoming.member == _NIC
                    else attached[step.incoming],
                    outgoing=sides[step.outgoing.side].nic
                    if step.outgoing.member == _NIC
                    else attached[step.outgoing],
                    destinations=destinations.behind(step.behind, step.numbers, count),
                )
                for step in self._steps()
            ]
            return self._network.steer(node, bridge=bridge_of(0), ways=ways)
        names = {end: uplinks.host_side(node, item) for end, item in attached.items()}
        names |= {End(member=_NIC, side=side.number): side.nic for side in sides}
        for end, item in attached.items():
            node.call(routing.disable_reverse_path_filter, interface=names[end])
            for arguments in routers.neighbour_arguments(names[end], self._between(end).far, item.mac):
                node.call(routing.set_neighbour, **arguments)
        hops = [
            Hop(
                side=step.behind,
                via=_hosts(
                    (OUTER[step.behind] if step.outgoing.member == _NIC else self._between(step.outgoing)).far
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

    def _route_inside(self, stack: ExitStack, standing: Standing) -> list[JsonValue]:
        """Set the routes of functions that forward by routes: each side's networks by that side."""
        found: list[JsonValue] = []
        for member, pod in enumerate(standing.pods):
            if self._functions[member].routes:
                hops = [
                    Hop(side=end.side, via=_hosts(self._between(end).router), interface=f"net{end.side}")
                    for end in both(member)
                ]
                found += destinations.set_routes(pod.inside, self._members[member], hops, len(self._chains))
        return found

    # ---------------------------------------------------------------- how it is entered

    def _port(self, side: Side, attached: Attached) -> TesterPort:
        port = super()._port(side, attached)
        if (networks := self._bed.networks_behind(side.number)) is None:
            return port
        return replace(port, networks_ipv4=networks[0], networks_ipv6=networks[1])

    def _hops(self, standing: Standing) -> list[JsonValue]:
        """Return the tester's ports, the NICs, and of each function the ends; `services` has their order."""
        hops: list[JsonValue] = []
        for side in standing.sides:
            hops += [
                {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, shared by all chains"},
            ]
        for end, item in standing.attached.items():
            if item.host_interface is not None:
                at = f"{standing.node.name}/{item.host_interface}"
                hops.append({"at": at, "what": "host side of the attachment"})
            inside = f"{item.link_kind}, {self._cell.function}"
            hops.append({"at": f"{self._members[end.member]}/{item.attachment.interface}", "what": inside})
        return hops


def _number(end: End) -> int:
    """Return the number of an end's rule and table on the node: first the NICs, then all attachments."""
    return end.side if end.member == _NIC else routers.SIDES + end.number


def _hosts(addresses: Sequence[str]) -> tuple[str, str]:
    ipv4, ipv6 = addresses
    return host(ipv4), host(ipv6)


_: type[PathDriver] = ParallelPath

"""A chain: tester port, node NIC, one pod after the other, node NIC, tester port; each pod forwards.

PVP is the chain of one.

Each pod has two attachments of the network option. Between two pods lies a segment of its own, as between a
pod and a NIC: a bridge, a pair of ports of a switch, a pair of programs, or the node's routes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import (
    Evidence,
    JsonValue,
    Missing,
    PathDriver,
)
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths import destinations, members, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, OUTER, Segment, transit
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.forwarding_pods import End, ForwardingPods, Standing, bridge_of
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import routing
from bmwg.methodology.cells import chains
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import POD, Cell


class ChainPath(ForwardingPods):
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
        super().__init__(cell, bed, chains.of(dict(cell.axes)))

    def _unled(self) -> Missing | None:
        return self._no_segment_between() or self._unroutable()

    def _unroutable(self) -> Missing | None:
        return destinations.unroutable(self._cell, "a chain has routes to one network behind each port")

    def _no_segment_between(self) -> Missing | None:
        """Return why an option joins no two pods: its attachments stand on the node's NIC."""
        if len(self._members) == 1 or self._uplink != uplinks.MASTER:
            return None
        return Missing(
            what=f"a chain of {len(self._members)} on network {self._cell.network}",
            reason="its attachments stand on the node's NIC, and between two pods there is none",
            mend="an option that joins two pods itself: bridge, ptp, ebpf-tc, ovs-dpdk",
        )

    def _told(self, standing: Standing) -> Evidence:
        """Return each function by name. Activation includes the start of a vSwitch, which is told apart."""
        told = members.told(self._bed, self._members, standing)
        return {"chain": {"members": told, **members.activation(standing)}}

    # ---------------------------------------------------------------- what there is

    def _segments(self, sides: tuple[Side, Side]) -> Sequence[tuple[int, str | None]]:
        inner = [(segment, None) for segment in range(1, len(self._members))]
        return [(0, sides[0].nic), *inner, (len(self._members), sides[1].nic)]

    def _segment(self, end: End) -> int:
        return end.member + end.side

    def _nic(self, end: End, sides: tuple[Side, Side]) -> str | None:
        return sides[end.side].nic if self._at_tester(end) else None

    def _at_tester(self, end: End) -> bool:
        return self._segment(end) in (0, len(self._members))

    def _outer(self) -> tuple[End, End]:
        return End(member=0, side=0), End(member=len(self._members) - 1, side=1)

    def _pod_names(self) -> list[str]:
        return super()._pod_names() if len(self._members) > 1 else ["pod"]

    def _member(self, end: End) -> dict[str, JsonValue]:
        return super()._member(end) if len(self._members) > 1 else {}

    # ---------------------------------------------------------------- making it

    def _routed(self, end: End) -> Segment:
        """Return the subnet between the node, which routes, and one attachment."""
        return INNER[end.side] if self._at_tester(end) else transit(end.number)

    def _own(self, end: End) -> tuple[str, str]:
        """Return the addresses of a pod's interface."""
        if self._uplink == uplinks.ROUTED:
            return self._routed(end).far
        if self._at_tester(end):
            return OUTER[end.side].router
        between = transit(self._segment(end))
        return between.far if end.side == 0 else between.router

    def _next(self, end: End) -> tuple[str, str]:
        """Return the addresses of whom frames that leave by this end go to."""
        if self._uplink == uplinks.ROUTED:
            return self._routed(end).router
        if self._at_tester(end):
            return OUTER[end.side].far
        between = transit(self._segment(end))
        return between.router if end.side == 0 else between.far

    def _lead(self, stack: ExitStack, standing: Standing) -> list[JsonValue]:
        for segment, node, nic in self._lots(standing.sides):
            stack.enter_context(self._joined(segment, node, nic, standing))
        return []

    @contextmanager
    def _joined(self, segment: int, node: BedNode, nic: str | None, standing: Standing) -> Iterator[None]:
        """Join what lies on a segment of a node: an attachment and a NIC, or two attachments."""
        here = [(end, item) for end, item in standing.attached.items() if self._segment(end) == segment]
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
                    side = standing.sides[end.side]
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

    def _neighbour_mac(self, end: End, standing: Standing) -> str:
        if self._uplink == uplinks.ROUTED or self._at_tester(end):
            return super()._neighbour_mac(end, standing)
        return next(
            item.mac
            for other, item in standing.attached.items()
            if self._segment(other) == self._segment(end) and other != end
        )

    def _hops(self, standing: Standing) -> list[JsonValue]:
        hops: list[JsonValue] = []
        names = self._pod_names()
        for end, item in standing.attached.items():
            part: list[JsonValue] = []
            if self._at_tester(end):
                side = standing.sides[end.side]
                part += [
                    {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                    {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, uplink {self._uplink}"},
                ]
            if item.host_interface is not None:
                at = f"{standing.nodes[end.member].name}/{item.host_interface}"
                part.append({"at": at, "what": "host side of the attachment"})
            inside = f"{item.link_kind}, {self._cell.function}"
            part.append({"at": f"{names[end.member]}/{item.attachment.interface}", "what": inside})
            hops.extend(part if end.side == 0 else reversed(part))
            hops.extend(self._crossed(end))
        return hops

    def _crossed(self, end: End) -> list[JsonValue]:
        """Return what else lies behind an attachment, before the next one."""
        return []


_: type[PathDriver] = ChainPath

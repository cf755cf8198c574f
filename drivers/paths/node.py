"""Node forwarding: the node's own kernel routes between its two NICs; no pod takes part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import (
    Deployment,
    FunctionLink,
    KernelFunction,
    Missing,
    PathDriver,
    TesterPort,
)
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import destinations, queues, routers
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.sides import Side
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import BAREMETAL, Cell


class NodePath:
    """Kernel L3 forwarding on bare metal: the rung between the wire and the pod."""

    kind: ClassVar[PathKind] = PathKind(
        name="node",
        hostings=(BAREMETAL,),
        functions=registry.names(registry.FUNCTION),
        networked=False,
        scenario="P2P: the node forwards between its two interfaces",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._function = registry.function(cell.function, bed)

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, a function that a node's kernel can be, what it needs."""
        if not isinstance(self._function, KernelFunction):
            return Missing(
                what=f"function {self._cell.function} on path {self.kind.name}",
                reason="it is a program in a pod, and here the node's own kernel forwards",
                mend="path pvp, or function kernel-l3",
            )
        return (
            too_large(self._cell, mtu_octets=self._bed.mtu_octets)
            or self._function.unfit(self._cell)
            or self._function.probe(self._bed.node(self._bed.sides()[0].node))
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Address the NICs, switch forwarding on, give each NIC its queue; undo it on leaving."""
        refuse(self.probe())
        assert isinstance(self._function, KernelFunction)  # else it was refused
        one, other = sides = self._bed.sides()
        node = self._bed.node(sides[0].node)
        with ExitStack() as stack:
            stack.enter_context(routers.forwarding(node))
            stack.enter_context(queues.released(self._bed, node, [side.nic for side in sides]))
            for side in sides:
                stack.enter_context(routers.router_addresses(node, side))
            behind = [routers.to_tester(side) for side in sides]
            networks = stack.enter_context(
                destinations.routed(node.call, node.name, behind, self._bed.destination_networks)
            )
            device_queues = [queues.isolate(self._bed, node, side.nic, side.number) for side in sides]
            function = stack.enter_context(
                self._function.on_node(node, [_link(side) for side in sides], self._bed.undo)
            )
            yield Deployment(
                ports=(routed_port(self._bed, sides[0]), routed_port(self._bed, sides[1])),
                evidence={
                    "path": self.kind.name,
                    "hosting": "baremetal",
                    "function": function,
                    "hops": [
                        {"at": f"tester/{one.tester_interface}", "what": f"tester port, {one.link}"},
                        {"at": f"{node.name}/{one.nic}", "what": f"{one.link}, kernel routes"},
                        {"at": f"{node.name}/{other.nic}", "what": other.link},
                        {"at": f"tester/{other.tester_interface}", "what": f"tester port, {other.link}"},
                    ],
                    "forwarding": "the node's kernel, in the threads of the device queues",
                    "device_queues": device_queues,
                    **({"destination_networks": networks} if networks else {}),
                    "datapath": {node.name: node.call(datapath.observe)},
                },
            )


def _link(side: Side) -> FunctionLink:
    return FunctionLink(
        interface=side.nic, routes=(), neighbours=OUTER[side.number].far, neighbour_mac=side.tester_mac
    )


def routed_port(bed: Bed, side: Side) -> TesterPort:
    """Return the tester's port of a side whose next hop is the router on the node's side."""
    segment = OUTER[side.number]
    return bed.port(
        side.number,
        name=side.tester_interface,
        device=side.tester_interface,
        netns=bed.tester.netns_path,
        mac=side.tester_mac,
        ipv4=segment.far_ipv4,
        ipv6=segment.far_ipv6,
        gateway_ipv4=host(segment.router_ipv4),
        gateway_ipv6=host(segment.router_ipv6),
        networks=bed.networks_behind(side.number),
    )


_: type[PathDriver] = NodePath

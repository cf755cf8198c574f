"""PVP: tester port, node NIC, pod, node NIC, tester port; the pod forwards between two attachments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
    Pod,
    PodNetwork,
    TesterPort,
)
from bmwg.drivers.hosting import routing
from bmwg.drivers.network import datapath
from bmwg.drivers.network.handover import undriven
from bmwg.drivers.paths import destinations, pod_ends, queues, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, OUTER, host
from bmwg.drivers.paths.bed import Bed, Side
from bmwg.drivers.paths.destinations import Hop
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.pods import created_pod, described
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import POD, Cell


class PvpPath:
    """A chain through one pod, in which one of the functions for pods forwards."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp",
        hostings=(POD,),
        functions=registry.names(registry.FUNCTION),
        networked=True,
        scenario="PVP: interface, pod, interface",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)
        self._function = registry.function(cell.function, bed)
        self._uplink = self._network.spec.uplink

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, the network option on the node, the function."""
        missing = too_large(self._cell, mtu_octets=self._bed.mtu_octets) or undriven(
            self._network, f"function {self._cell.function}", self._function.drives
        )
        if missing is None:
            missing = (
                self._bed.missing(self._cell.network, self._bed.sides()[0].node) or self._network.transit()
            )
        if not self._function.routes:
            why = f"function {self._cell.function} forwards whatever comes, by no address of layer 3"
            missing = missing or destinations.unroutable(self._cell, why)
        return missing or self._function.probe()

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pod and its attachments, join the NICs, start the function; undo it all on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node = bed.node(sides[0].node)
        with ExitStack() as stack:
            nics = tuple(side.nic for side in sides)
            stack.enter_context(queues.released(bed, node, nics))
            if self._cell.vlan_id is not None:
                stack.enter_context(queues.tags_in_frames(node, nics))
            if self._uplink == uplinks.ROUTED:
                stack.enter_context(routers.forwarding(node))
                for side in sides:
                    stack.enter_context(routers.router_addresses(node, side))
            for side in sides:
                stack.enter_context(uplinks.cleared(node, self._uplink, nic=side.nic, bridge=bridge_of(side)))
            pod = stack.enter_context(self._pod(node.name, [self._wanted(side) for side in sides]))
            attached = list(pod.attached)
            for interface in attached:
                pod_ends.widen(bed, self._network, pod, interface)
            for side, interface in zip(sides, attached, strict=True):
                stack.enter_context(self._joined(pod, side, interface))
            pod.start(self._function.furnish(pod, self._links(sides, attached)))
            networks = self._networks_routed(stack, pod, sides, attached)
            function = self._function.started(pod)
            settled = [
                self._network.settled(node, item, pod_id=pod.pod_id, pod_pid=pod.pid) for item in attached
            ]
            device_queues = [
                pod_ends.queue(bed, self._network, pod, side, item)
                for side, item in zip(sides, attached, strict=True)
            ]
            yield Deployment(
                ports=(self._port(sides[0], attached[0]), self._port(sides[1], attached[1])),
                evidence={
                    "path": self.kind.name,
                    "hosting": "pod",
                    "function": function,
                    "network": bed.described(self._cell.network, node.name),
                    "attachments": [
                        {**item.evidence, **more} for item, more in zip(attached, settled, strict=True)
                    ],
                    "checks": list(pod.checks),
                    "pod": described(bed, pod, works=True),
                    "pod_runtime": dict(bed.runtime.describe()),
                    "hops": self._hops(sides, attached),
                    "forwarding": self._function.forwarding,
                    "device_queues": device_queues,
                    **({"destination_networks": networks} if networks else {}),
                    "datapath": {
                        node.name: node.call(datapath.observe),
                        "pod": node.call(datapath.observe, netns=pod.netns_path),
                    },
                },
            )

    @contextmanager
    def _pod(self, node_name: str, networks: list[PodNetwork]) -> Iterator[Pod]:
        name = f"bmwg-{self._bed.next_id()}"
        node = self._bed.node(node_name)
        with (
            self._function.parts(name) as parts,
            self._network.pod_parts(node, name) as more,
            created_pod(self._bed, node, name=name, networks=networks, parts=parts | more) as pod,
        ):
            yield pod

    def _wanted(self, side: Side) -> PodNetwork:
        nic = side.nic
        attachment = Attachment(
            network=self._cell.network,
            interface=f"net{side.number}",
            side=side.number,
            uplink=nic,
            addresses=OUTER[side.number].router,
        )
        if self._uplink == uplinks.ROUTED:
            inner = INNER[side.number]
            attachment = Attachment(
                network=self._cell.network,
                interface=f"net{side.number}",
                side=side.number,
                uplink=nic,
                addresses=inner.far,
                routes=tuple(
                    (subnet, host(via))
                    for subnet, via in zip(OUTER[side.number].subnets, inner.router, strict=True)
                ),
            )
        return PodNetwork(driver=self._network, attachment=attachment, bridge=bridge_of(side))

    @contextmanager
    def _joined(self, pod: Pod, side: Side, attached: Attached) -> Iterator[None]:
        if self._uplink == uplinks.BRIDGE_PORT:
            with uplinks.bridged(pod.node, interfaces=(side.nic,), bridge=bridge_of(side)):
                yield
        elif self._uplink == uplinks.ROUTED:
            host_interface = uplinks.host_side(pod.node, attached)
            for arguments in routers.neighbour_arguments(
                host_interface, INNER[side.number].far, attached.mac
            ):
                pod.node.call(routing.set_neighbour, **arguments)
            with routers.steered_to_pod(pod.node, side, host_interface):
                yield
        else:
            yield

    def _networks_routed(
        self, stack: ExitStack, pod: Pod, sides: tuple[Side, Side], attached: list[Attached]
    ) -> list[JsonValue]:
        """Set the routes for the networks behind the tester's ports in all that routes; return evidence."""
        count = self._bed.destination_networks if self._function.routes else 1
        found: list[JsonValue] = []
        if self._uplink == uplinks.ROUTED:
            hops = [routers.to_tester(side) for side in sides]
            hops += [
                routers.into_pod(side, uplinks.host_side(pod.node, item))
                for side, item in zip(sides, attached, strict=True)
            ]
            found += stack.enter_context(destinations.routed(pod.node.call, pod.node.name, hops, count))
        hops = []
        for side, item in zip(sides, attached, strict=True):
            next_hop = INNER[side.number].router if self._uplink == uplinks.ROUTED else OUTER[side.number].far
            via = (host(next_hop[0]), host(next_hop[1]))
            hops.append(Hop(side=side.number, via=via, interface=item.attachment.interface))
        return [*found, *destinations.set_routes(pod.inside, "pod", hops, count)]

    def _links(self, sides: tuple[Side, Side], attached: list[Attached]) -> list[FunctionLink]:
        """Return the function's interfaces with the next hops of what leaves by them."""
        routed = self._uplink == uplinks.ROUTED
        return [
            FunctionLink(
                interface=item.attachment.interface,
                routes=item.attachment.routes,
                neighbours=INNER[side.number].router if routed else OUTER[side.number].far,
                neighbour_mac=self._neighbour_mac(side, item),
                device=item.device,
            )
            for side, item in zip(sides, attached, strict=True)
        ]

    def _neighbour_mac(self, side: Side, attached: Attached) -> str:
        """Return the MAC that frames leaving the pod by this side go to."""
        if self._uplink == uplinks.ROUTED:
            return str(attached.host_mac)
        return side.tester_mac

    def _port(self, side: Side, attached: Attached) -> TesterPort:
        answers = self._function.answers_neighbours
        return pod_ends.port(self._bed, self._cell, self._network, side, attached, answers=answers)

    def _hops(self, sides: tuple[Side, Side], attached: list[Attached]) -> list[JsonValue]:
        hops: list[JsonValue] = []
        for side, item in zip(sides, attached, strict=True):
            part: list[JsonValue] = [
                {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, uplink {self._uplink}"},
            ]
            if item.host_interface is not None:
                part.append(
                    {"at": f"{side.node}/{item.host_interface}", "what": "host side of the attachment"}
                )
            inside = f"{item.link_kind}, {self._cell.function}"
            part.append({"at": f"pod/{item.attachment.interface}", "what": inside})
            hops.extend(part if side.number == 0 else reversed(part))
        return hops


def bridge_of(side: Side) -> str:
    """Return the name of the bridge of a side, where the option makes one."""
    return f"bmwg-br{side.number}"


_: type[PathDriver] = PvpPath

"""Through one guest that may move: tester port, bridge, guest, bridge, tester port, at either of two nodes.

A bridge of each side stands on both nodes, and a veth pair joins the two: a switch that learns where the
guest's interfaces are. The guest's memory goes by the testbed's link between the nodes, no frame does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from bmwg.drivers.api.protocols import Deployment, Evidence, Missing, PathDriver, TesterPort
from bmwg.drivers.machines import guest_moves, qemu_place, router_initramfs
from bmwg.drivers.machines.guest_moves import GuestIntent, MovePlace, MovingGuest
from bmwg.drivers.machines.router_initramfs import Leg
from bmwg.drivers.network import datapath
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.paths import destinations, queues
from bmwg.drivers.paths.addresses import OUTER, UNDERLAY, host, of_router
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, refuse, too_large
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import interfaces, routing
from bmwg.drivers.testbed.file import TESTER
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import VM, Cell

MEMORY_OCTETS = 128 << 20  # choice: the least with which the kernel boots and writes beside routing
HOLDS_MEBIOCTETS = 12  # choice: what can be sent within the downtime limit, so that pre-copy ends
_FUNCTION = "kernel-l3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The path while it stands: the guest, whose moves are acts, and the tester's ports.

    `another` is a guest beside it that nobody has begun, with an address of its own on each side.
    """

    guest: MovingGuest
    another: MovingGuest
    ports: tuple[TesterPort, TesterPort]
    evidence: Evidence


class MovingPath:
    """One guest whose kernel forwards at layer 3, at either of two nodes of this machine."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp-moving",
        hostings=(VM,),
        functions=(_FUNCTION,),
        networked=False,
        scenario="PVP through a guest that moves: interface, bridge, guest, bridge, interface",
        between_nodes="a veth pair a side joins the bridges of the two nodes",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, two nodes of this machine that a link joins, QEMU."""
        found = too_large(
            self._cell,
            mtu_octets=min(self._bed.mtu_octets, LINK_MTU_OCTETS),
            because=" of a guest's interfaces",
        ) or destinations.unroutable(self._cell, "the guest has routes to one network behind each port")
        if found is not None:
            return found
        joined = [
            link
            for link in self._bed.testbed.links
            if TESTER not in (link.a.node, link.b.node) and link.a.node != link.b.node
        ]
        if not joined or self._bed.hosts:
            return Missing(
                what="two places of a guest",
                reason="its memory goes by a link between two nodes of this machine, and the testbed file "
                + ("names hosts of others" if joined else "names no such link"),
                mend="BMWG_TESTBED=testbeds/embedded.yaml, which has one",
            )
        return Missing.told(self._bed.node(self._bed.sides()[0].node).call(qemu_place.probe))

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Boot the guest between the tester's ports; end it on leaving."""
        with self.standing() as stands:
            yield Deployment(ports=stands.ports, evidence=stands.evidence)

    @contextmanager
    def standing(self, *, writes: bool = False, tells_cpus: bool = False) -> Iterator[Standing]:
        """The same for who moves or resizes the guest.

        With `writes` a program in it writes its memory all the time, with `tells_cpus` one says what it has.
        """
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        home = bed.require_here(sides[0].node)
        one, other = bed.underlay()
        if one.node != home.name:
            one, other = other, one
        away = bed.require_here(other.node)
        addresses = dict(zip((home.name, away.name), UNDERLAY.router[:1] + UNDERLAY.far[:1], strict=True))
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, home, [side.nic for side in sides]))
            for node, end in ((home, one), (away, other)):
                _addressed(stack, node, end.interface, addresses[node.name])
            for side in sides:
                _segment(stack, home, away, side)
            device_queues = [queues.isolate(bed, home, side.nic, side.number) for side in sides]
            places = [
                MovePlace(
                    node=node,
                    address=host(addresses[node.name]),
                    bridges=(_bridge(sides[0]), _bridge(sides[1])),
                )
                for node in (home, away)
            ]
            guest = MovingGuest(self._intent(sides, 0, writes=writes, tells_cpus=tells_cpus), places)
            another = MovingGuest(self._intent(sides, 1), places)
            stack.callback(another.end)
            stack.callback(guest.end)
            guest.begin()
            yield Standing(
                guest=guest,
                another=another,
                ports=(routed_port(bed, sides[0]), routed_port(bed, sides[1])),
                evidence=self._evidence(guest, sides, home, away, device_queues),
            )

    def _intent(
        self, sides: tuple[Side, Side], at: int, *, writes: bool = False, tells_cpus: bool = False
    ) -> GuestIntent:
        name = f"moving-{self._bed.next_id()}"
        legs = [
            Leg(
                address=of_router(side.number, at),
                far=host(OUTER[side.number].far_ipv4),
                far_mac=side.tester_mac,
            )
            for side in sides
        ]
        return GuestIntent(
            name=name,
            taps=(f"bmwg-tap{2 * at}", f"bmwg-tap{2 * at + 1}"),
            macs=(links.mac_of(f"moving{at}", "eth0"), links.mac_of(f"moving{at}", "eth1")),
            memory_octets=MEMORY_OCTETS,
            words=router_initramfs.words(
                legs, holds_mebioctets=HOLDS_MEBIOCTETS, writes=writes, tells_cpus=tells_cpus
            ),
        )

    def _evidence(
        self,
        guest: MovingGuest,
        sides: tuple[Side, Side],
        home: NamespaceNode,
        away: NamespaceNode,
        device_queues: list[dict[str, object]],
    ) -> Evidence:
        one, other = sides
        accelerator = str(guest.evidence["accelerator"])
        return {
            "path": self.kind.name,
            "hosting": VM,
            "host": home.name,
            "function": {"name": _FUNCTION, "runs_in": "the guest, by its own kernel"},
            "machine": {**guest.evidence, "interfaces": ["eth0", "eth1"], "image": None},
            "provider": {
                "name": "qemu",
                "moves_between": [home.name, away.name],
                "memory_goes_by": "the testbed's link between the nodes, which carries no frame",
                "most_octets_per_s": guest_moves.BANDWIDTH_OCTETS_PER_S,
                "downtime_limit_ms": guest_moves.DOWNTIME_LIMIT_MS,
            },
            "hops": [
                {"at": f"tester/{one.tester_interface}", "what": f"tester port, {one.link}"},
                {"at": f"{home.name}/{one.nic}", "what": "port of a bridge, which a veth pair joins to"},
                {"at": f"{away.name}/{_bridge(one)}", "what": "a bridge of the other node"},
                {"at": "guest", "what": f"virtio-net, {_FUNCTION}, at either node"},
                {"at": f"{home.name}/{other.nic}", "what": "port of a bridge, likewise joined"},
                {"at": f"tester/{other.tester_interface}", "what": f"tester port, {other.link}"},
            ],
            "forwarding": f"the guest's kernel, under {accelerator.upper()}; the bridges' share in the "
            "threads of the device queues, in QEMU's process, and of the other node in the sender's call",
            "device_queues": device_queues,
            "datapath": {home.name: home.call(datapath.observe)},
        }


def _bridge(side: Side) -> str:
    return f"bmwg-mv{side.number}"


def _addressed(stack: ExitStack, node: NamespaceNode, interface: str, address: str) -> None:
    stack.callback(node.call, interfaces.remove_address, interface=interface, address=address)
    node.call(interfaces.add_address, interface=interface, address=address)


def _segment(stack: ExitStack, home: NamespaceNode, away: NamespaceNode, side: Side) -> None:
    """Make the bridge of a side on both nodes and join the two; the tester's NIC is a port at home."""
    bridge, joint = _bridge(side), f"bmwg-join{side.number}"
    for node in (home, away):
        stack.callback(node.call, interfaces.delete, interface=bridge)
        node.call(routing.add_bridge, bridge=bridge)
    stack.callback(home.call, interfaces.delete, interface=joint)
    links.connect(home, joint, away, joint)
    for node in (home, away):
        node.call(routing.set_controller, interface=joint, controller=bridge)
    stack.callback(home.call, routing.set_controller, interface=side.nic, controller="")
    home.call(routing.set_controller, interface=side.nic, controller=bridge)


_: type[PathDriver] = MovingPath

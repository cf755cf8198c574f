"""Through one server that its cloud may move: tester port, switch, server, switch, tester port.

A switch a side joins the tester's port with an interface of every compute host; it learns where the server
is. The server's memory goes by the link on which the hosts reach each other, no frame does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

from bmwg.drivers.api.machines import MovingIntent, MovingMachineProvider
from bmwg.drivers.api.protocols import Deployment, Evidence, JsonValue, Missing, PathDriver, TesterPort
from bmwg.drivers.machines import router_initramfs
from bmwg.drivers.machines.router_initramfs import Leg
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import destinations, machine_ends, queues
from bmwg.drivers.paths.addresses import OUTER, host, of_router
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, refuse, too_large
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.paths.sides import Side
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import VM, Cell

MEMORY_OCTETS = 192 << 20  # choice: what it holds, twice, beside its kernel
HOLDS_MEBIOCTETS = 32  # choice: 8 s to send; a cloud on two busy CPUs took 4 s to go on by post-copy
_FUNCTION = "kernel-l3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The path while it stands: the server, whose moves are acts, and the tester's ports."""

    guest: Any
    ports: tuple[TesterPort, TesterPort]
    evidence: Evidence


class MovingServerPath:
    """One server whose kernel forwards at layer 3, at one of several hosts of a cloud of the run's own."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp-vm-moving",
        hostings=(VM,),
        functions=(_FUNCTION,),
        networked=False,
        scenario="PVP through a server that its cloud moves: interface, switch, server, switch, interface",
        between_nodes="a switch a side joins the tester's port with every compute host",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, machines that are moved."""
        bed = self._bed
        found = (
            too_large(
                self._cell,
                mtu_octets=min(bed.mtu_octets, LINK_MTU_OCTETS),
                because=" of a server's interfaces",
            )
            or destinations.unroutable(self._cell, "the server has routes to one network behind each port")
            or bed.machines_missing()
        )
        if found is not None:
            return found
        if isinstance(bed.machines, MovingMachineProvider):
            return bed.machines.moving_missing()
        return Missing(
            what=f"machines of {bed.machines_driver} that are moved",
            reason="this provider has one host",
            mend="BMWG_TESTBED=testbeds/openstack-two-hosts.yaml",
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Have the server stand between the tester's ports; delete it on leaving."""
        with self.standing() as stands:
            yield Deployment(ports=stands.ports, evidence=stands.evidence)

    @contextmanager
    def standing(self, *, writes: bool = False) -> Iterator[Standing]:
        """The same for who moves the server. With `writes` a program in it writes its memory all the time."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node, nics = bed.node(sides[0].node), [side.nic for side in sides]
        provider: Any = bed.machines
        intent = MovingIntent(
            name=f"moving-{bed.next_id()}",
            memory_octets=MEMORY_OCTETS,
            words=_words(sides, 0, writes=writes, tells_boot=True),
            other_words=_words(sides, 1),
            links=tuple(nics),
        )
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, node, nics))
            server = stack.enter_context(provider.moving(intent))
            device_queues = [queues.isolate(bed, node, side.nic, side.number) for side in sides]
            told = server.describe()
            evidence: Evidence = {
                "path": self.kind.name,
                "hosting": VM,
                "host": node.name,
                "function": {"name": _FUNCTION, "runs_in": "the server, by its own kernel"},
                "machine": {**told, "interfaces": ["eth0", "eth1"], "image": None},
                "provider": {"name": bed.machines_driver, **bed.machines.describe(), **server.moves},
                "hops": _hops(sides, node.name),
                "forwarding": f"the server's kernel, under {str(told['accelerator']).upper()}; the bridges' "
                "share in the threads of the device queues and in the server's process",
                "drawn_names": machine_ends.drawn_names(node),
                "device_queues": device_queues,
                "datapath": {node.name: node.call(datapath.observe)},
            }
            yield Standing(
                guest=server,
                ports=(routed_port(bed, sides[0]), routed_port(bed, sides[1])),
                evidence=evidence,
            )


def _words(sides: tuple[Side, Side], at: int, *, writes: bool = False, tells_boot: bool = False) -> str:
    legs = [
        Leg(
            address=of_router(side.number, at),
            far=host(OUTER[side.number].far_ipv4),
            far_mac=side.tester_mac,
        )
        for side in sides
    ]
    return router_initramfs.words(
        legs, holds_mebioctets=HOLDS_MEBIOCTETS, writes=writes, tells_boot=tells_boot
    )


def _hops(sides: tuple[Side, Side], node: str) -> list[JsonValue]:
    one, other = sides
    return [
        {"at": f"tester/{one.tester_interface}", "what": f"tester port, {one.link}"},
        {"at": f"{node}/{one.nic}", "what": "port of a switch, which every compute host is a port of"},
        {"at": "server", "what": f"virtio-net, {_FUNCTION}, at either host, by a bridge of Neutron's"},
        {"at": f"{node}/{other.nic}", "what": "port of a switch, likewise"},
        {"at": f"tester/{other.tester_interface}", "what": f"tester port, {other.link}"},
    ]


_: type[PathDriver] = MovingServerPath

"""The vSwitch alone: the tester's ports are ports of the node's switch, and no pod takes part.

Both are at vhost-user sockets, or one is, and the other is cabled to a NIC that the switch polls. What
RFC 8204 calls a vSwitch between physical ports, with a virtual port in place of each or of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import Deployment, JsonValue, Missing, PathDriver, SocketNetwork, TesterPort
from bmwg.drivers.paths import destinations, queues
from bmwg.drivers.paths.addresses import OUTER
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.paths.standing_programs import standing_programs
from bmwg.drivers.testbed.file import VHOST_USER
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell

_BRIDGE = "bmwg-brv"


class VswitchPath:
    """Tester port to tester port through a switch that serves one or both at sockets."""

    kind: ClassVar[PathKind] = PathKind(
        name="vswitch-only",
        hostings=(BAREMETAL,),
        functions=(NOTHING,),
        networked=True,
        scenario="tester port to tester port through the node's vSwitch, one or both virtual, no workload",
        at_sockets=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: ports at sockets, what serves them, its programs, a frame's room."""
        if not self._bed.testbed.socket_ports:
            return Missing(
                what="a tester port at a vhost-user socket",
                reason="no link of the testbed file is of kind vhost-user",
                mend="BMWG_TESTBED=testbeds/vhost-user.yaml",
            )
        if not isinstance(self._network, SocketNetwork):
            return Missing(
                what=f"a vSwitch that serves the tester's ports, by {self._cell.network}",
                reason=f"driver {self._network.spec.driver} serves no vhost-user sockets for a tester",
                mend="an option with driver: ovs-dpdk",
            )
        return (
            self._bed.missing(self._cell.network, self._bed.sides()[0].node)
            or too_large(self._cell)
            or destinations.unroutable(self._cell, "the switch forwards by port and looks at no address")
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Start the switch and give it its ports; remove them on leaving."""
        refuse(self.probe())
        bed, network = self._bed, self._network
        one, other = sides = bed.sides()
        node = bed.node(one.node)
        if not isinstance(network, SocketNetwork):
            raise TypeError(f"{self._cell.network} serves no sockets")
        names = [side.nic for side in sides if side.link == VHOST_USER]
        nics = [side.nic for side in sides if side.link != VHOST_USER]
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, node, nics))
            sockets, made = stack.enter_context(
                network.sockets(node, names, bridge=_BRIDGE, nic="".join(nics))
            )
            device_queues = [
                queues.isolate(bed, node, side.nic, side.number) for side in sides if side.nic in nics
            ]
            stack.enter_context(standing_programs(bed, node, network))
            first, second = (
                self._port(side, other, f"/proc/{node.pid}/root{sockets[side.nic]}")
                if side.nic in sockets
                else self._port(side, other, "")
                for side, other in ((one, other), (other, one))
            )
            yield Deployment(
                ports=(first, second),
                evidence={
                    "path": self.kind.name,
                    "hosting": BAREMETAL,
                    "node": node.name,
                    "network": _switch(bed.described(self._cell.network, node.name)),
                    "vswitch": made,
                    "chain": "none: the vSwitch alone forwards",
                    "hops": [
                        {"at": f"tester/{one.tester_interface}", "what": f"tester port, {one.link}"},
                        {"at": f"{node.name}/{one.nic}", "what": f"{one.link} port of the vSwitch"},
                        {"at": f"{node.name}/{other.nic}", "what": f"{other.link} port of the vSwitch"},
                        {"at": f"tester/{other.tester_interface}", "what": f"tester port, {other.link}"},
                    ],
                    "forwarding": "the vSwitch's polling threads, by port",
                    "device_queues": device_queues,
                },
            )

    def _port(self, side: Side, other: Side, socket: str) -> TesterPort:
        """Return the tester's port of a side, at a socket or on its end of the pair."""
        return self._bed.port(
            side.number,
            name=side.tester_interface,
            device=socket or side.tester_interface,
            netns=None if socket else self._bed.tester.netns_path,  # a socket lies in none
            mac=side.tester_mac,
            ipv4=OUTER[side.number].far_ipv4,
            ipv6=OUTER[side.number].far_ipv6,
            peer_mac=other.tester_mac,
        )


def _switch(described: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Leave out the networking model: that is one of a pod's attachment, and there is no pod."""
    return {key: value for key, value in described.items() if key != "networking_model"}


_: type[PathDriver] = VswitchPath

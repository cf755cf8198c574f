"""The vSwitch alone: the tester's two ports are vhost-user ports of the node's switch; no pod takes part.

What RFC 8204 calls a vSwitch between physical ports, with a virtual port in place of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from bmwg.drivers.api import Deployment, JsonValue, Missing, PathDriver, SocketNetwork
from bmwg.drivers.paths import destinations
from bmwg.drivers.paths.addresses import OUTER
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.testbed import VHOST_USER
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import BAREMETAL, NOTHING, Cell

_BRIDGE = "bmwg-brv"


class VswitchPath:
    """Tester port to tester port through a switch that serves both at sockets."""

    kind: ClassVar[PathKind] = PathKind(
        name="vswitch-only",
        hostings=(BAREMETAL,),
        functions=(NOTHING,),
        networked=True,
        scenario="virtual port to virtual port through the node's vSwitch, no workload",
        at_sockets=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: ports at sockets, what serves them, its programs, a frame's room."""
        if not self._bed.testbed.at_sockets:
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
        """Start the switch and give it both ports; remove them on leaving."""
        refuse(self.probe())
        bed, network = self._bed, self._network
        one, other = sides = bed.sides()
        node = bed.node(one.node)
        if not isinstance(network, SocketNetwork):
            raise TypeError(f"{self._cell.network} serves no sockets")
        with network.sockets(node, (one.nic, other.nic), bridge=_BRIDGE) as (sockets, made):
            first, second = (
                bed.port(
                    side.number,
                    name=side.tester_interface,
                    device=f"/proc/{node.pid}/root{sockets[side.number]}",
                    netns=None,  # a socket lies in none
                    mac=side.tester_mac,
                    ipv4=OUTER[side.number].far_ipv4,
                    ipv6=OUTER[side.number].far_ipv6,
                    peer_mac=sides[1 - side.number].tester_mac,
                )
                for side in sides
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
                        {"at": f"tester/{one.tester_interface}", "what": f"tester port, {VHOST_USER}"},
                        {"at": f"{node.name}/{one.nic}", "what": f"{VHOST_USER} port of the vSwitch"},
                        {"at": f"{node.name}/{other.nic}", "what": f"{VHOST_USER} port of the vSwitch"},
                        {"at": f"tester/{other.tester_interface}", "what": f"tester port, {VHOST_USER}"},
                    ],
                    "forwarding": "the vSwitch's polling threads, by port",
                    "device_queues": [],
                },
            )


def _switch(described: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Leave out the networking model: that is one of a pod's attachment, and there is no pod."""
    return {key: value for key, value in described.items() if key != "networking_model"}


_: type[PathDriver] = VswitchPath

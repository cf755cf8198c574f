"""The node's kernel bridges between its two NICs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import Deployment, Missing, PathDriver, TesterPort
from bmwg.drivers.paths import queues
from bmwg.drivers.paths.addresses import ENDPOINTS
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import interfaces
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import BAREMETAL, Cell
from vendor_toy import on_node

_BRIDGE = "toy-br0"


class BridgedNode:
    """Kernel L2 forwarding on bare metal."""

    kind: ClassVar[PathKind] = PathKind(
        name="l2-node",
        hostings=(BAREMETAL,),
        functions=("kernel-bridge",),
        networked=False,
        scenario="the node bridges between its two interfaces",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: only a frame can be too large here."""
        return too_large(self._cell, mtu_octets=self._bed.mtu_octets)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make a bridge with both NICs as ports; remove it on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node = bed.node(sides[0].node)
        nics = [side.nic for side in sides]
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, node, nics))
            undo = {"interface": _BRIDGE}
            entry = bed.undo.before("interface", node.place, **undo)
            stack.callback(bed.undo.done, entry)
            stack.callback(node.call, interfaces.delete, **undo)
            node.call(on_node.make_bridge, bridge=_BRIDGE, ports=nics)
            stack.callback(node.call, on_node.release, ports=nics)
            yield Deployment(
                ports=(self._port(sides[0], sides[1]), self._port(sides[1], sides[0])),
                evidence={
                    "path": self.kind.name,
                    "hosting": BAREMETAL,
                    "function": "kernel-bridge",
                    "hops": [{"at": f"{node.name}/{_BRIDGE}", "what": "bridge"}],
                    "forwarding": "the node's kernel, in the threads of the device queues",
                    "device_queues": [queues.isolate(bed, node, side.nic, side.number) for side in sides],
                },
            )

    def _port(self, mine: Side, other: Side) -> TesterPort:
        ipv4, ipv6 = ENDPOINTS[mine.number]
        return self._bed.port(
            mine.number,
            name=mine.tester_interface,
            device=mine.tester_interface,
            netns=self._bed.tester.netns_path,
            mac=mine.tester_mac,
            ipv4=ipv4,
            ipv6=ipv6,
            peer_mac=other.tester_mac,
        )


_: type[PathDriver] = BridgedNode

"""A switch between all NICs that the tester's ports are cabled to, and nothing else (RFC 2889)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api.protocols import Deployment, Missing, PathDriver, TesterPort
from bmwg.drivers.api.switches import SwitchDriver
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import destinations, queues
from bmwg.drivers.paths.addresses import endpoint
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.paths.sides import Side, every_side
from bmwg.methodology.cells import patterns
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import BAREMETAL, Cell


class SwitchPath:
    """Two to eight tester ports around a learning switch of one node."""

    kind: ClassVar[PathKind] = PathKind(
        name="switch",
        hostings=(BAREMETAL,),
        functions=registry.names(registry.SWITCH),
        networked=False,
        scenario="a switch learns and forwards between all NICs of the node",
        axes=(patterns.AXIS,),
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._switch: SwitchDriver = registry.switch(cell.function, bed)

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, what the switch needs, networks behind a port."""
        return (
            too_large(self._cell, mtu_octets=self._bed.mtu_octets)
            or self._switch.probe(self._bed.node(every_side(self._bed)[0].node))
            or destinations.unroutable(self._cell, "the switch forwards by MAC and looks at no address")
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the switch, give each NIC its queue; undo it on leaving."""
        refuse(self.probe())
        bed, sides = self._bed, every_side(self._bed)
        node = bed.node(sides[0].node)
        nics = [side.nic for side in sides]
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, node, nics))
            made = stack.enter_context(self._switch.joined(node, nics))
            device_queues = [queues.isolate(bed, node, side.nic, side.number) for side in sides]
            ends = [(f"tester/{side.tester_interface}", side, "tester port") for side in sides]
            ends += [(f"{node.name}/{side.nic}", side, "port of the switch") for side in sides]
            yield Deployment(
                ports=tuple(_port(bed, side, sides) for side in sides),
                evidence={
                    "path": self.kind.name,
                    "hosting": BAREMETAL,
                    "node": node.name,
                    "function": {"name": self._switch.name, **made},
                    "hops": [{"at": at, "what": f"{what}, {side.link}"} for at, side, what in ends],
                    "forwarding": self._switch.forwards_in,
                    "device_queues": device_queues,
                    "datapath": {node.name: node.call(datapath.observe)},
                },
            )


def _port(bed: Bed, side: Side, sides: tuple[Side, ...]) -> TesterPort:
    """Return the tester's port of a side; a trial without a pattern goes between the first two."""
    ipv4, ipv6 = endpoint(side.number)
    return bed.port(
        side.number,
        name=side.tester_interface,
        device=side.tester_interface,
        netns=bed.tester.netns_path,
        mac=side.tester_mac,
        ipv4=ipv4,
        ipv6=ipv6,
        peer_mac=sides[1 - side.number].tester_mac if side.number < 2 else None,
    )


_: type[PathDriver] = SwitchPath

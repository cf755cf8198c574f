"""The wire: two ports of the tester joined by nothing but a cable of their own kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from bmwg.drivers.api.protocols import Deployment, Evidence, JsonValue, Missing, PathDriver
from bmwg.drivers.nodes import links
from bmwg.drivers.paths import repeater
from bmwg.drivers.paths.addresses import BEHIND, OUTER
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse, too_large
from bmwg.drivers.ports import interfaces
from bmwg.drivers.testbed.file import CABLE, VETH, VHOST_USER
from bmwg.drivers.traffic.embedded.ports import VHOST, VIRTIO_USER
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import NOTHING, WIRE, Cell

_INTERFACES = ("wire0", "wire1")


class WirePath:
    """The ladder's lowest rung, and the tester's own qualification.

    A link of the testbed file that joins two ports of the tester is the wire; without one it is a veth pair
    within the tester's place. Ports that are cables' ends are another kind of port: what a veth pair carries
    says nothing of them, so they need such a link. Ports at vhost-user sockets are joined by one socket,
    whose switch's end is the tester's too: one port serves it (`vhost`), the other is its client, and each
    frame crosses one virtqueue. The tester copies it there, which a switch does elsewhere. One port of each
    kind have a veth pair and a socket between them, and testpmd, which repeats frames from one to the other.
    """

    kind: ClassVar[PathKind] = PathKind(
        name=WIRE,
        hostings=(NOTHING,),
        functions=(NOTHING,),
        networked=False,
        scenario="tester port to tester port, no device under test",
        at_sockets=True,
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: a wire of the ports' own kind; or a frame is too large."""
        if self._bed.loop is None and CABLE in {side.link for side in self._bed.ends()}:
            return Missing(
                what="a wire for the qualification of the tester",
                reason="its ports are ends of cables, and no link joins two ports of the tester",
                mend="cable two more ports of the same kind to each other and name them in `links`",
            )
        lack = repeater.lacking() if len(self._bed.testbed.socket_ports) == 1 else None
        return lack or too_large(self._cell, mtu_octets=self._bed.mtu_octets)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pair, unless a link of the testbed file is the wire; delete it on leaving."""
        sockets = len(self._bed.testbed.socket_ports)
        if sockets == 2:
            yield self._by_socket()
            return
        if sockets:
            refuse(self.probe())
            with self._repeated() as deployment:
                yield deployment
            return
        tester = self._bed.tester
        if (loop := self._bed.loop) is not None:
            names, macs = (loop.a.interface, loop.b.interface), (self._bed.mac(loop.a), self._bed.mac(loop.b))
            made = self._bed.links[self._bed.testbed.links.index(loop)]
            yield self._joined(names, macs, made, loop.kind)
            return
        try:
            made = links.connect(
                tester, _INTERFACES[0], tester, _INTERFACES[1], mtu_octets=self._bed.mtu_octets
            )
            yield self._joined(_INTERFACES, (made["a"]["mac"], made["b"]["mac"]), made, VETH)
        finally:
            tester.call(interfaces.delete, interface=_INTERFACES[0])

    def _by_socket(self) -> Deployment:
        bed = self._bed
        # below the /run of the tester's place, with which it goes
        socket = _at(bed, "/run/wire")
        Path(socket).unlink(missing_ok=True)  # a tester that was killed leaves it
        sides, kinds = bed.ends(), (VHOST, VIRTIO_USER)
        macs = (sides[0].tester_mac, sides[1].tester_mac)
        made = {"kind": VHOST_USER, "ends": list(kinds)}
        joined = self._joined((socket, socket), macs, made, VHOST_USER)
        one, other = (
            replace(port, name=side.tester_interface, io=kind, netns=None)
            for port, side, kind in zip(joined.ports, sides, kinds, strict=True)
        )
        hops = [
            {"at": f"tester/{port.name}", "what": f"tester port, {VHOST_USER}, {what}"}
            for port, what in ((one, "serves the socket"), (other, "client of the socket"))
        ]
        return Deployment(ports=(one, other), evidence={**joined.evidence, "hops": hops})

    @contextmanager
    def _repeated(self) -> Iterator[Deployment]:
        """Join a port on one end of a veth pair to one at a socket: testpmd has the other ends of both."""
        bed, tester, sides = self._bed, self._bed.tester, self._bed.ends()
        mine, other = _INTERFACES
        try:
            pair = links.connect(tester, mine, tester, other, mtu_octets=bed.mtu_octets)
            with repeater.repeating(bed, tester, interface=other, cpu=bed.dut_cpu(0)) as repeats:
                macs = [
                    side.tester_mac if side.link == VHOST_USER else str(pair["a"]["mac"]) for side in sides
                ]
                joined = self._joined(_INTERFACES, (macs[0], macs[1]), pair, VETH)
                one, two = (
                    replace(port, name=side.tester_interface, device=_at(bed, repeater.SOCKET), netns=None)
                    if side.link == VHOST_USER
                    else replace(port, name=side.tester_interface, device=mine)
                    for port, side in zip(joined.ports, sides, strict=True)
                )
                hops = [
                    {"at": f"tester/{port.name}", "what": f"tester port, {side.link}"}
                    for port, side in zip((one, two), sides, strict=True)
                ]
                hops.insert(1, {"at": "tester", "what": f"testpmd repeats frames, on CPU {repeats['cpu']}"})
                made: Evidence = {
                    "hops": hops,
                    "repeater": dict(repeats),
                    "forwarding": "testpmd, frames as they are",
                }
                yield Deployment(ports=(one, two), evidence={**joined.evidence, **made})
        finally:
            tester.call(interfaces.delete, interface=mine)

    def _joined(
        self, names: tuple[str, str], macs: tuple[str, str], made: Mapping[str, JsonValue], kind: str
    ) -> Deployment:
        first, second = (
            self._bed.port(
                number,
                name=names[number],
                device=names[number],
                netns=self._bed.tester.netns_path,
                mac=macs[number],
                ipv4=OUTER[number].far_ipv4,
                ipv6=OUTER[number].far_ipv6,
                peer_mac=macs[1 - number],
                networks=BEHIND[number],
            )
            for number in (0, 1)
        )
        return Deployment(
            ports=(first, second),
            evidence={
                "path": self.kind.name,
                "link": dict(made),
                "hops": [{"at": f"tester/{name}", "what": f"tester port, {kind}"} for name in names],
                "forwarding": "none",
                "device_queues": [],
            },
        )


def _at(bed: Bed, path: str) -> str:
    """Return where this process finds a path of the tester's place."""
    return f"/proc/{bed.tester.pid}/root{path}"


_: type[PathDriver] = WirePath

"""The wire: the tester's two ports joined by nothing but a cable of their own kind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from bmwg.drivers import links
from bmwg.drivers.api import Deployment, Missing, PathDriver
from bmwg.drivers.paths.addresses import BEHIND, OUTER
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import too_large
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import NOTHING, WIRE, Cell

_INTERFACES = ("wire0", "wire1")


class WirePath:
    """The ladder's lowest rung, and the tester's own qualification: a veth pair within the tester's place."""

    kind: ClassVar[PathKind] = PathKind(
        name=WIRE,
        hostings=(NOTHING,),
        functions=(NOTHING,),
        networked=False,
        scenario="tester port to tester port, no device under test",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: only a frame can be too large here."""
        return too_large(self._cell, mtu_octets=self._bed.mtu_octets)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make the pair, both ends up; delete it on leaving."""
        tester = self._bed.tester
        try:
            made = links.connect(
                tester, _INTERFACES[0], tester, _INTERFACES[1], mtu_octets=self._bed.mtu_octets
            )
            ports = []
            for number, (name, other) in enumerate((_INTERFACES, _INTERFACES[::-1])):
                ports.append(
                    self._bed.port(
                        name=name,
                        device=name,
                        netns=tester.netns_path,
                        mac=links.mac_of(tester.name, name),
                        ipv4=OUTER[number].far_ipv4,
                        ipv6=OUTER[number].far_ipv6,
                        peer_mac=links.mac_of(tester.name, other),
                        networks=BEHIND[number],
                    )
                )
            yield Deployment(
                ports=(ports[0], ports[1]),
                evidence={
                    "path": self.kind.name,
                    "link": made,
                    "hops": [{"at": f"tester/{name}", "what": "tester port, veth"} for name in _INTERFACES],
                    "forwarding": "none",
                    "device_queues": [],
                },
            )
        finally:
            tester.call("bmwg.drivers.hosting.interfaces:delete", interface=_INTERFACES[0])


_: type[PathDriver] = WirePath

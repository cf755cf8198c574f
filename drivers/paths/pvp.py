"""PVP: tester port, node NIC, pod, node NIC, tester port: the chain of one function (`chain`)."""

from __future__ import annotations

from typing import ClassVar

from bmwg.drivers import registry
from bmwg.drivers.api import PathDriver
from bmwg.drivers.paths.chain import ChainPath
from bmwg.methodology.paths import PathKind
from bmwg.methodology.records import POD


class PvpPath(ChainPath):
    """One pod, in which one of the functions for pods forwards between two attachments."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp",
        hostings=(POD,),
        functions=registry.names(registry.FUNCTION),
        networked=True,
        scenario="PVP: interface, pod, interface",
    )


_: type[PathDriver] = PvpPath

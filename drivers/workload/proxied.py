"""The functions that requests pass: forward proxies, which are asked for a whole URL, reverse ones, and a
kernel that forwards (`crossed`).

Found by their names among `bmwg.drivers.proxy`.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from bmwg.drivers import registry
from bmwg.drivers.api.instance import Program
from bmwg.drivers.workload.crossed import CrossedFunction
from bmwg.drivers.workload.run_authority import Terminated

BACKLOG = 1024  # choice: connections that may wait to be accepted


class ProxyFunction(Protocol):
    """One kind of function, as data: how it is started for an origin, and how it is asked.

    `forward` says that clients ask it for a whole URL, and with TLS for a tunnel to the origin; where it
    `inspects` it ends the TLS in that tunnel by certificates of its own making, and asks the origin by TLS.
    `caches` says that it keeps objects where it is told to.
    Another one stands for its origin, and may end TLS. `counts` says that `squid.counters` reads it.
    `executable` is its program in PATH, `plain_port` where it answers without TLS beside its own port (0:
    nowhere). The class is made without arguments.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    forward: ClassVar[bool]
    inspects: ClassVar[bool]
    caches: ClassVar[bool]
    counts: ClassVar[bool]
    plain_port: ClassVar[int]
    executable: ClassVar[str]

    def program(self, *, cache: bool, origin: tuple[str, int], tls: Terminated | None) -> Program:
        """Return it as it is started in an instance."""


def function(name: str) -> ProxyFunction | CrossedFunction:
    """Return the function of that name. Raises what `registry.load` raises."""
    made: ProxyFunction | CrossedFunction = registry.load(registry.PROXY, name)()
    return made

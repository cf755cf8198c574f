"""A firewall: so many rules of nftables in a kernel's forwarding; the last one lets test frames through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from bmwg.drivers.api.protocols import FunctionLink, KernelFunction, Missing
from bmwg.drivers.function import rules
from bmwg.drivers.function.in_kernel import InKernel, Loaded
from bmwg.drivers.function.options import FunctionOptions
from bmwg.drivers.paths import destinations
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.records import Cell

MOST_RULES = 1_000_000


class Firewall(InKernel):
    """A kernel that forwards at layer 3 what its rules let through; it keeps no state of connections."""

    name: ClassVar[str] = "firewall"
    forwarding: ClassVar[str] = (
        "the kernel in the pod's network namespace, by rules of nftables, run by the threads of the device"
        " queues"
    )

    def __init__(self, bed: Bed) -> None:
        """Read how many rules there are and how they are looked up. Raises ConfigError FUNC-01."""
        options = FunctionOptions(bed, self.name)
        self._rules = options.count("rules", least=1, most=MOST_RULES)
        self._lookup = options.choice("lookup", (rules.LIST, rules.SET))
        options.finish()

    def unfit(self, cell: Cell) -> Missing | None:
        """Return that its rules are of IPv4, and that the last one is of one destination port."""
        return self.no_ipv4(cell) or destinations.other_ports(cell, "its last rule lets one through")

    def loaded(self, links: Sequence[FunctionLink]) -> Loaded:
        """Return the rule set."""
        mine = {"rules": self._rules, "lookup": self._lookup}
        return Loaded(
            install=rules.load_firewall,
            arguments={**mine, "interfaces": [link.interface for link in links]},
            told={**mine, "matching": "the last rule, after all others"},
        )


_: type[KernelFunction] = Firewall

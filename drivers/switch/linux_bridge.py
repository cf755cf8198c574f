"""The kernel's own bridge: learns, and forwards between all NICs in the threads of their device queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing, Node, PlacedNode
from bmwg.drivers.api.switches import SwitchDriver
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import interfaces
from bmwg.drivers.switch import bridge_calls
from bmwg.drivers.switch.settings import TableSettings

_BRIDGE = "bmwg-sw0"


class LinuxBridge:
    """A bridge of the node's kernel without STP and without multicast snooping."""

    name: ClassVar[str] = "linux-bridge"
    forwards_in: ClassVar[str] = "the node's kernel, in the threads of the device queues"

    def __init__(self, bed: Bed) -> None:
        self._settings = TableSettings.read(bed, self.name)
        self._undo = bed.undo

    def probe(self, node: Node) -> Missing | None:
        """Return that this kernel bounds no table, where the testbed file asks for a bound."""
        if not self._settings.entries or node.call(bridge_calls.bounds_tables):
            return None
        return Missing(
            what="a bridge with a bound of its address table",
            reason="this kernel has no IFLA_BR_FDB_MAX_LEARNED",
            mend="Linux 6.7 or later, or no functions.linux-bridge.table_entries",
        )

    @contextmanager
    def joined(self, node: PlacedNode, nics: Sequence[str]) -> Iterator[Mapping[str, JsonValue]]:
        """Make the bridge and its ports; delete it on leaving, which gives the NICs back."""
        entry = self._undo.before("interface", node.place, interface=_BRIDGE)
        try:
            node.call(
                bridge_calls.make,
                bridge=_BRIDGE,
                nics=list(nics),
                ageing_s=self._settings.ageing_s,
                entries=self._settings.entries,
            )
            found = node.call(bridge_calls.settings, bridge=_BRIDGE)
            yield {"bridge": _BRIDGE, "settings": self._settings.told(self.name, found)}
        finally:
            node.call(interfaces.delete, interface=_BRIDGE)
            self._undo.done(entry)

    def table(self, node: Node) -> int:
        """Return how many addresses it has learned and not forgotten."""
        return node.call(bridge_calls.learned, bridge=_BRIDGE)


_: type[SwitchDriver] = LinuxBridge

"""Open vSwitch of the run's own, datapath `netdev`: learns, and forwards between NICs by packet sockets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from bmwg.drivers.api.protocols import JsonValue, Missing, Node, PlacedNode
from bmwg.drivers.api.switches import SwitchDriver
from bmwg.drivers.network import ovs_parts, ovs_system
from bmwg.drivers.network.ovs_dpdk import vswitch_owner
from bmwg.drivers.network.ovs_tools import CALL_DEADLINE_S
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.switch import ovs_calls
from bmwg.drivers.switch.settings import TableSettings

_BRIDGE = "bmwg-swo0"
_LEAST_AGEING_S = 15  # a shorter one Open vSwitch makes this long (ovs-vswitchd.conf.db(5), mac-aging-time)
_OWN = 10  # fewer entries than that Open vSwitch makes ten


class OvsNetdev:
    """A bridge in user space, without DPDK."""

    name: ClassVar[str] = "ovs-netdev"
    forwards_in: ClassVar[str] = "the switch's own thread, by packet sockets at the NICs"

    def __init__(self, bed: Bed) -> None:
        self._settings = TableSettings.read(
            bed, self.name, least_entries=_OWN, least_ageing_s=_LEAST_AGEING_S
        )
        self._undo = bed.undo
        self._owner = vswitch_owner(bed.state_dir)
        self._config = self._settings_of(bed)

    def _settings_of(self, bed: Bed) -> dict[str, Any]:
        """Return what `ovs_switch.ensure` is told."""
        return ovs_system.config(list(bed.testbed.dut.cpus))

    def probe(self, node: Node) -> Missing | None:
        """Return what is missing: the programs."""
        return Missing.told(node.call(ovs_parts.probe))

    @contextmanager
    def joined(self, node: PlacedNode, nics: Sequence[str]) -> Iterator[Mapping[str, JsonValue]]:
        """Start the switch with one bridge of these NICs; end it on leaving."""
        entry = self._undo.before("owner", node.place, owner=self._owner)
        try:
            made = node.call_within(
                CALL_DEADLINE_S,
                ovs_calls.make,
                config=self._config,
                owner=self._owner,
                bridge=_BRIDGE,
                nics=list(nics),
                ageing_s=self._settings.ageing_s,
                entries=self._settings.entries,
            )
            found = node.call_within(CALL_DEADLINE_S, ovs_calls.settings, bridge=_BRIDGE)
            told = self._settings.told(self.name, found)
            yield {"bridge": _BRIDGE, "vswitch": node.call(ovs_parts.describe), "settings": told, **made}
        finally:
            node.call_within(CALL_DEADLINE_S, ovs_calls.end, owner=self._owner, bridge=_BRIDGE)
            self._undo.done(entry)

    def table(self, node: Node) -> int:
        """Return how many addresses it has learned and not forgotten."""
        return node.call_within(CALL_DEADLINE_S, ovs_calls.learned, bridge=_BRIDGE)


_: type[SwitchDriver] = OvsNetdev

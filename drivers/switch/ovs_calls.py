"""Node functions on a learning bridge of the run's own Open vSwitch: make it, read its settings, end it."""

from __future__ import annotations

import re
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.network import ovs_switch, ovs_tools, ovs_words
from bmwg.drivers.ports import interfaces
from bmwg.methodology.errors import DriverError, TestbedError

_POLLED = "dpif-netdev/pmd-rxq-show"
_ENTRIES = re.compile(r"Current/maximum MAC entries in the table: (\d+)/(\d+)")


def make(
    *, config: dict[str, Any], owner: str, bridge: str, nics: list[str], ageing_s: int, entries: int
) -> dict[str, JsonValue]:
    """Node function: start a switch and give it a learning bridge of these NICs; `entries` 0: its own bound.

    With DPDK each NIC is a port by its packet socket device, and what polls it is told.

    Raises TestbedError VSW-03, VSW-04, DriverError VSW-02.
    """
    state = ovs_switch.ensure(config, owner)
    state["ports"] = {nic: {"bridge": bridge, "nic": nic} for nic in nics}
    for nic in nics:
        ovs_switch.kept(state, nic)
    ovs_switch.record(state)
    settings = ["datapath_type=netdev", "fail-mode=standalone", f"other_config:mac-aging-time={ageing_s}"]
    settings += [f"other_config:mac-table-size={entries}"] if entries else []
    words = ["--", "add-br", bridge, "--", "set", "bridge", bridge, *settings]
    dpdk = config.get("dpdk", True)
    for number, nic in enumerate(nics):
        words += ["--", "add-port", bridge, nic]
        if dpdk:
            words += ["--", "set", "interface", nic, *ovs_switch.nic_settings(config, nic, number)]
    ovs_switch.configure(words=words)
    for nic in nics:
        if said := ovs_tools.read("interface", nic, "error"):
            raise TestbedError("VSW-03", f"the vSwitch refused port {nic}", found=str(said))
    told: dict[str, JsonValue] = {"vswitch_start_s": state["start_s"]}
    if not dpdk:
        return told
    ovs_switch.sleep_as_wanted()
    drivers = {nic: (ovs_tools.read("interface", nic, "status") or {}).get("driver_name") for nic in nics}
    return {
        **told,
        "nic_drivers": drivers,
        "pollers": ovs_words.pollers(ovs_tools.ask(_POLLED)),
        "dpdk": ovs_tools.read("Open_vSwitch", ".", "other_config"),
    }


def settings(*, bridge: str) -> dict[str, JsonValue]:
    """Node function: return the table's bound as the switch tells it, the ageing as its database does."""
    other = ovs_tools.read("bridge", bridge, "other_config")
    ageing = other.get("mac-aging-time") if isinstance(other, dict) else None
    return {"ageing_s": int(ageing) if ageing else None, "table_entries": _table(bridge)[1]}


def learned(*, bridge: str) -> int:
    """Node function: return how many addresses the bridge has learned."""
    return _table(bridge)[0]


def _table(bridge: str) -> tuple[int, int]:
    said = ovs_tools.ask("fdb/stats-show", bridge)
    if (found := _ENTRIES.search(said)) is None:
        raise DriverError(
            "VSW-03",
            "the vSwitch asked for fdb/stats-show",
            expected="current and most MAC entries",
            found=said[:200],
        )
    return int(found[1]), int(found[2])


def end(*, owner: str, bridge: str) -> None:
    """Node function: end the switch and what it leaves. Idempotent."""
    ovs_switch.stop(owner=owner)
    for name in (bridge, ovs_tools.DATAPATH):  # taps may outlive a switch that has ended
        interfaces.delete(interface=name)

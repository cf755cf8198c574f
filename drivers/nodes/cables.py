"""Interfaces that links of kind `cable` name, here and on hosts: borrowed for a run, and given back.

One that anything else uses is refused (PORT-01), what was borrowed
stands in the ledger before it is touched, and a run that is killed leaves it to `bmwg cleanup`. An end of a
node is moved into it; the tester's end is, with `io: pci`, bound to VFIO and in no network namespace
(docs/adr/0519).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.api.protocols import JsonValue, UndoLog, undone
from bmwg.drivers.nodes import links, probe
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.ports import interfaces, lab_port, pci_port, port_settings
from bmwg.drivers.testbed.file import Endpoint
from bmwg.methodology.errors import ConfigError, ToolkitError

LINK_DEADLINE_S = 20.0  # choice: what a NIC and a switch take to agree, and twice that
_RETURN_S = 30.0  # a namespace that ends gives its devices back a little later
_UNDONE_BY = ("address", "driver", "interface", "mac", "mtu_octets", "up", "override")
Nic = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a cable: an interface and its node, or what `looked_at` told of a PCI port of the tester."""

    node: BedNode
    interface: str
    nic: Nic = field(default_factory=dict)


def looked_at(needs: Mapping[Endpoint, int], machine: Calls = HERE) -> dict[Endpoint, dict[str, JsonValue]]:
    """Return what NICs of a machine are; refuses each that a run cannot take, before anything is touched.

    `needs` is the memory in hugepages that the tester needs beside each, MiB. Raises what
    `pci_port.require_free` raises, and ConfigError LINK-05 for one NIC by two names.
    """
    found = {
        end: machine.call(pci_port.require_free, port=end.interface, memory_mib=memory_mib)
        for end, memory_mib in sorted(needs.items())
    }
    owners: dict[str, Endpoint] = {}
    for end, nic in found.items():
        other = owners.setdefault(str(nic["address"]), end)
        if other != end:
            raise ConfigError(
                "LINK-05",
                f"ends {other} and {end} of cables; nothing was bound",
                expected="two NICs",
                found=f"one, {nic['address']}",
            )
    return found


@contextmanager
def cabled(a: End, b: End, undo: UndoLog, *, mtu_octets: int) -> Iterator[dict[str, JsonValue]]:
    """Take both ends of a cable and see its link; give them back on leaving. Gives the evidence of the link.

    The link of a PCI port is seen by its kernel driver, which has it until `handed_over`. Raises TestbedError
    PORT-01, PORT-02, PCI-05, ConfigError LINK-04 for an interface whose MTU is less than the run's frames
    need (a PCI port's is set by the tester).
    """
    with ExitStack() as stack:
        told: list[dict[str, JsonValue]] = []
        for end in (a, b):
            taking = _raised(end, undo) if end.nic else _borrowed(end, undo, mtu_octets=mtu_octets)
            told.append(stack.enter_context(taking))
        for end, facts in zip((a, b), told, strict=True):
            # a NIC is in its machine's own namespace still
            place: Calls = end.node.machine if end.nic else end.node
            name = str(end.nic["interface"]) if end.nic else end.interface
            place.call_within(
                LINK_DEADLINE_S + 10, lab_port.wait_for_link, interface=name, within_s=LINK_DEADLINE_S
            )
            facts["line_rate_bps"] = place.call(lab_port.line_rate_bps, interface=name)
        yield {"kind": "cable", "a": told[0], "b": told[1], "mtu_octets": mtu_octets}


def handed_over(nics: Iterable[Nic], machine: Calls) -> None:
    """Take NICs of a machine, which are up, from their kernel drivers. Raises TestbedError PCI-05."""
    for nic in nics:
        if not nic["bifurcated"]:
            machine.call(pci_port.take, address=str(nic["address"]))


@contextmanager
def _raised(end: End, undo: UndoLog) -> Iterator[dict[str, JsonValue]]:
    """Set a PCI port up as it stands; on leaving it is its kernel driver's again, as it was."""
    before, machine = {key: end.nic[key] for key in _UNDONE_BY}, end.node.machine
    give_back = partial(machine.call_within, _RETURN_S, pci_port.give_back, **before)
    with undone(undo, "pci_port", machine.place, give_back, **before):
        machine.call(interfaces.up, interface=str(before["interface"]))
        yield {"node": end.node.name, "port": end.interface, **end.nic}


@contextmanager
def _borrowed(end: End, undo: UndoLog, *, mtu_octets: int) -> Iterator[dict[str, JsonValue]]:
    node, interface, machine = end.node, end.interface, end.node.machine
    found = machine.call(lab_port.require_bare, interface=interface)
    if int(found["mtu_octets"]) < mtu_octets:
        raise ConfigError(
            "LINK-04",
            f"MTU of interface {interface}, which a link names",
            expected=f"{mtu_octets} octets or more, for the frames of this run",
            found=str(found["mtu_octets"]),
            hint=f"ip link set {interface} mtu {mtu_octets}",
        )
    was = machine.call(port_settings.read, interface=interface)
    returned = {**lab_port.undo_of(found), "was": was}
    number = undo.before("lab_port", machine.place, **returned)
    home = machine.call(probe.identify)["pid"]
    try:
        machine.call(interfaces.move, interface=interface, pid=node.pid)
        node.call(links.raise_end, interface=interface)
        yield {"node": node.name, **{key: value for key, value in found.items() if key != "up"}}
    finally:
        with contextlib.suppress(ToolkitError):  # where the node is gone its end gives it back
            node.call(interfaces.move, interface=interface, pid=home)
        machine.call_within(_RETURN_S, lab_port.require_returned, **returned)
        undo.done(number)

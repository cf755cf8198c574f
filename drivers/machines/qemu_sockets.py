"""Guests whose NICs are at vhost-user sockets of a switch of their node: node functions.

A guest's memory is shared with the switch, which takes frames out of it and puts them there; QEMU's process
carries none of them. That it is so is what QEMU says of the NICs that it has.
Ids: VM-17 the backend of a NIC is not what was wanted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.machines import guest_views, qemu, qemu_place
from bmwg.drivers.machines.qemu import MachineSpec, Nic
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.nodes import bounded, pages
from bmwg.methodology.errors import DriverError

_HELP_S = 10.0
_MEND = "the distribution's qemu-system package"
WANTED = (("-netdev", "vhost-user"), ("-object", "memory-backend-memfd"))
_NETDEV = re.compile(r"\b(net\d+): index=\d+,type=([\w-]+)")


def lacking(*, hugepage_octets: int, count: int) -> dict[str, str] | None:
    """Node function: what this node lacks for such a guest (fields of `Missing`), None when nothing.

    It is to have so many pages of a size, 0 octets: ordinary ones.
    """
    if lack := qemu_place.probe():
        return lack
    for option, word in WANTED:
        done = bounded.run([str(qemu.program()), option, "help"], deadline_s=_HELP_S)
        if word not in done.stdout.split():
            why = f"`{option} help` of this QEMU names no {word}"
            return asdict(Missing(what="a guest's NIC at a vhost-user socket", reason=why, mend=_MEND))
    free = pages.free(hugepage_octets >> 10) if hugepage_octets else count
    if free >= count:
        return None
    size = f"{hugepage_octets >> 20} MiB"
    return asdict(
        Missing(
            what=f"{count} hugepages of {size} for a guest",
            reason=f"{free} are free",
            mend=f"echo {count} > {pages.pool(hugepage_octets >> 10)}/nr_hugepages, or none for pods",
        )
    )


def start(
    *,
    name: str,
    cpus: int,
    memory_octets: int,
    nics: Sequence[Mapping[str, str]],
    process_cpus: str,
    hugepage_octets: int,
    boot_deadline_s: float,
) -> JsonValue:
    """Node function: boot a guest with a NIC at each socket (`socket`, `mac`); returns evidence.

    Raises TestbedError VM-01 to VM-05, DriverError VM-17; nothing stays behind then.
    """
    accelerator, _ = qemu.probe_accelerator()
    machine = Machine(
        MachineSpec(
            name=name,
            cpus=cpus,
            memory_octets=memory_octets,
            accelerator=accelerator,
            nics=tuple(Nic(tap="", mac=nic["mac"], socket=nic["socket"]) for nic in nics),
            views=guest_views.hidden(),
            hugepage_octets=hugepage_octets,
            process_cpus=process_cpus,
        ),
        boot_deadline_s=boot_deadline_s,
    )
    machine.__enter__()
    try:
        told_nics(machine)
    except BaseException:
        machine.stop()
        raise
    return qemu_place.kept(machine)


def process_of(*, name: str) -> dict[str, int]:
    """Node function: pid and start time (clock ticks since boot) of a guest's QEMU."""
    machine = qemu_place.named(name)
    return {"pid": machine.pid, "start_ticks": machine.start_ticks}


def vnics(*, name: str) -> list[JsonValue]:
    """Node function: what QEMU says of a guest's NICs now. Raises DriverError VM-07, VM-08, VM-17."""
    return told_nics(qemu_place.named(name))


def told_nics(machine: Machine) -> list[JsonValue]:
    """Return kind, socket and state of each NIC's backend by QEMU's own words. Raises DriverError VM-17."""
    told = str(machine.monitor.execute("human-monitor-command", {"command-line": "info network"}))
    return [_held(machine, number, kinds_of(told)) for number in range(len(machine.spec.nics))]


def kinds_of(told: str) -> dict[str, str]:
    """Read of QEMU's list of its network the kind of each backend, by its name."""
    return {found[1]: found[2] for found in _NETDEV.finditer(told)}


def _held(machine: Machine, number: int, kinds: Mapping[str, str]) -> JsonValue:
    """Return what QEMU says of one NIC, held against what was wanted of it."""
    nic = machine.spec.nics[number]
    kind, end = kinds.get(f"net{number}", "none"), f"/chardevs/{qemu.chardev(nic)}"
    address = machine.monitor.execute("qom-get", {"path": end, "property": "addr"})
    connected = machine.monitor.execute("qom-get", {"path": end, "property": "connected"})
    if (kind, address.get("path"), connected) != (qemu.VHOST_USER, nic.socket, True):
        raise DriverError(
            "VM-17",
            f"guest {machine.spec.name}: the backend of its NIC {number}, as QEMU says",
            expected=f"{qemu.VHOST_USER}, connected, at {nic.socket}",
            found=f"{kind}, {'connected' if connected else 'not connected'}, at {address}",
        )
    return {"model": nic.model.value, "backend": kind, "socket": nic.socket, "connected": connected}

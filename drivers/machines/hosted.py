"""The machines without an agent that a node hosts, by their names: node functions that ask and end them.

They belong to the agent of the node and die with it. Ids: VM-08 no such machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines.qemu_machine import Machine
from bmwg.drivers.ports import interfaces, routing, sysctl
from bmwg.methodology.errors import DriverError, ToolkitError

_machines: dict[str, Machine] = {}


def begin(machine: Machine, bridges: Sequence[str], *, ipv6: bool) -> None:
    """Start QEMU and make each tap, in order, a port of its bridge. Nothing stays behind when that fails.

    A NIC with redirected ports has no tap.
    """
    machine.__enter__()
    taps = [nic.tap for nic in machine.spec.nics if nic.redirected is None]
    try:
        for tap, bridge in zip(taps, bridges, strict=True):
            sysctl.quiet_ipv6(interface=tap)
            if not ipv6:
                sysctl.write(key=f"net/ipv6/conf/{tap}/disable_ipv6", value="1")
            routing.set_controller(interface=tap, controller=bridge)
            interfaces.up(interface=tap)
    except BaseException:
        machine.stop()
        raise
    _machines[machine.spec.name] = machine


def named(name: str) -> Machine:
    """Return one of this node's machines. Raises DriverError VM-08."""
    if name not in _machines:
        raise DriverError("VM-08", f"machine {name}", expected="one of this node", found=str(list(_machines)))
    return _machines[name]


def fault(*, name: str) -> str | None:
    """Node function: why the machine no longer runs here, with its last lines; None while it does."""
    try:
        return named(name).fault()
    except ToolkitError as error:
        return str(error)


def console(*, name: str) -> list[str]:
    """Node function: the last lines that the machine wrote on its console here."""
    return named(name).console()


def sample(*, name: str) -> JsonValue:
    """Node function: CPU time and memory of the machine's QEMU; fields of `instance.Sample`."""
    return named(name).sample()


def stop(*, name: str) -> None:
    """Node function: end a machine. Idempotent. Raises DriverError VM-14."""
    machine = _machines.pop(name, None)
    if machine is not None:
        machine.stop()

"""What a path needs of a machine that forwards: calls into it, its interfaces, and frames that pass its host.

Ids: PATH-08 a machine has not the interface that its provider named, PATH-09 no frame comes through a side.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bmwg.drivers.api.machines import Machine
from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.paths import probe_frame, routers
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.places.inside import InMachine
from bmwg.drivers.ports import interfaces as hosting_interfaces
from bmwg.drivers.ports import routing
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

_PROBE_S = 30.0  # choice: a switch learns a port within seconds
_GUARDED = "is port security off on the test ports, and no security group on them?"
_DRAWN = re.compile(r"(?:brq|tap)[0-9a-f]{8}-[0-9a-f]{2}")  # as Neutron's agent names them


def interfaces_of(machine: Machine, inside: InMachine) -> list[str]:
    """Return the names of the test interfaces as the machine's kernel has them, by their MAC."""
    found = {one["mac"]: str(one["name"]) for one in inside.call(hosting_interfaces.listing)}
    absent = [endpoint.mac for endpoint in machine.endpoints if endpoint.mac not in found]
    if absent:
        raise DriverError(
            "PATH-08",
            f"machine {machine.name}",
            expected=f"an interface with each MAC address that its provider named ({len(machine.endpoints)})",
            found=f"{len(absent)} of them are not there",
        )
    return [found[endpoint.mac] for endpoint in machine.endpoints]


def made_router(inside: InMachine, sides: Sequence[Side], interfaces: Sequence[str]) -> None:
    """Have the machine's kernel route between its interfaces, the tester's ports its fixed neighbours.

    Nothing of it is undone: it goes with the machine.
    """
    inside.call(routing.set_forwarding, enabled=True)
    for side, interface in zip(sides, interfaces, strict=True):
        segment = OUTER[side.number]
        for address in segment.router:
            inside.call(hosting_interfaces.add_address, interface=interface, address=address)
        inside.call(routing.disable_reverse_path_filter, interface=interface)
        for arguments in routers.neighbour_arguments(interface, segment.far, side.tester_mac):
            inside.call(routing.set_neighbour, **arguments)


def quiet_switches(node: Node, nics: Sequence[str]) -> list[dict[str, JsonValue]]:
    """Silence the bridges that the machine's host has put the NICs into; return which these are."""
    controllers = _controllers(node)
    for bridge in {controllers[nic] for nic in nics} - {""}:
        node.call(routing.quiet_bridge, bridge=bridge)
    return [{"nic": nic, "bridge": controllers[nic]} for nic in nics]


def drawn_names(node: Node) -> dict[str, JsonValue]:
    """Return what stands for names that the provider draws anew: bridges by the NIC in them, and their taps.

    A bridge whose ports are all drawn is left as it is.
    """
    controllers = _controllers(node)
    fixed = {bridge: name for name, bridge in controllers.items() if bridge and not _DRAWN.fullmatch(name)}
    found: dict[str, JsonValue] = {}
    for name, bridge in controllers.items():
        if _DRAWN.fullmatch(name) and (bridge or name) in fixed:
            found[name] = f"({'machine end' if bridge else 'switch'} of {fixed[bridge or name]})"
    return found


def _controllers(node: Node) -> dict[str, str]:
    return {str(one["name"]): str(one["controller"]) for one in node.call(hosting_interfaces.listing)}


def crossed(bed: Bed, sides: tuple[Side, Side], *, hint: str = _GUARDED) -> list[JsonValue]:
    """Send a probe frame from each tester port to the machine and wait for its answer; return the times.

    A security group, or anti-spoofing, that drops test frames is found by this before any trial. Raises
    TestbedError PATH-09.
    """
    found: list[JsonValue] = []
    for side in sides:
        segment = OUTER[side.number]
        try:
            waited = bed.tester.call_within(
                2 * _PROBE_S + 10,  # of ARP, then of the echo
                probe_frame.answered,
                interface=side.tester_interface,
                mac=side.tester_mac,
                source=host(segment.far_ipv4),
                target=host(segment.router_ipv4),
                beyond=host(OUTER[1 - side.number].router_ipv4),
                within_s=_PROBE_S,
            )
        except ToolkitError as error:
            raise TestbedError(
                "PATH-09",
                f"no probe frame passes between {side.tester_interface} and the machine; no traffic was sent",
                expected=f"an answer within {_PROBE_S:g} s",
                found=error.found or error.what,
                hint=hint,
            ) from error
        found.append({"at": f"tester/{side.tester_interface}", **waited})
    return found

"""What a host uses an interface for; node functions. One that is used is not lent to a run (RFC 6815)."""

from __future__ import annotations

import ipaddress
import sys
from collections.abc import Mapping
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import routing

_SYS_NET, _PROC_NET = Path("/sys/class/net"), Path("/proc/net")
_LINK_LOCAL = "fe80:"
_MULTICAST = ipaddress.IPv6Network("ff00::/8")
_ESTABLISHED = "01"  # of /proc/net/tcp6


def uses_of(found: Mapping[str, JsonValue]) -> list[str]:
    """Say what an interface, as `interfaces.listing` tells it, is used for; empty: for nothing.

    A link-local address alone is no use: every interface that is up has one. A session over it is.
    """
    name = str(found["name"])
    addresses = [str(address) for address in found["addresses"]]
    uses = [f"the address {one}" for one in addresses if not one.startswith(_LINK_LOCAL)]
    if found["controller"]:
        uses.append(f"the controller {found['controller']}")
    uses += [f"the interface {one} on it" for one in _above(name) if one != found["controller"]]
    uses += _routes(name, addresses)
    uses += [f"a TCP session at {session}" for session in _sessions(addresses)]
    if functions := _functions(name):
        uses.append(f"{functions} virtual functions of it")
    if name == "lo":
        uses.append("the host's loopback")
    return uses


def _above(name: str) -> list[str]:
    """Interfaces that stand on this one (802.1Q, macvlan, a bond): they lose their frames with it."""
    return sorted(path.name.removeprefix("upper_") for path in (_SYS_NET / name).glob("upper_*"))


def _routes(name: str, addresses: list[str]) -> list[str]:
    """Routes through the interface, without those that come with its addresses."""
    own = {str(ipaddress.ip_interface(address).network) for address in addresses}
    found = []
    for version in (4, 6):
        for route in routing.routes(ipv6=version == 6):
            destination = route["destination"]
            if route["interface"] != name or destination in own:
                continue
            if destination == "default":
                found.append(f"a default route of IPv{version}")
            elif not destination.startswith(_LINK_LOCAL) and not _multicast(destination):
                found.append(f"a route to {destination}")
    return found


def _multicast(destination: str) -> bool:
    network = ipaddress.ip_network(destination, strict=False)
    return isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_MULTICAST)


def _sessions(addresses: list[str]) -> list[str]:
    """Link-local addresses of the interface that have an established TCP session, of SSH for instance."""
    mine = {_as_kernel_tells(address): address for address in addresses if address.startswith(_LINK_LOCAL)}
    if not mine:
        return []
    try:
        lines = (_PROC_NET / "tcp6").read_text().splitlines()[1:]
    except OSError:
        return []
    rows = [line.split() for line in lines]
    ends = {row[1].partition(":")[0] for row in rows if len(row) > 3 and row[3] == _ESTABLISHED}
    return sorted(text for end, text in mine.items() if end in ends)


def _as_kernel_tells(address: str) -> str:
    """Write an IPv6 address as /proc/net/tcp6 does: words of four octets, each in this machine's order."""
    packed = ipaddress.IPv6Interface(address).ip.packed
    return "".join(f"{int.from_bytes(packed[at : at + 4], sys.byteorder):08X}" for at in range(0, 16, 4))


def _functions(name: str) -> int:
    try:
        return int((_SYS_NET / name / "device" / "sriov_numvfs").read_text())
    except (OSError, ValueError):
        return 0

"""Veth pairs between nodes of one machine: the embedded testbed's cables.

Both ends are born in their namespaces, so the machine's own namespace never sees them. Ids: LINK-03 wrong
link description, LINK-04 MTU out of range.
"""

from __future__ import annotations

import hashlib

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.ports import interfaces, sysctl
from bmwg.drivers.ports.interfaces import LINK_HEADER_OCTETS, rtnetlink
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.trial.trial_limits import MAX_FRAME_OCTETS

MAX_MTU_OCTETS = MAX_FRAME_OCTETS - LINK_HEADER_OCTETS
MAX_NAME_OCTETS = 15  # IFNAMSIZ without the final zero


def mac_of(node: str, interface: str) -> str:
    """Compute the interface's MAC: locally administered, the same in every run."""
    digest = hashlib.sha256(f"{node}/{interface}".encode()).digest()
    return ":".join(f"{octet:02x}" for octet in (0x02, *digest[:5]))


def connect(
    a: BedNode, a_interface: str, b: BedNode, b_interface: str, *, mtu_octets: int = 1500
) -> dict[str, JsonValue]:
    """Make one veth pair, both ends up and silent (IPv6 off until an address is added). Returns evidence.

    The pair vanishes when either end is deleted or either node is closed.
    """
    for name in (a_interface, b_interface):
        if not 1 <= len(name.encode()) <= MAX_NAME_OCTETS or "/" in name or name.split() != [name]:
            raise ConfigError(
                "LINK-03",
                f"interface name {name!r}",
                expected=f"1 to {MAX_NAME_OCTETS} octets, no slash, no space",
            )
    if not 68 <= mtu_octets <= MAX_MTU_OCTETS:
        raise ConfigError(
            "LINK-04",
            f"MTU of link {a.name}/{a_interface} - {b.name}/{b_interface}",
            expected=f"68..{MAX_MTU_OCTETS} octets",
            found=str(mtu_octets),
        )
    if a.machine is not b.machine:
        raise ConfigError(
            "LINK-03",
            f"link {a.name}/{a_interface} - {b.name}/{b_interface}",
            expected="two nodes of one machine",
            found="nodes of two",
            hint="machines are joined by a link of kind cable",
        )
    a_mac, b_mac = mac_of(a.name, a_interface), mac_of(b.name, b_interface)
    a.call(
        make_pair,
        interface=a_interface,
        mac=a_mac,
        peer=b_interface,
        peer_mac=b_mac,
        peer_pid=b.pid,
        mtu_octets=mtu_octets,
    )
    for node, name in ((a, a_interface), (b, b_interface)):
        node.call(raise_end, interface=name)
    return {
        "kind": "veth",
        "a": {"node": a.name, "interface": a_interface, "mac": a_mac},
        "b": {"node": b.name, "interface": b_interface, "mac": b_mac},
        "mtu_octets": mtu_octets,
    }


def make_pair(*, interface: str, mac: str, peer: str, peer_mac: str, peer_pid: int, mtu_octets: int) -> None:
    """Node function: make a veth pair, the far end in the network namespace of `peer_pid`, both down."""
    with rtnetlink(f"make veth pair {interface} - {peer}") as kernel:
        kernel.link(
            "add",
            ifname=interface,
            kind="veth",
            address=mac,
            mtu=mtu_octets,
            peer={"ifname": peer, "address": peer_mac, "mtu": mtu_octets, "net_ns_pid": peer_pid},
        )


def raise_end(*, interface: str) -> None:
    """Node function: silence one end and set it up."""
    sysctl.quiet_ipv6(interface=interface)
    disable_ipv6(interface=interface)
    interfaces.up(interface=interface)


def disable_ipv6(*, interface: str) -> None:
    """Node function: no IPv6 on the interface until an IPv6 address is added."""
    sysctl.write(key=f"net/ipv6/conf/{interface}/disable_ipv6", value="1")

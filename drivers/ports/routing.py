"""Node functions for L2 and L3 forwarding: routes, policy rules, neighbours, bridges, VXLAN; by rtnetlink."""

from __future__ import annotations

import errno
import ipaddress
import socket

from pyroute2.netlink.exceptions import NetlinkError

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import sysctl
from bmwg.drivers.ports.interfaces import index, rtnetlink

VXLAN_OVERHEAD_OCTETS = 50  # rfc7348: outer Ethernet 14, IPv4 20, UDP 8, VXLAN 8; 20 more over IPv6
_NUD_PERMANENT = 0x80
_NUD_FIXED = _NUD_PERMANENT | 0x40  # or one that is never asked for (loopback, multicast)


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def add_route(
    *, destination: str, via: str = "", interface: str = "", table: int = 254, on_link: bool = False
) -> None:
    """Node function: route `destination` (prefix, or `default` with `via`) by next hop, interface or both.

    Replaces a route to the same destination in that table. 254 is the main table.
    """
    with rtnetlink(f"route {destination} via {via or interface} in table {table}") as kernel:
        fields: dict[str, object] = {"dst": destination, "table": table}
        if destination == "default":
            fields["family"] = _family(via)
        if via:
            fields["gateway"] = via
        if interface:
            fields["oif"] = index(kernel, interface)
        if on_link:
            fields["flags"] = 4  # RTNH_F_ONLINK
        kernel.route("replace", **fields)


def remove_route(*, destination: str, table: int = 254) -> None:
    """Node function: remove a route; idempotent."""
    with rtnetlink(f"remove route {destination} of table {table}") as kernel:
        try:
            kernel.route("del", dst=destination, table=table)
        except NetlinkError as error:
            if error.code != errno.ESRCH:
                raise


def set_networks(*, ways: list[dict[str, JsonValue]]) -> list[int]:
    """Node function: route many networks by each of `ways`; return how many of each way then stand.

    A way has `networks` (prefixes, each a route of its own), `via`, `interface`, `table` (254 is the main
    one) and `on_link`. What stands is read back from the kernel.
    """
    for way in ways:
        with rtnetlink(f"{len(way['networks'])} routes via {way['via']} in table {way['table']}") as kernel:
            fields: dict[str, object] = {
                "table": way["table"],
                "gateway": way["via"],
                "oif": index(kernel, way["interface"]),
            }
            if way["on_link"]:
                fields["flags"] = 4  # RTNH_F_ONLINK
            for network in way["networks"]:
                kernel.route("replace", dst=network, **fields)
    return [_standing(way) for way in ways]


def _standing(way: dict[str, JsonValue]) -> int:
    found = routes(ipv6=":" in way["via"], table=way["table"])
    via = ipaddress.ip_address(way["via"])  # the kernel writes an IPv6 address in its shortest form
    standing = {
        one["destination"]
        for one in found
        if one["interface"] == way["interface"] and one["via"] and ipaddress.ip_address(one["via"]) == via
    }
    return len(standing & set(way["networks"]))


def clear_networks(*, ways: list[dict[str, JsonValue]]) -> None:
    """Node function: remove the routes of `set_networks`; idempotent."""
    for way in ways:
        with rtnetlink(f"remove {len(way['networks'])} routes of table {way['table']}") as kernel:
            for network in way["networks"]:
                try:
                    kernel.route("del", dst=network, table=way["table"])
                except NetlinkError as error:
                    if error.code != errno.ESRCH:
                        raise


def add_rule(*, incoming: str, table: int, priority: int, ipv6: bool = False) -> None:
    """Node function: what comes in by interface `incoming` is routed by `table`; twice is once."""
    with rtnetlink(f"rule iif {incoming} table {table}") as kernel:
        family = socket.AF_INET6 if ipv6 else socket.AF_INET
        try:
            kernel.rule("add", iifname=incoming, table=table, priority=priority, family=family)
        except NetlinkError as error:
            if error.code != errno.EEXIST:
                raise


def remove_rule(*, incoming: str, table: int, priority: int, ipv6: bool = False) -> None:
    """Node function: remove a rule of `add_rule`; idempotent."""
    with rtnetlink(f"remove rule iif {incoming} table {table}") as kernel:
        family = socket.AF_INET6 if ipv6 else socket.AF_INET
        try:
            kernel.rule("del", iifname=incoming, table=table, priority=priority, family=family)
        except NetlinkError as error:
            if error.code not in (errno.ENOENT, errno.ESRCH):
                raise


def routes(*, ipv6: bool = False, table: int = 254) -> list[dict[str, str]]:
    """Node function: the routes of one table: destination, via, interface."""
    with rtnetlink("list routes") as kernel:
        family = socket.AF_INET6 if ipv6 else socket.AF_INET
        names = {link["index"]: link.get_attr("IFLA_IFNAME") for link in kernel.get_links()}
        return [
            {
                "destination": (
                    f"{route.get_attr('RTA_DST')}/{route['dst_len']}"
                    if route.get_attr("RTA_DST")
                    else "default"
                ),
                "via": route.get_attr("RTA_GATEWAY") or "",
                "interface": names.get(route.get_attr("RTA_OIF"), ""),
            }
            for route in kernel.get_routes(family=family, table=table)
        ]


def set_neighbour(*, interface: str, address: str, mac: str) -> None:
    """Node function: fix the MAC of an address on the interface (permanent; no ARP, no ND)."""
    with rtnetlink(f"neighbour {address} on {interface}") as kernel:
        kernel.neigh(
            "replace",
            family=_family(address),
            ifindex=index(kernel, interface),
            dst=address,
            lladdr=mac,
            state=_NUD_PERMANENT,
        )


def forget_neighbours() -> int:
    """Node function: forget the MACs that the kernel has learnt (not those that are fixed); returns how many.

    Else a new workload with the address of a former one is sent to that one's MAC for a while.
    """
    forgotten = 0
    with rtnetlink("forget neighbours") as kernel:
        for entry in list(kernel.get_neighbours()):
            if entry["state"] & _NUD_FIXED or not entry.get_attr("NDA_DST"):
                continue
            named = {"family": entry["family"], "ifindex": entry["ifindex"], "dst": entry.get_attr("NDA_DST")}
            try:
                kernel.neigh("del", **named)
                forgotten += 1
            except NetlinkError as error:
                if error.code != errno.ENOENT:
                    raise
    return forgotten


def add_bridge(*, bridge: str, mtu_octets: int = 1500) -> None:
    """Node function: make a bridge that never speaks (no STP, no multicast snooping, no IPv6), up."""
    with rtnetlink(f"make bridge {bridge}") as kernel:
        kernel.link(
            "add", ifname=bridge, kind="bridge", br_stp_state=0, br_forward_delay=0, br_mcast_snooping=0
        )
    sysctl.quiet_ipv6(interface=bridge)
    sysctl.write(key=f"net/ipv6/conf/{bridge}/disable_ipv6", value="1")
    with rtnetlink(f"raise bridge {bridge}") as kernel:
        kernel.link("set", index=index(kernel, bridge), mtu=mtu_octets, state="up")


def quiet_bridge(*, bridge: str) -> None:
    """Node function: no STP and no multicast snooping on a bridge that somebody else (a CNI plugin) made."""
    with rtnetlink(f"quiet bridge {bridge}") as kernel:
        kernel.link("set", index=index(kernel, bridge), kind="bridge", br_stp_state=0, br_mcast_snooping=0)
    sysctl.quiet_ipv6(interface=bridge)


def set_controller(*, interface: str, controller: str) -> None:
    """Node function: make the interface a port of `controller` (a bridge); an empty name releases it."""
    with rtnetlink(f"{interface} to {controller or 'none'}") as kernel:
        port = index(kernel, interface)
        kernel.link("set", index=port, master=index(kernel, controller) if controller else 0)


def add_vxlan(
    *, interface: str, vni: int, local: str, remote: str, underlay: str, mtu_octets: int, udp_port: int = 4789
) -> None:
    """Node function: make a point-to-point VXLAN device (rfc7348) over `underlay`, up and silent.

    `mtu_octets` is the inner MTU: at most the underlay's less VXLAN_OVERHEAD_OCTETS (20 more for IPv6).
    """
    with rtnetlink(f"make VXLAN device {interface}") as kernel:
        group, source = ("vxlan_group6", "vxlan_local6") if ":" in remote else ("vxlan_group", "vxlan_local")
        kernel.link(
            "add",
            ifname=interface,
            kind="vxlan",
            vxlan_id=vni,
            vxlan_link=index(kernel, underlay),
            vxlan_port=udp_port,
            vxlan_learning=True,
            mtu=mtu_octets,
            **{group: remote, source: local},
        )
    sysctl.quiet_ipv6(interface=interface)
    sysctl.write(key=f"net/ipv6/conf/{interface}/disable_ipv6", value="1")
    with rtnetlink(f"raise {interface}") as kernel:
        kernel.link("set", index=index(kernel, interface), state="up")


def set_forwarding(*, enabled: bool) -> dict[str, str]:
    """Node function: IPv4 and IPv6 forwarding on or off, reverse path filter off; returns previous values."""
    value = "1" if enabled else "0"
    settings = {
        "net.ipv4.ip_forward": value,
        "net.ipv4.conf.all.rp_filter": "0",
        "net.ipv4.conf.default.rp_filter": "0",
        "net.ipv4.conf.all.send_redirects": "0",
        "net.ipv4.conf.default.send_redirects": "0",
        "net.ipv6.conf.all.forwarding": value,
    }
    return sysctl.write_many(settings=settings)


def disable_reverse_path_filter(*, interface: str) -> None:
    """Node function: accept on the interface any source address (the larger of `all` and own counts)."""
    sysctl.write(key=f"net/ipv4/conf/{interface}/rp_filter", value="0")

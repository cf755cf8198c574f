"""What the kernel of a network namespace really has, read by netlink: evidence for the platform record."""

from __future__ import annotations

import ipaddress
from typing import Any

from pyroute2 import IPRoute, NetNS

from bmwg.methodology.errors import TestbedError

_FAMILIES = (2, 10)  # AF_INET, AF_INET6
_TABLE_LOCAL = 255
_DETAILS = {
    "IFLA_MACVLAN_MODE": "macvlan_mode",
    "IFLA_IPVLAN_MODE": "ipvlan_mode",
    "IFLA_VLAN_ID": "vlan_id",
    "IFLA_VXLAN_ID": "vxlan_id",
    "IFLA_VXLAN_PORT": "vxlan_udp_port",
    "IFLA_VXLAN_GROUP": "vxlan_remote",
    "IFLA_VXLAN_LOCAL": "vxlan_local",
    "IFLA_VXLAN_LEARNING": "vxlan_learning",
    "IFLA_BR_STP_STATE": "stp",
    "IFLA_BR_MCAST_SNOOPING": "multicast_snooping",
    "IFLA_BR_VLAN_FILTERING": "vlan_filtering",
}


def observe(*, netns: str | None = None) -> dict[str, Any]:
    """Return interfaces, addresses, routes and policy rules of `netns` (a path), or of the caller's own.

    Octet counts of `mtu_octets` are without the Ethernet header. The tables `local` and the kernel's own
    entries for multicast are left out.
    """
    handle = NetNS(netns, flags=0) if netns else IPRoute()
    with handle:
        links = list(handle.get_links())
        names = {link["index"]: link.get("ifname") for link in links}
        ports: dict[str, list[str]] = {}
        interfaces = []
        for link in links:
            entry = _interface(link, names)
            if entry["master"]:
                ports.setdefault(entry["master"], []).append(entry["name"])
            entry["addresses"] = _addresses(handle, link["index"])
            interfaces.append(entry)
        for entry in interfaces:
            if entry["kind"] == "bridge":
                entry["ports"] = sorted(ports.get(entry["name"], []))
        routes = [_route(route, names) for family in _FAMILIES for route in handle.get_routes(family=family)]
        rules = [_rule(rule) for family in _FAMILIES for rule in handle.get_rules(family=family)]
    return {
        "interfaces": interfaces,
        "routes": [route for route in routes if route is not None],
        "rules": [rule for rule in rules if rule is not None],
    }


def attachment_view(*, netns: str, interface: str) -> dict[str, Any]:
    """Return an interface inside `netns` and, when it is half of a pair, its other half in the caller's.

    `node_interfaces` names what the caller's namespace has now.
    `host_side` is None where the other half is elsewhere or there is none (macvlan, a NIC).
    Raises TestbedError CNI-16 when the plugins said that they made the interface and it is not there.
    """
    with NetNS(netns, flags=0) as pod:
        found = [link for link in pod.get_links() if link.get("ifname") == interface]
        if not found:
            raise TestbedError(
                "CNI-16",
                f"interface {interface} in {netns} is not there after ADD",
                expected=interface,
                found=", ".join(str(link.get("ifname")) for link in pod.get_links()),
                hint="the plugin's result does not tell what it did",
            )
        link = found[0]
        inside = _interface(link, {})
        inside["addresses"] = _addresses(pod, link["index"])
    host_side = None
    with IPRoute() as node:
        links = list(node.get_links())
        names = {item["index"]: item.get("ifname") for item in links}
        for item in links:
            pair = inside["kind"] == "veth" and link.get("IFLA_LINK") == item["index"]
            if pair and item.get("IFLA_LINK") == link["index"]:
                host_side = _interface(item, names)
                host_side["addresses"] = _addresses(node, item["index"])
    return {"inside": inside, "host_side": host_side, "node_interfaces": sorted(names.values())}


def has_interface(*, netns: str, interface: str) -> bool:
    """Return whether `netns` is there and has an interface of that name."""
    if not netns:
        return False
    with NetNS(netns, flags=0) as pod:
        return any(link.get("ifname") == interface for link in pod.get_links())


def _addresses(handle: Any, index: int) -> list[str]:
    return [
        f"{address.get('IFA_LOCAL') or address.get('IFA_ADDRESS')}/{address['prefixlen']}"
        for address in handle.get_addr(index=index)
    ]


def _interface(link: Any, names: dict[int, str]) -> dict[str, Any]:
    info = link.get("IFLA_LINKINFO")
    kind = info.get("IFLA_INFO_KIND") if info else None
    master = link.get("IFLA_MASTER")
    lower = link.get("IFLA_LINK")
    peer_elsewhere = link.get("IFLA_LINK_NETNSID") is not None
    entry: dict[str, Any] = {
        "name": link.get("ifname"),
        "kind": kind or ("loopback" if link.get("ifname") == "lo" else "device"),
        "mac": link.get("IFLA_ADDRESS"),
        "mtu_octets": link.get("IFLA_MTU"),
        "state": link.get("IFLA_OPERSTATE"),
        "master": names.get(master) if master else None,
        "lower": "in another namespace" if peer_elsewhere else names.get(lower) if lower else None,
        "transmit_queues": link.get("IFLA_NUM_TX_QUEUES"),
        "receive_queues": link.get("IFLA_NUM_RX_QUEUES"),
    }
    data = info.get("IFLA_INFO_DATA") if info else None
    if data is not None and hasattr(data, "get"):
        for attribute, name in _DETAILS.items():
            value = data.get(attribute)
            if value is not None:
                entry[name] = value
    return entry


def _route(route: Any, names: dict[int, str]) -> dict[str, Any] | None:
    table = route.get("RTA_TABLE") or route["table"]
    destination = route.get("RTA_DST")
    family_any = "0.0.0.0" if route["family"] == 2 else "::"
    if table == _TABLE_LOCAL or (destination and ipaddress.ip_address(destination).is_multicast):
        return None
    return {
        "destination": f"{destination or family_any}/{route['dst_len']}",
        "via": route.get("RTA_GATEWAY"),
        "interface": names.get(route.get("RTA_OIF")),
        "table": table,
    }


def _rule(rule: Any) -> dict[str, Any] | None:
    incoming = rule.get("FRA_IIFNAME")
    if incoming is None:
        return None
    return {
        "incoming_interface": incoming,
        "table": rule.get("FRA_TABLE") or rule["table"],
        "priority": rule.get("FRA_PRIORITY"),
        "ip_version": 4 if rule["family"] == 2 else 6,
    }

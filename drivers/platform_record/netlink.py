"""Netlink and ethtool dumps in builtins, stripped of counters and of what changes by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bmwg.drivers.platform_record import bpf
from bmwg.drivers.platform_record.values import JsonValue, Unread

_XDP_MODES = {  # the keys are pyroute2's words
    None: "none",
    "xdp": "native",
    "xdpgeneric": "generic",
    "xdpoffload": "offload",
    "xdpmulti": "several",
}
_IFF_UP = 0x1
_ROUTE_SCOPES = {0: "universe", 200: "site", 253: "link", 254: "host", 255: "nowhere"}


def dump(what: str, name: str = "") -> JsonValue:
    """One dump: `links`, `routes`, `rules`, `qdiscs`, `filters`, `tables`, or `ethtool` of an interface."""
    if what == "ethtool":
        return _ethtool(name)
    if what == "tables":
        return _tables()
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        return _DUMPS[what](netlink)


def _links(netlink: Any) -> list[dict[str, Any]]:
    return [_link(message) for message in netlink.get_links()]


def _link(message: Any) -> dict[str, Any]:
    info = message.get_attr("IFLA_LINKINFO")
    data = info.get_attr("IFLA_INFO_DATA") if info else None
    xdp = message.get_attr("IFLA_XDP")
    program = xdp.get_attr("IFLA_XDP_PROG_ID") if xdp else None
    return {
        "name": message.get_attr("IFLA_IFNAME"),
        "index": message["index"],
        "kind": info.get_attr("IFLA_INFO_KIND") if info else None,
        "settings": _builtins(data),
        "port_settings": _builtins(info.get_attr("IFLA_INFO_SLAVE_DATA") if info else None),
        "mac": message.get_attr("IFLA_ADDRESS"),
        "mtu": message.get_attr("IFLA_MTU"),
        "up": bool(message["flags"] & _IFF_UP),
        "promiscuous": bool(message.get_attr("IFLA_PROMISCUITY")),  # the flag tells of `ip link` alone
        "master": message.get_attr("IFLA_MASTER"),
        "lower": message.get_attr("IFLA_LINK"),
        "lower_netns": message.get_attr("IFLA_LINK_NETNSID"),
        "qdisc": message.get_attr("IFLA_QDISC"),
        "txqlen": message.get_attr("IFLA_TXQLEN"),
        "tx_queues": message.get_attr("IFLA_NUM_TX_QUEUES"),
        "rx_queues": message.get_attr("IFLA_NUM_RX_QUEUES"),
        "gso_max_size": message.get_attr("IFLA_GSO_MAX_SIZE"),
        "gro_max_size": message.get_attr("IFLA_GRO_MAX_SIZE"),
        "vfs": len(_vfs(message)),
        "spoof_check": [bool(check) for check in _vfs(message)],
        "xdp": {
            "mode": _XDP_MODES[xdp.get_attr("IFLA_XDP_ATTACHED") if xdp else None],
            "program": program,
            "tag": bpf.tag(program) if program else None,
        },
    }


def _vfs(message: Any) -> list[int]:
    """The spoof check setting of each virtual function that the interface lists."""
    listed = message.get_attr("IFLA_VFINFO_LIST")
    if not listed:
        return []
    checks = []
    for entry in listed.get_attrs("IFLA_VF_INFO"):
        spoof = entry.get_attr("IFLA_VF_SPOOFCHK")
        checks.append(int(spoof["setting"]) if spoof else 0)
    return checks


_PASSING = ("timer", "unknown", "pending", "topology_change", "hosts_cnt", "_n_", "root_path")
_PASSING_ENDS = ("_age", "_id", "_cost", "_port", "port_state", "port_no")
_KEPT = ("vxlan_id", "vxlan_port", "vlan_id")


def _builtins(data: Any) -> dict[str, Any]:
    """The plain settings of a link kind or port; timers, state and tables are left out."""
    settings: dict[str, Any] = {}
    for key, value in (data or {"attrs": ()})["attrs"]:
        short = key.removeprefix("IFLA_").lower()
        passing = any(word in short for word in _PASSING) or short.endswith(_PASSING_ENDS)
        if isinstance(value, (int, str, bool)) and (not passing or short in _KEPT):
            settings[short] = value
    return settings


def _routes(netlink: Any) -> list[dict[str, Any]]:
    """Unicast routes of all tables but the kernel's own local one."""
    names = {link["index"]: link["name"] for link in _links(netlink)}
    rows = []
    for family in (2, 10):
        for route in netlink.get_routes(family=family):
            table = route.get_attr("RTA_TABLE") or route["table"]
            if route["type"] != 1 or table == 255:
                continue
            target = route.get_attr("RTA_DST")
            rows.append(
                {
                    "family": 4 if family == 2 else 6,
                    "destination": f"{target}/{route['dst_len']}" if target else "default",
                    "via": route.get_attr("RTA_GATEWAY"),
                    "interface": names.get(route.get_attr("RTA_OIF")),
                    "table": table,
                    "metric": route.get_attr("RTA_PRIORITY"),
                    "scope": _ROUTE_SCOPES.get(route["scope"], str(route["scope"])),
                }
            )
    return sorted(rows, key=lambda row: tuple(str(row[key]) for key in sorted(row)))


def _qdiscs(netlink: Any) -> list[dict[str, Any]]:
    names = {link["index"]: link["name"] for link in _links(netlink)}
    rows = [
        {
            "interface": names.get(qdisc["index"]),
            "kind": qdisc.get_attr("TCA_KIND"),
            "handle": qdisc["handle"] >> 16,
            "parent": qdisc["parent"],
        }
        for qdisc in netlink.get_qdiscs()
    ]
    return sorted(rows, key=lambda row: tuple(str(row[key]) for key in sorted(row)))


def _filters(netlink: Any) -> list[dict[str, Any]]:
    """tc filters on every interface's ingress, egress and root, with the BPF program where there is one."""
    rows = []
    for link in _links(netlink):
        for where, parent in (("ingress", 0xFFFFFFF2), ("egress", 0xFFFFFFF3), ("root", 0)):
            for entry in netlink.get_filters(index=link["index"], parent=parent):
                options = entry.get_attr("TCA_OPTIONS")
                is_bpf = entry.get_attr("TCA_KIND") == "bpf" and options is not None
                rows.append(
                    {
                        "interface": link["name"],
                        "hook": where,
                        "kind": entry.get_attr("TCA_KIND"),
                        "preference": entry["info"] >> 16,
                        "bpf_program": options.get_attr("TCA_BPF_ID") if is_bpf else None,
                        "bpf_tag": bpf.tag(options.get_attr("TCA_BPF_ID")) if is_bpf else None,
                        "bpf_name": options.get_attr("TCA_BPF_NAME") if is_bpf else None,
                    }
                )
    return sorted(rows, key=lambda row: tuple(str(row[key]) for key in sorted(row)))


_DUMPS: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "links": _links,
    "routes": _routes,
    "qdiscs": _qdiscs,
    "filters": _filters,
}


def _tables() -> list[dict[str, str]]:
    """Tables of nftables by family and name; none where the kernel has no nftables."""
    from pyroute2.netlink.exceptions import NetlinkError

    from bmwg.drivers.function.tables import listed

    try:
        return listed()
    except (NetlinkError, OSError):
        return []


def _ethtool(name: str) -> dict[str, Any]:
    """Rings, channels, coalescing and offloads of one interface; an entry is a sentence where it cannot be
    had.
    """
    from pyroute2.ethtool.ioctl import IoctlEthtool

    device = IoctlEthtool(name)
    try:
        return {
            "rings": _asked(lambda: _numbers(device.get_rings())),
            "channels": _asked(lambda: _numbers(device.get_channels())),
            "coalescing": _asked(lambda: _numbers(device.get_coalesce())),
            "offloads": _asked(lambda: _features(device.get_features())),
        }
    finally:
        device.close()


def _asked(answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"value": answer()}
    except Exception as error:  # the library wraps the system's refusal in classes of its own
        known = {"NotSupportedError": "the driver does not support it"}
        return {"refused": known.get(type(error).__name__, f"{type(error).__name__} {error}".strip())}


def _numbers(structure: Any) -> dict[str, int]:
    return {key: int(value) for key, value in structure.items() if key != "cmd"}


def _features(features: Any) -> dict[str, str]:
    """`on` or `off` by name; ` (fixed)` where it cannot be changed."""
    answer = {}
    for feature in features:
        name = feature if isinstance(feature, str) else feature[0]
        if not name:
            continue
        fixed = features.is_never_changed(name) or not features.is_available(name)
        answer[name] = ("on" if features.is_active(name) else "off") + (" (fixed)" if fixed else "")
    if not answer:
        raise Unread("the driver names no feature")
    return answer

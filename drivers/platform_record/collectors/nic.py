"""Network interfaces: what they are and every setting that changes how they carry frames."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from bmwg.drivers.platform_record.collectors import nic_neighbours, nic_steering
from bmwg.drivers.platform_record.values import (
    Group,
    NotApplicable,
    Unread,
    entries,
    integer,
    key_values,
    line,
    number_list,
    text_or_none,
)

_NET = "/sys/class/net"
_SOFTWARE = "a software interface ({}) has no such hardware"


def nic(group: Group) -> None:
    """All interfaces of the network namespace but the loopback."""
    try:
        links = group.source.netlink("links")
        names = [(str(link["name"]), link) for link in links]
    except Exception as error:  # the interface list itself is a question that may fail
        reason = f"{type(error).__name__}: {error}"

        def fail() -> Any:
            raise Unread(reason)

        group.take("interfaces", "netlink", "RTM_GETLINK", fail)
        return
    group.take(
        "interfaces", "netlink", "RTM_GETLINK", lambda: sorted(name for name, _ in names if name != "lo")
    )
    by_index = {link["index"]: name for name, link in names if "index" in link}
    masters = {link["master"] for _, link in names}
    for name, link in sorted(names, key=lambda pair: pair[0]):
        if name != "lo":
            bare = link.get("kind") == "bridge" and link.get("index") not in masters
            _interface(group.sub(name), name, link, by_index, bare=bare)


def _interface(group: Group, name: str, link: dict[str, Any], names: dict[int, str], *, bare: bool) -> None:
    """`bare`: it is a bridge without ports."""
    path = f"{_NET}/{name}"
    device = _device(group, path)
    kind = str(link.get("kind") or ("device" if device else "other"))

    def netlink(field: str, answer: Any) -> None:
        group.take(field, "netlink", f"RTM_GETLINK {name}", answer)

    netlink("kind", lambda: kind)
    netlink("mac", lambda: _mac(link, bare=bare))
    netlink("mtu_octets", lambda: int(link["mtu"]))
    netlink("up", lambda: bool(link["up"]))
    netlink("promiscuous", lambda: bool(link["promiscuous"]))
    netlink(
        "master", lambda: names[link["master"]] if link["master"] else _none("the interface has no master")
    )
    netlink("settings", lambda: link["settings"] or _none(f"kind {kind} has no settings of its own"))
    netlink(
        "port_settings",
        lambda: link.get("port_settings") or _none("the interface is a port of no bridge or bond"),
    )
    netlink("qdisc", lambda: link["qdisc"] or _none("no queueing discipline"))
    netlink(
        "queues",
        lambda: {
            "tx": int(link["tx_queues"]),
            "rx": int(link["rx_queues"]),
            "tx_length_frames": int(link["txqlen"] or 0),
        },
    )
    netlink("segmentation", lambda: {key: int(link[key] or 0) for key in ("gso_max_size", "gro_max_size")})
    netlink("xdp", lambda: {**dict.fromkeys(("mode", "program", "tag")), **link["xdp"]})
    group.take("steering", "file", f"{path}/queues", lambda: _steering(group, path))
    group.take("deferral", "file", path, lambda: _deferral(group, path))
    _ethtool(group, name)
    nic_neighbours.take(group, name)
    _hardware(group, name, path, device, kind, link)


def _mac(link: Mapping[str, Any], *, bare: bool) -> str:
    if bare:  # drawn when it was made, zero when the last port is gone
        _none("a bridge without ports takes the MAC address of its next one")
    return str(link["mac"] or _none("the interface has no MAC address"))


def _none(why: str) -> Any:
    raise NotApplicable(why)


def _device(group: Group, path: str) -> str | None:
    try:
        return group.source.read_link(f"{path}/device").rsplit("/", 1)[-1]
    except OSError:
        return None


def _steering(group: Group, path: str) -> dict[str, str]:
    """Receive and transmit packet steering masks of queues that have one other than zero."""
    found = {}
    for queue in group.source.list_dir(f"{path}/queues"):
        mask = "rps_cpus" if queue.startswith("rx") else "xps_cpus"
        text = text_or_none(group.source, f"{path}/queues/{queue}/{mask}")
        if text and text.strip("0,"):
            found[f"{queue} {mask}"] = text
    return found


def _deferral(group: Group, path: str) -> dict[str, int]:
    """Threaded polling and interrupt deferral, which busy polling of AF_XDP builds on."""
    answer = {
        "threaded": text_or_none(group.source, f"{path}/threaded"),
        "gro_flush_timeout_ns": text_or_none(group.source, f"{path}/gro_flush_timeout"),
        "napi_defer_hard_irqs": text_or_none(group.source, f"{path}/napi_defer_hard_irqs"),
    }
    found = {key: integer(text) for key, text in answer.items() if text}
    if not found:
        raise Unread(f"{path} shows none of {', '.join(answer)}")
    return found


def _ethtool(group: Group, name: str) -> None:
    def part(key: str) -> Any:
        answer = group.source.netlink("ethtool", name)[key]
        if "refused" in answer:
            raise (
                NotApplicable(str(answer["refused"]))
                if "support" in answer["refused"]
                else Unread(answer["refused"])
            )
        value = answer["value"]
        if not isinstance(value, dict) or not all(isinstance(entry, int | str) for entry in value.values()):
            raise ValueError(f"{key} is {value!r}"[:120])
        return dict(sorted(value.items()))

    for key in ("rings", "channels", "coalescing", "offloads"):
        group.take(key, "command", f"SIOCETHTOOL {name} {key}", lambda key=key: part(key))  # type: ignore[misc]


def _hardware(
    group: Group, name: str, path: str, device: str | None, kind: str, link: dict[str, Any]
) -> None:
    fields = (
        "driver", "driver_version", "firmware", "bus_address", "identity", "numa_node", "sriov",
        "irq_affinity",
        "speed_mbps", "duplex", "pause", "spoof_check",
        "rss", "rss_fields", "flow_rules", "transceiver",
    )  # fmt: skip
    if device is None:
        for field in fields:
            group.not_applicable(field, _SOFTWARE.format(kind), f"{path}/device")
        return
    about = f"ethtool -i {name}"

    def told(key: str) -> Any:
        text = key_values(group.source.run(["ethtool", "-i", name])).get(key, "")
        if text in ("", "N/A"):
            raise NotApplicable(f"the driver tells no {key}")
        return text

    group.take("driver", "file", f"{path}/device/driver", lambda: _linked(group, f"{path}/device/driver"))
    group.take("driver_version", "command", about, lambda: told("version"))
    group.take("firmware", "command", about, lambda: told("firmware-version"))
    group.take("bus_address", "command", about, lambda: told("bus-info"))
    group.take("identity", "file", f"{path}/device", lambda: _identity(group, f"{path}/device"))
    group.file("numa_node", f"{path}/device/numa_node", _node, absent="the device's bus tells no NUMA node")
    group.take("sriov", "file", f"{path}/device/sriov_*", lambda: _sriov(group, path))
    group.take(
        "irq_affinity", "file", "/proc/interrupts, /proc/irq", lambda: _interrupts(group, name, path, device)
    )
    group.file("speed_mbps", f"{path}/speed", _speed)
    group.file("duplex", f"{path}/duplex", _duplex)
    group.take("pause", "command", f"ethtool --json -a {name}", lambda: _pause(group, name))
    nic_steering.take(group, name)
    group.take(
        "spoof_check",
        "netlink",
        f"RTM_GETLINK {name}",
        lambda: list(link["spoof_check"]) if link.get("vfs") else _none("no virtual function is configured"),
    )


def _linked(group: Group, path: str) -> str:
    try:
        return group.source.read_link(path).rsplit("/", 1)[-1]
    except FileNotFoundError:
        raise NotApplicable("no driver is bound") from None


def _identity(group: Group, path: str) -> dict[str, str]:
    return {key: line(group.source.read_file(f"{path}/{key}")) for key in ("vendor", "device")}


def _node(text: str) -> int:
    if (number := integer(text)) < 0:
        raise NotApplicable("the firmware assigns the device to no NUMA node")
    return number


def _sriov(group: Group, path: str) -> dict[str, int]:
    total = text_or_none(group.source, f"{path}/device/sriov_totalvfs")
    if total is None:
        raise NotApplicable("the device has no virtual functions")
    return {"total": int(total), "configured": integer(group.source.read_file(f"{path}/device/sriov_numvfs"))}


def _interrupts(group: Group, name: str, path: str, device: str) -> dict[str, Any]:
    """Interrupt name to the CPUs that may take it.

    A NIC that makes virtual functions gives its interrupts back and has others after, by the same names. So a
    number stands only where two have one name.
    """
    own = set(entries(group.source, f"{path}/device/msi_irqs"))
    found: dict[str, Any] = {}
    for row in group.source.read_file("/proc/interrupts").splitlines()[1:]:
        match = re.match(r"\s*(\d+):\s+(?:\d+\s+)+(.*)", row)
        if not match:
            continue
        words = match[2].split()
        said = words[-1] if words else ""
        if match[1] in own or any(
            re.match(rf"{re.escape(known)}([-.:@]|$)", said) for known in (name, device)
        ):
            cpus = group.source.read_file(f"/proc/irq/{match[1]}/smp_affinity_list")
            found[f"{match[1]} {said}" if said in found else said] = number_list(cpus)
    if not found:
        raise Unread("no interrupt carries the device's name")
    return found


def _speed(text: str) -> int:
    if (speed := integer(text)) <= 0:
        raise NotApplicable("the driver tells no speed (link down, or a paravirtual device)")
    return speed


def _duplex(text: str) -> str:
    if (said := line(text)) == "unknown":
        raise NotApplicable("the driver tells no duplex mode")
    return said


def _pause(group: Group, name: str) -> Any:
    import json

    try:
        answer = json.loads(group.source.run(["ethtool", "--json", "-a", name]))[0]
    except (IndexError, Unread) as error:
        if isinstance(error, IndexError) or "not supported" in str(error).lower():
            raise NotApplicable("the driver has no pause frames") from error
        raise
    return {key: answer[key] for key in ("autonegotiate", "rx", "tx")}

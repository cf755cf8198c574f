"""Node functions: packets of each version of IP that a network namespace sent and received, by its kernel."""

from __future__ import annotations

from pathlib import Path

IPV4, IPV6 = "ipv4", "ipv6"
_ROOT = Path("/proc/self/net")
_TO_MANY = ("InMcastPkts", "OutMcastPkts", "InBcastPkts", "OutBcastPkts")


def counts() -> dict[str, int]:
    """Node function: packets since the namespace stands, sent and received together, those of loopback too.

    Packets to many (multicast, broadcast) are left out: interfaces send some when they come up. Of IPv4 those
    are counted that were delivered here: one to a group that is not joined (an IGMP report, say) is received
    and in no count of multicast. Raises LookupError, ValueError where the kernel tells them in another form.
    """
    four = _pairs("snmp", "Ip:") | _pairs("netstat", "IpExt:")
    found = {IPV4: _to_one(four, "InDelivers"), IPV6: 0}
    if (file := _ROOT / "snmp6").exists():  # a kernel without IPv6 has none
        six = dict(line.split() for line in file.read_text().splitlines())
        told = {name.removeprefix("Ip6"): int(count) for name, count in six.items() if name.startswith("Ip6")}
        found[IPV6] = _to_one({**dict.fromkeys(_TO_MANY, 0), **told}, "InReceives")
    return found


def _to_one(told: dict[str, int], received: str) -> int:
    return told[received] + told["OutRequests"] - sum(told[name] for name in _TO_MANY)


def _pairs(file: str, begins: str) -> dict[str, int]:
    names, counts = (
        line.split()[1:] for line in (_ROOT / file).read_text().splitlines() if line.startswith(begins)
    )
    return dict(zip(names, map(int, counts), strict=True))

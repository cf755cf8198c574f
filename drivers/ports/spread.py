"""Routes by which a node spreads flows over several next hops: node functions, IPv4."""

from __future__ import annotations

import socket

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.ports import sysctl
from bmwg.drivers.ports.interfaces import index, rtnetlink

BY_PORTS = {
    "net.ipv4.fib_multipath_hash_policy": "1"
}  # addresses, protocol and ports of a flow choose its way


def by_ports() -> dict[str, str]:
    """Node function: have ports choose a flow's way as well; returns the previous settings."""
    return sysctl.write_many(settings=BY_PORTS)


def spread(*, destination: str, via: list[str], interface: str) -> None:
    """Node function: route a prefix by these next hops, in place of those that it had."""
    with rtnetlink(f"route {destination} via {', '.join(via)}") as kernel:
        out = index(kernel, interface)
        hops = [{"gateway": one, "oif": out, "hops": 0} for one in via]
        kernel.route("replace", dst=destination, **({"multipath": hops} if len(hops) > 1 else hops[0]))


def spread_over(*, destination: str) -> list[str]:
    """Node function: the next hops of a prefix, as the kernel has them; none without a route."""
    with rtnetlink(f"routes to {destination}") as kernel:
        found: list[str] = []
        for route in kernel.route("dump", family=socket.AF_INET, table=254):
            if f"{route.get_attr('RTA_DST')}/{route['dst_len']}" != destination:
                continue
            hops: list[JsonValue] = route.get_attr("RTA_MULTIPATH") or [route]
            found += [gateway for hop in hops if (gateway := hop.get_attr("RTA_GATEWAY"))]
    return sorted(found)

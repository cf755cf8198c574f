"""The addresses of the benchmark ranges that paths use; data only.

IPv4 from 198.18.0.0/15 (RFC 2544 appendix C.2.2), IPv6 from 2001:2::/48 (RFC 5180 section 8).
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One subnet of both IP versions, with a router end and a far end, in prefix notation."""

    router_ipv4: str
    far_ipv4: str
    router_ipv6: str
    far_ipv6: str

    @property
    def router(self) -> tuple[str, str]:
        """Both addresses of the router's end."""
        return self.router_ipv4, self.router_ipv6

    @property
    def far(self) -> tuple[str, str]:
        """Both addresses of the far end."""
        return self.far_ipv4, self.far_ipv6

    @property
    def subnets(self) -> tuple[str, str]:
        """Both prefixes."""
        return str(ipaddress.ip_interface(self.far_ipv4).network), str(
            ipaddress.ip_interface(self.far_ipv6).network
        )


def host(address: str) -> str:
    """Return an address without its prefix length."""
    return address.partition("/")[0]


def consecutive(first: str, count: int) -> tuple[str, ...]:
    """Return so many networks of one size, one after the other, in prefix notation."""
    network = ipaddress.ip_network(first)
    start, size = int(network.network_address), network.num_addresses
    address = ipaddress.IPv4Address if network.version == 4 else ipaddress.IPv6Address
    return tuple(f"{address(start + size * number)}/{network.prefixlen}" for number in range(count))


def _segment(ipv4: str, ipv6: str) -> Segment:
    return Segment(
        router_ipv4=f"{ipv4}.1/24",
        far_ipv4=f"{ipv4}.2/24",
        router_ipv6=f"{ipv6}::1/64",
        far_ipv6=f"{ipv6}::2/64",
    )


# Between each tester port (the far end) and the first router.
OUTER = (_segment("198.18.0", "2001:2:0:0"), _segment("198.19.0", "2001:2:0:1"))
# Between the node (the router) and a pod's interface (the far end), where the node routes.
INNER = (_segment("198.18.128", "2001:2:0:8000"), _segment("198.19.128", "2001:2:0:8001"))
_FIRST_BESIDE = 16  # last octet of the first router's, if it were beside another
# Within a chain; 198.18.64 on is of HTTP clients (TRex) and of the routes that a modifier announces.
_FIRST_TRANSIT, _TRANSITS = 64, 64
# Between two nodes, under a tunnel.
UNDERLAY = _segment("198.18.192", "2001:2:0:c000")
# Of pods' interfaces for management, on a bridge of their own without any NIC.
_MANAGEMENT = ("198.18.160", "2001:2:0:a000:")
# Behind each tester port: the first of 256 consecutive networks (RFC 2544 12), each with 16 IPv4 addresses.
BEHIND = (("198.18.240.0/28", "2001:2:0:f000::/64"), ("198.19.240.0/28", "2001:2:0:f100::/64"))


def of_router(side: int, at: int) -> str:
    """Return the address of the router of that number on a tester port's segment, in prefix notation.

    The first has the router's own, those beside it have further ones.
    """
    router = OUTER[side].router_ipv4
    network, _, length = router.partition("/")
    return f"{network.rpartition('.')[0]}.{_FIRST_BESIDE + at}/{length}" if at else router


def management(number: int) -> tuple[str, str]:
    """Return the addresses of the management interface of a node's pod of that number, 0 to 199."""
    ipv4, ipv6 = _MANAGEMENT
    return f"{ipv4}.{number + 10}/24", f"{ipv6}:{number + 10:x}/64"


def transit(number: int) -> Segment:
    """Return the subnet of one segment within a chain, 0 to 63."""
    if not 0 <= number < _TRANSITS:
        raise ValueError(f"segment of a chain: expected 0..{_TRANSITS - 1}, found {number}")
    return _segment(f"198.19.{_FIRST_TRANSIT + number}", f"2001:2:0:{0x4000 + number:x}")


_MOST_ENDPOINTS = 64


def endpoint(number: int) -> tuple[str, str]:
    """Return both addresses of a pod on one L2 segment with others, 0 to 63."""
    if not 0 <= number < _MOST_ENDPOINTS:
        raise ValueError(f"pod on a segment: expected 0..{_MOST_ENDPOINTS - 1}, found {number}")
    return f"198.18.0.{2 + number}/24", f"2001:2:0:0::{2 + number:x}/64"


# Of two pods on one L2 segment.
ENDPOINTS = (endpoint(0), endpoint(1))

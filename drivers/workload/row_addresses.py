"""The addresses of a row, of the versions of IP that its sides speak; data only.

Each side has addresses of one version alone, so nothing there can cross by the other one.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from bmwg.methodology.kinds.requests import ip


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """The network on one side of the proxies' machine: address of the end node, and of that machine."""

    network: str
    end: str
    proxy: str

    @property
    def prefix_length(self) -> int:
        """Of both addresses."""
        return ipaddress.ip_network(self.network).prefixlen

    @property
    def version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_network(self.network).version


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAddresses:
    """Both sides of a row, and the name of what they speak (`methodology.kinds.requests.ip`)."""

    ip: str
    clients: Side
    servers: Side

    def told(self) -> dict[str, str]:
        """As evidence."""
        return {
            "versions": ip.words(self.ip),
            "client": self.clients.end,
            "proxy_to_clients": self.clients.proxy,
            "proxy_to_server": self.servers.proxy,
            "server": self.servers.end,
        }


CLIENTS_SIDE = {  # rfc2544-C.2.2, rfc5180-8: the ranges for benchmarks
    4: Side(network="198.18.1.0/24", end="198.18.1.2", proxy="198.18.1.1"),
    6: Side(network="2001:2:0:1001::/64", end="2001:2:0:1001::2", proxy="2001:2:0:1001::1"),
}
SERVERS_SIDE = {
    4: Side(network="198.18.2.0/24", end="198.18.2.2", proxy="198.18.2.1"),
    6: Side(network="2001:2:0:1002::/64", end="2001:2:0:1002::2", proxy="2001:2:0:1002::1"),
}


def of(name: str) -> RowAddresses:
    """Return the addresses of a row whose sides speak what this name says."""
    clients, servers = ip.versions(name)
    return RowAddresses(ip=name, clients=CLIENTS_SIDE[clients], servers=SERVERS_SIDE[servers])

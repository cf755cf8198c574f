"""What HTTP clients of TRex are to do, and what of it is refused before anything is sent.

Ids: TREX-19 a load that cannot be offered.
"""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass

from bmwg.drivers.api import JsonValue
from bmwg.methodology.errors import ConfigError

BENCHMARK_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")  # rfc2544-C.2.2
MOST_PER_CLIENT = 60_000  # source ports of one address


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLoad:
    """Connections at a constant rate, each with so many requests, one after the other.

    `request` is sent as it is. `response_octets` are those of an answer, head and body. `response_head` is
    what TRex's own servers begin with; where a real server answers it is never sent. `clients` and `servers`
    are first and last address. An answer whose last octet comes `late_s` after its request is late.
    """

    request: bytes
    response_octets: int
    response_head: bytes
    port: int
    connections: int
    connections_per_s: float
    requests_per_connection: int
    late_s: float
    clients: tuple[str, str]
    servers: tuple[str, str]

    @property
    def duration_s(self) -> float:
        """How long connections begin, as asked."""
        return self.connections / self.connections_per_s

    @property
    def requests(self) -> int:
        """All requests that are due."""
        return self.connections * self.requests_per_connection


def check(load: HttpLoad) -> None:
    """Refuse a load that TRex could not offer as asked; ConfigError TREX-19."""
    first, last = (ipaddress.IPv4Address(address) for address in load.clients)
    clients = int(last) - int(first) + 1
    outside = [
        address
        for address in (*load.clients, *load.servers)
        if ipaddress.IPv4Address(address) not in BENCHMARK_NETWORK
    ]
    problems = (
        (bool(outside), "addresses", f"within {BENCHMARK_NETWORK}", ", ".join(outside)),
        (load.connections < 1, "connections", "at least one", str(load.connections)),
        (
            not 0 < load.connections_per_s < 1e7,
            "connections per second",
            "above 0",
            str(load.connections_per_s),
        ),
        (
            not 1 <= load.requests_per_connection <= 65535,
            "requests per connection",
            "1..65535",
            str(load.requests_per_connection),
        ),
        (
            load.response_octets <= max(1, len(load.response_head)),
            "octets of an answer",
            "more than its head",
            str(load.response_octets),
        ),
        (not load.request, "request", "some octets", "none"),
        (not 0 < load.port < 65536, "port", "1..65535", str(load.port)),
        (
            not load.late_s >= 0.02,
            "late after",
            "0.02 s at least: TRex's clock ticks every 0.01 s",
            str(load.late_s),
        ),
        (
            clients < 1 or load.connections > clients * MOST_PER_CLIENT,
            "clients' addresses",
            f"enough for {load.connections} connections, {MOST_PER_CLIENT} each",
            f"{load.clients[0]} to {load.clients[1]}",
        ),
    )
    for wrong, what, expected, found in problems:
        if wrong:
            raise ConfigError(
                "TREX-19", f"driver trex: HTTP load: {what}; nothing was sent", expected=expected, found=found
            )


def words(load: HttpLoad) -> dict[str, JsonValue]:
    """Return a load as the client's process takes it."""
    return {
        "request": base64.b64encode(load.request).decode("ascii"),
        "response_head": base64.b64encode(load.response_head).decode("ascii"),
        "response_octets": load.response_octets,
        "port": load.port,
        "connections": load.connections,
        "connections_per_s": load.connections_per_s,
        "requests_per_connection": load.requests_per_connection,
        "late_s": load.late_s,
        "clients": list(load.clients),
        "servers": list(load.servers),
    }

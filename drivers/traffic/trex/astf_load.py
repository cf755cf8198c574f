"""What HTTP clients of TRex are to do, and what of it is refused before anything is sent.

Ids: TREX-19 a load that cannot be offered.
"""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import ConfigError

BENCHMARK_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")  # rfc2544-C.2.2
MOST_PER_CLIENT = 60_000  # source ports of one address


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpExchange:
    """A request that is sent as it is, `times` times, and how many octets its answer has, head and body.

    `response_head` is what TRex's own servers begin with; where a real server answers it is never sent.
    """

    request: bytes
    response_octets: int
    response_head: bytes = b""
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLoad:
    """Connections at a constant rate, each with the same exchanges, one after the other.

    `clients` and `servers` are first and last address. An answer whose last octet comes `late_s` after its
    request was due (the first: the connection) is late.
    """

    exchanges: tuple[HttpExchange, ...]
    port: int
    connections: int
    connections_per_s: float
    late_s: float
    clients: tuple[str, str]
    servers: tuple[str, str]

    @property
    def duration_s(self) -> float:
        """How long connections begin, as asked."""
        return self.connections / self.connections_per_s

    @property
    def requests_per_connection(self) -> int:
        """Requests of each connection."""
        return sum(exchange.times for exchange in self.exchanges)

    @property
    def requests(self) -> int:
        """All requests that are due."""
        return self.connections * self.requests_per_connection

    @property
    def request_octets(self) -> int:
        """Octets that a connection's client sends."""
        return sum(exchange.times * len(exchange.request) for exchange in self.exchanges)

    @property
    def response_octets(self) -> int:
        """Octets that a connection's client gets."""
        return sum(exchange.times * exchange.response_octets for exchange in self.exchanges)


def check(load: HttpLoad) -> None:
    """Refuse a load that TRex could not offer as asked; ConfigError TREX-19."""
    outside = [address for address in (*load.clients, *load.servers) if not _is_benchmark(address)]
    clients = 0
    if not outside:
        first, last = (int(ipaddress.IPv4Address(address)) for address in load.clients)
        clients = last - first + 1
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
            not load.exchanges or any(not 1 <= one.times <= 65535 for one in load.exchanges),
            "requests per connection",
            "1..65535",
            str([exchange.times for exchange in load.exchanges]),
        ),
        (
            any(
                http_exchange.response_octets <= max(1, len(http_exchange.response_head))
                for http_exchange in load.exchanges
            ),
            "octets of an answer",
            "more than its head",
            str([one.response_octets for one in load.exchanges]),
        ),
        (any(not one.request for one in load.exchanges), "request", "some octets", "none"),
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


def _is_benchmark(address: str) -> bool:
    try:
        return ipaddress.IPv4Address(address) in BENCHMARK_NETWORK
    except ipaddress.AddressValueError:
        return False


def words(load: HttpLoad) -> dict[str, JsonValue]:
    """Return a load as the client's process takes it."""
    return {
        "exchanges": [
            {
                "request": base64.b64encode(exchange.request).decode("ascii"),
                "response_head": base64.b64encode(exchange.response_head).decode("ascii"),
                "response_octets": exchange.response_octets,
                "times": exchange.times,
            }
            for exchange in load.exchanges
        ],
        "port": load.port,
        "connections": load.connections,
        "connections_per_s": load.connections_per_s,
        "late_s": load.late_s,
        "clients": list(load.clients),
        "servers": list(load.servers),
    }

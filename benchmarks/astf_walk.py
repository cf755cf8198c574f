"""A walk through all that the HTTP driver asks of TRex's client: run against a server, or what one said.

`walk` makes the same calls in the same order whoever answers, so a transcript that was recorded of it with a
real server can be replayed without one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bmwg.drivers.api.protocols import JsonValue, TesterPort
from bmwg.drivers.traffic.trex.astf import AstfTester
from bmwg.drivers.traffic.trex.astf_load import HttpExchange, HttpLoad
from bmwg.drivers.traffic.trex.astf_sent import HttpSent
from bmwg.drivers.traffic.trex.channel import Client
from bmwg.drivers.traffic.trex.config import TrexConfig
from bmwg.drivers.traffic.trex.server import Server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


def exchanges(body_octets: int = 1000, times: int = 1) -> tuple[HttpExchange, ...]:
    """So many requests for an object of a size."""
    head = HEAD % body_octets
    request = b"GET /%d.bin HTTP/1.1\r\nHost: 198.18.65.1\r\n\r\n" % body_octets
    octets = len(head) + body_octets
    return (HttpExchange(request=request, response_octets=octets, response_head=head, times=times),)


PLAIN = HttpLoad(
    exchanges=exchanges(),
    port=80,
    connections=100,
    connections_per_s=200.0,
    late_s=0.5,
    clients=("198.18.64.1", "198.18.64.254"),
    servers=("198.18.65.1", "198.18.65.1"),
)
LOADS = {
    "plain": PLAIN,
    "again": PLAIN,  # nothing of the one before is in it
    "two kinds of requests": replace(PLAIN, exchanges=exchanges(times=3) + exchanges(2000)),
    "200 kB": replace(PLAIN, connections=20, exchanges=exchanges(200_000)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk found: who answered, and what it counted of each load."""

    versions: dict[str, JsonValue]
    loads: dict[str, HttpSent]


def walk(
    client: Client,
    config: TrexConfig,
    ports: tuple[TesterPort, ...],
    *,
    server: Server | None = None,
    sleep: Callable[[float], None] | None = None,
) -> Walk:
    """Reach the server, own its ports, offer every load of LOADS and leave."""
    tester = AstfTester(config, **({"sleep": sleep} if sleep else {}))
    with ExitStack() as stack:
        tester.use(client, ports, stack, server=server)
        found = {name: tester.offer(load) for name, load in LOADS.items()}
        versions = dict(tester.describe()["versions"])
    return Walk(versions=versions, loads=found)

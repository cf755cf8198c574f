"""Rule sets of nftables for requests that cross a kernel on their way to the origin, and how they are loaded.

Counters: `connections` are first packets (SYN) that the last rule let through, `to_origin` and `to_clients`
all packets that it let through each way, `dropped` those that it did not.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.function import tables
from bmwg.drivers.ports import sysctl

CONNECTIONS, TO_ORIGIN, TO_CLIENTS, DROPPED = "connections", "to_origin", "to_clients", "dropped"
_FIRST_SOURCE = {  # choice: of the benchmark ranges, and nobody's in a row
    "ip": ipaddress.ip_address("198.18.64.0"),
    "ip6": ipaddress.ip_address("2001:2:0:1064::"),
}
_SOURCES = 1 << 14
_FIRST_PORT = 1024
_BEHIND_SRCNAT = 110  # nftables translates sources at priority 100
# choice: the kernel remembers a connection that ended for 120 s: within seconds its table is full of these
_SETTINGS = {
    "net/netfilter/nf_conntrack_tcp_timeout_time_wait": "1",
    "net/netfilter/nf_conntrack_tcp_timeout_close": "1",
}


def firewall(rules: int, origin: str, ports: Sequence[int], sides: Sequence[str]) -> Iterator[str]:
    """Yield a rule set of so many rules: the last lets connections to the origin through, others match none.

    It is of the origin's version of IP, and lets nothing of the other one through. `sides` are the interfaces
    towards clients and origin. Packets of a connection that was let through pass before all of them, as in
    any firewall with state; a new one is held against each, in their order.
    """
    inside, outside = sides
    of = _family(origin)
    first = _FIRST_SOURCE[of]
    yield from _begin(of)
    yield " chain rules {"
    yield "  type filter hook forward priority 0; policy accept;"
    yield f'  iifname "{outside}" ct state established counter name {TO_CLIENTS} accept'
    yield f'  iifname "{inside}" ct state established counter name {TO_ORIGIN} accept'
    for number in range(rules - 1):
        source, port = first + number % _SOURCES, _FIRST_PORT + number // _SOURCES
        yield f"  {of} saddr {source} {of} daddr {origin} tcp dport {port} drop"
    yield f'  iifname "{inside}" {_first(origin, ports)} counter name {TO_ORIGIN} accept'
    yield f"  counter name {DROPPED} drop"
    yield " }"
    yield "}"


def nat44(
    address: str, origin: str, ports: Sequence[int], drawn: Sequence[int], sides: Sequence[str]
) -> Iterator[str]:
    """Yield a rule set that gives each connection to the origin this address and a port of the range `drawn`.

    What would leave untranslated is dropped and counted, so each connection that comes was translated.
    """
    _, outside = sides
    first, last = drawn
    yield from _begin(_family(origin))
    yield " chain translate {"
    yield "  type nat hook postrouting priority srcnat; policy accept;"
    yield f'  oifname "{outside}" ip daddr {origin} meta l4proto tcp snat to {address}:{first}-{last}'
    yield " }"
    yield " chain back {"
    yield "  type filter hook forward priority 0; policy accept;"
    yield f'  iifname "{outside}" ct state established counter name {TO_CLIENTS} accept'
    yield f'  iifname "{outside}" counter name {DROPPED} drop'
    yield " }"
    yield " chain translated {"
    yield f"  type filter hook postrouting priority {_BEHIND_SRCNAT}; policy accept;"
    ours = f'oifname "{outside}" ip saddr {address} tcp sport {first}-{last}'
    yield f"  {ours} {_first(origin, ports)} counter name {TO_ORIGIN} accept"
    yield f"  {ours} ip daddr {origin} counter name {TO_ORIGIN} accept"
    yield f'  oifname "{outside}" ip daddr {origin} meta l4proto tcp counter name {DROPPED} drop'
    yield " }"
    yield "}"


def counted(origin: str, sides: Sequence[str]) -> Iterator[str]:
    """Yield a rule set that lets everything pass and keeps no state: what crosses is counted."""
    inside, outside = sides
    of = _family(origin)
    yield from _begin(of)
    yield " chain count {"
    yield "  type filter hook forward priority 0; policy accept;"
    to_it = f'iifname "{inside}" {of} daddr {origin}'
    yield f"  {to_it} tcp flags & (syn | ack) == syn counter name {CONNECTIONS}"
    yield f"  {to_it} counter name {TO_ORIGIN}"
    yield f'  iifname "{outside}" {of} saddr {origin} counter name {TO_CLIENTS}'
    yield " }"
    yield "}"


def _family(address: str) -> str:
    """Return the family of nftables that an address is of, which is its word in a rule as well."""
    return "ip6" if ":" in address else "ip"


def _begin(family: str) -> Iterator[str]:
    yield f"table {family} {tables.TABLE} {{"
    for name in (CONNECTIONS, TO_ORIGIN, TO_CLIENTS, DROPPED):
        yield f" counter {name} {{ }}"


def _first(origin: str, ports: Sequence[int]) -> str:
    wanted = ", ".join(map(str, ports))
    syn = "tcp flags & (syn | ack) == syn"
    to_it = f"{_family(origin)} daddr {origin} tcp dport {{ {wanted} }}"
    return f"{to_it} {syn} ct state new counter name {CONNECTIONS}"


def load_firewall(*, rules: int, origin: str, ports: list[int], sides: list[str]) -> dict[str, JsonValue]:
    """Node function: load a firewall into this network namespace; returns it as evidence.

    Raises what `tables.load` raises; so do the others.
    """
    return _loaded(firewall(rules, origin, ports, sides), tracked=True)


def load_nat44(
    *, address: str, origin: str, ports: list[int], drawn: list[int], sides: list[str]
) -> dict[str, JsonValue]:
    """Node function: load a NAT44."""
    return _loaded(nat44(address, origin, ports, drawn, sides), tracked=True)


def load_counted(*, origin: str, sides: list[str]) -> dict[str, JsonValue]:
    """Node function: load counters alone."""
    return _loaded(counted(origin, sides), tracked=False)


def _loaded(lines: Iterable[str], *, tracked: bool) -> dict[str, JsonValue]:
    told = tables.load(lines)
    if not tracked:
        return told
    sysctl.write_many(settings=_SETTINGS)
    return {**told, "settings": dict(_SETTINGS), "connections": tables.connections()}


def counts() -> dict[str, int]:
    """Node function: what the table has counted: packets by name, and the octets that it let through."""
    octets = tables.octets()
    passed = sum(octets.get(name, 0) for name in (TO_ORIGIN, TO_CLIENTS))
    return {**tables.counts(), "passed_octets": passed}

"""Rule sets of nftables that make a kernel's forwarding a firewall or a NAT44, and how they are loaded.

Ids: FUNC-05 the interface has no address that flows could get.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.function import tables
from bmwg.drivers.ports import interfaces as links
from bmwg.methodology.answers.data_plane_functions import DROPPED, OFFERED, PASSED, WAYS
from bmwg.methodology.errors import TestbedError

LIST, SET = "list", "set"
TEST_PORT = 7  # rfc2544 appendix C.2.6.4: the destination port of test frames
_FORWARD = WAYS[0]
_FIRST_SOURCE = ipaddress.IPv4Address(
    "198.18.64.0"
)  # choice: of the benchmark range, and nobody's in these paths
_SOURCES = 1 << 14
BLOCKED_DESTINATION, _FIRST_PORT = "198.19.64.9", 1024
_BEHIND_SRCNAT = 110  # nftables translates sources at priority 100


def firewall(rules: int, lookup: str, interfaces: Sequence[str]) -> Iterator[str]:
    """Yield a rule set of so many rules: the last lets test frames through, and the others match none.

    Test frames enter by these two interfaces, that of the forward direction first. By `list` each rule is one
    of a chain, tried in its order. By `set` all but the last are elements of one set, looked up once.
    """
    blocked = list(blocked_by(rules - 1))
    yield f"table ip {tables.TABLE} {{"
    for way in WAYS:
        yield f" counter {OFFERED}.{way} {{ }}"
        yield f" counter {PASSED}.{way} {{ }}"
    yield f" counter {DROPPED} {{ }}"
    if blocked and lookup == SET:
        yield " set blocked {"
        yield "  type ipv4_addr . ipv4_addr . inet_service;"
        yield "  elements = {"
        for source, port in blocked:
            yield f"   {source} . {BLOCKED_DESTINATION} . {port},"
        yield "  }"
        yield " }"
    yield " chain count {"
    yield "  type filter hook forward priority -1; policy accept;"
    yield f"  udp dport {TEST_PORT} counter name iifname map {{ {_by(interfaces, OFFERED)} }}"
    yield " }"
    yield " chain rules {"
    yield "  type filter hook forward priority 0; policy accept;"
    if blocked and lookup == SET:
        yield "  ip saddr . ip daddr . udp dport @blocked drop"
    elif lookup == LIST:
        for source, port in blocked:
            yield f"  ip saddr {source} ip daddr {BLOCKED_DESTINATION} udp dport {port} drop"
    yield f"  udp dport {TEST_PORT} counter name iifname map {{ {_by(interfaces, PASSED)} }} accept"
    yield f"  counter name {DROPPED} drop"
    yield " }"
    yield "}"


def blocked_by(count: int) -> Iterator[tuple[str, int]]:
    """Yield source and port of what so many rules forbid; no test frame has them."""
    for number in range(count):
        yield str(_FIRST_SOURCE + number % _SOURCES), _FIRST_PORT + number // _SOURCES


def _by(interfaces: Sequence[str], what: str) -> str:
    pairs = zip(interfaces, WAYS, strict=True)
    return ", ".join(f'"{interface}" : "{what}.{way}"' for interface, way in pairs)


def load_firewall(*, rules: int, lookup: str, interfaces: list[str]) -> dict[str, JsonValue]:
    """Node function: load a firewall into this network namespace; returns it as evidence."""
    return tables.load(firewall(rules, lookup, interfaces))


def nat44(address: str, ports: Sequence[int], inside: str, outside: str) -> Iterator[str]:
    """Yield a rule set that gives each flow which leaves by `outside` this address and a port of a range.

    A test frame that leaves without a translation is dropped and counted, so each that comes was translated.
    """
    first, last = ports
    yield f"table ip {tables.TABLE} {{"
    yield f" counter {OFFERED}.{_FORWARD} {{ }}"
    yield f" counter {PASSED}.{_FORWARD} {{ }}"
    yield f" counter {DROPPED} {{ }}"
    yield " chain count {"
    yield "  type filter hook prerouting priority raw; policy accept;"
    yield f'  iifname "{inside}" udp dport {TEST_PORT} counter name {OFFERED}.{_FORWARD}'
    yield " }"
    yield " chain translate {"
    yield "  type nat hook postrouting priority srcnat; policy accept;"
    yield f'  oifname "{outside}" udp dport {TEST_PORT} snat to {address}:{first}-{last} fully-random'
    yield " }"
    yield " chain translated {"
    yield f"  type filter hook postrouting priority {_BEHIND_SRCNAT}; policy accept;"
    told = f"ip saddr {address} udp sport {first}-{last} udp dport {TEST_PORT}"
    yield f'  oifname "{outside}" {told} counter name {PASSED}.{_FORWARD} accept'
    yield f"  udp dport {TEST_PORT} counter name {DROPPED} drop"
    yield " }"
    yield "}"


def load_nat44(*, ports: list[int], inside: str, outside: str) -> dict[str, JsonValue]:
    """Node function: load a NAT44 into this network namespace; returns it as evidence.

    Sources get the address of `outside`. Raises TestbedError FUNC-05 where it has none of IPv4.
    """
    found = next(one for one in links.listing() if one["name"] == outside)
    address = next((one.partition("/")[0] for one in found["addresses"] if ":" not in one), None)
    if address is None:
        raise TestbedError(
            "FUNC-05",
            f"interface {outside} of a NAT44",
            expected="an address of IPv4, which sources get",
            found="none",
        )
    told = tables.load(nat44(address, ports, inside, outside))
    return {**told, "translates_to": address, "connections": tables.connections()}

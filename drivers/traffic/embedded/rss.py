"""Which queue of a device a frame goes to: receive side scaling (Toeplitz), computed as devices do.

With it, the frames of a lane get source ports by which they come back to the lane's own queue.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.traffic.embedded.protocol import nonsense

FIRST_SOURCE_PORT = 0xC020  # rfc2544 appendix C.2.6.4
LAST_PORT = 65535
DESTINATION_PORT = 7  # rfc2544 appendix C.2.6.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rss:
    """How a device spreads UDP frames: entry `hash % len(table)` of its table is the queue."""

    key: bytes
    table: tuple[int, ...]
    ipv4: bool
    ipv6: bool


def read_rss(reply: Any) -> Rss | None:
    """What the tester says of a port; None where the device does not tell; TST-14 for nonsense."""
    if reply is None:
        return None
    try:
        told = Rss(
            key=bytes.fromhex(reply["key"]),
            table=tuple(reply["table"]),
            ipv4=reply["ipv4"] is True,
            ipv6=reply["ipv6"] is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise nonsense("receive side scaling of a port", reply) from error
    if not told.key or not told.table or any(type(queue) is not int or queue < 0 for queue in told.table):
        raise nonsense("receive side scaling of a port", reply)
    return told


def toeplitz(key: bytes, data: bytes) -> int:
    """The hash of `data`, 32 bits: the exclusive or of the key's 32 bits from each set bit on."""
    bits = int.from_bytes(key, "big")
    width = 8 * len(key)
    result = 0
    for place in range(8 * len(data)):
        if data[place // 8] >> (7 - place % 8) & 1:
            result ^= bits >> (width - 32 - place) & 0xFFFFFFFF
    return result


def tuple_octets(source: str, destination: str, source_port: int, destination_port: int) -> bytes:
    """What the hash is taken of for UDP: both addresses, then both ports."""
    ends = b"".join(ipaddress.ip_interface(text).ip.packed for text in (source, destination))
    return ends + source_port.to_bytes(2, "big") + destination_port.to_bytes(2, "big")


def source_ports(
    rss: Rss, source: str, destination: str, *, lanes: int, flows: int
) -> list[list[int]] | None:
    """`flows` source ports, as many for each lane, whose frames come to the queue of the lane's number.

    None where this cannot be: flows that do not go into the lanes evenly, another kind of address, too few
    ports.
    """
    version = ipaddress.ip_interface(source).version
    if flows % lanes or not (rss.ipv4 if version == 4 else rss.ipv6):
        return None
    octets = tuple_octets(source, destination, 0, DESTINATION_PORT)
    if len(rss.key) < len(octets) + 4:
        return None
    before = len(octets) - 4  # of the source port
    fixed = toeplitz(rss.key, octets)
    # The hash is linear: what an octet adds does not depend on the others.
    high = [toeplitz(rss.key[before:], bytes((value, 0))) for value in range(256)]
    low = [toeplitz(rss.key[before:], bytes((0, value))) for value in range(256)]
    found: list[list[int]] = [[] for _ in range(lanes)]
    for port in range(FIRST_SOURCE_PORT, LAST_PORT + 1):
        queue = rss.table[(fixed ^ high[port >> 8] ^ low[port & 255]) % len(rss.table)]
        if queue < lanes and len(found[queue]) < flows // lanes:
            found[queue].append(port)
    return found if all(len(one) == flows // lanes for one in found) else None


def steered(
    ends: Sequence[tuple[str, Rss | None]], *, lanes: int, flows: int
) -> list[list[list[int]]] | None:
    """Source ports by stream and lane; `ends` are address and device of both ports.

    None where one of the two directions cannot be steered.
    """
    told = []
    for sender, receiver in ((0, 1), (1, 0)):
        rss = ends[receiver][1]
        if rss is None:
            return None
        ports = source_ports(rss, ends[sender][0], ends[receiver][0], lanes=lanes, flows=flows)
        if ports is None:
            return None
        told.append(ports)
    return told


def queues_of(reply: Sequence[Mapping[str, Any]]) -> tuple[Rss | None, ...]:
    """What the tester's answer to `attach` says of each port."""
    return tuple(read_rss(entry.get("rss")) for entry in reply)

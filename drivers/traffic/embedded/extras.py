"""Frames that the tester sends beside the stream: SNMP queries and RIP updates (RFC 2544 11.2 and 11.3).

Both leave from the first port, as an IPv4 host beside the router would send them.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Sequence
from typing import Any

from bmwg.drivers.api.protocols import TesterPort
from bmwg.methodology.errors import ConfigError

MANAGEMENT, ROUTES = "management", "route-updates"
QUERY_INTERVAL_S = 1.0  # rfc2544-11.2: one query a second
UPDATE_INTERVAL_S = 30.0  # rfc2544-11.3: as often as the protocol says; RIP's own timer
UPDATED_NETWORKS = 25  # choice: the most that one RIP message holds
SNMP_PORT, RIP_PORT = 161, 520
_OWN_PORT = 49152
_RIP_MAC = "01:00:5e:00:00:09"
_RIP_GROUP = ipaddress.IPv4Address("224.0.0.9")
_SYS_UP_TIME = bytes.fromhex("06082b06010201010300")  # 1.3.6.1.2.1.1.3.0


def extras(modifier: str | None, port: TesterPort, gateway_mac: str, updates: int) -> list[dict[str, Any]]:
    """Return what a trial sends beside the stream for a modifier; most ask for nothing.

    `updates` is how many routing updates went out before: states go on in turn (rfc2544-11.3).
    """
    if modifier == MANAGEMENT:
        source, gateway = _address(port, port.ipv4, modifier), _address(port, port.gateway_ipv4, modifier)
        frame = _udp(port, gateway_mac, source, gateway, _OWN_PORT, SNMP_PORT, snmp_query())
        return [_entry(frame, QUERY_INTERVAL_S, SNMP_PORT, holds=snmp_answer())]
    if modifier == ROUTES:
        source = _address(port, port.ipv4, modifier)
        frames = []
        for place, metric in enumerate((2, 1) if updates % 2 else (1, 2)):  # rfc2544-11.3: two states in turn
            payload = rip_update(metric)
            frame = _udp(port, _RIP_MAC, source, _RIP_GROUP, RIP_PORT, RIP_PORT, payload, hops=1)
            frames.append(_entry(frame, 2 * UPDATE_INTERVAL_S, 0, after_s=place * UPDATE_INTERVAL_S))
        return frames
    return []


def states(sent_frames: list[int], updates: int) -> dict[str, int]:
    """Return how many updates of each state a trial sent, and which came first; none where it sent none."""
    if not sent_frames:
        return {}
    first = 1 + updates % 2
    by_state = sent_frames if first == 1 else sent_frames[::-1]
    return {
        "modifier.first_state": first,
        "modifier.updates_1_frames": by_state[0],
        "modifier.updates_2_frames": by_state[1],
    }


def _entry(
    frame: bytes,
    interval_s: float,
    answers_from: int,
    after_s: float = 0.0,
    holds: Sequence[bytes] = (),
) -> dict[str, Any]:
    return {
        "port": 0,
        "octets": frame.hex(),
        "interval_s": interval_s,
        "after_s": after_s,
        "answers_from": answers_from,
        "answer_holds": [piece.hex() for piece in holds],
    }


def _address(port: TesterPort, text: str | None, modifier: str) -> ipaddress.IPv4Address:
    if text is None:
        raise ConfigError(
            "TST-24",
            f"modifier {modifier} on tester port {port.name}; no traffic was sent",
            expected="an IPv4 address of its own and a gateway",
            found="none",
        )
    return ipaddress.IPv4Interface(text).ip


def _element(tag: int, content: bytes) -> bytes:
    return bytes((tag, len(content))) + content


def snmp_query() -> bytes:
    """Return an SNMPv1 GET of sysUpTime, community `public` (RFC 1157)."""
    binding = _element(0x30, _SYS_UP_TIME + b"\x05\x00")
    numbers = b"\x02\x01\x01" + b"\x02\x01\x00" * 2  # request id, error status, error index
    request = _element(0xA0, numbers + _element(0x30, binding))
    return _element(0x30, b"\x02\x01\x00" + _element(0x04, b"public") + request)


def snmp_answer() -> tuple[bytes, ...]:
    """Return what a right answer has, in this order: an answer to our number, no error, a time for sysUpTime.

    Lengths between them are the agent's (RFC 1157: a GetResponse is tag A2, TimeTicks are tag 43).
    """
    return (b"public\xa2", b"\x02\x01\x01\x02\x01\x00\x02\x01\x00\x30", _SYS_UP_TIME + b"\x43")


def rip_update(metric: int) -> bytes:
    """Return a RIPv2 response with networks that no test frame goes to, at one metric (RFC 2453)."""
    message = struct.pack("!BBH", 2, 2, 0)
    for number in range(UPDATED_NETWORKS):
        network = ipaddress.IPv4Address("198.18.64.0") + 256 * number
        message += struct.pack("!HH4s4s4sI", 2, 0, network.packed, b"\xff\xff\xff\x00", b"\0" * 4, metric)
    return message


def _udp(
    port: TesterPort,
    destination_mac: str,
    source: ipaddress.IPv4Address,
    destination: ipaddress.IPv4Address,
    source_port: int,
    destination_port: int,
    payload: bytes,
    *,
    hops: int = 64,
) -> bytes:
    if not destination_mac or not port.mac:
        raise ConfigError(
            "TST-24",
            f"frames beside the stream on tester port {port.name}",
            expected="known MACs",
            found="none",
        )
    head = bytes.fromhex((destination_mac + port.mac).replace(":", "")) + b"\x08\x00"
    udp = struct.pack("!HHHH", source_port, destination_port, 8 + len(payload), 0) + payload

    def header(checksum: int) -> bytes:
        fields = (0x45, 0, 20 + len(udp), 0, 0, hops, 17, checksum, source.packed, destination.packed)
        return struct.pack("!BBHHHBBH4s4s", *fields)

    total = sum(struct.unpack("!10H", header(0)))
    total = (total & 0xFFFF) + (total >> 16)
    return (head + header(~(total + (total >> 16)) & 0xFFFF) + udp).ljust(60, b"\0")

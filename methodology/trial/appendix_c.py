"""The test frame of RFC 2544 appendix C.2.6.4: UDP echo request over IPv4 on Ethernet. Pure.

Lengths are computed, for the printed UDP lengths of 256 to 1280 octets are wrong (catalogue, C.2.6.4-02).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from bmwg.methodology.records import FCS_OCTETS

ETHERNET, IP, UDP, UDP_DATA = 0, 14, 34, 42  # where each part begins, octets
_HOPS, _PROTOCOL = 10, 17  # rfc2544-C.2.6.4
_SOURCE_PORT, _ECHO_PORT = 0xC020, 7  # rfc2544-C.2.6.4
FIELDS = {  # name: first octet and the one behind its last; addresses and the checksum over them vary
    "Ethernet type": (12, 14),
    "IP version and header length": (14, 15),
    "type of service": (15, 16),
    "IP length": (16, 18),
    "identification": (18, 20),
    "fragment": (20, 22),
    "time to live": (22, 23),
    "protocol": (23, 24),
    "source port": (34, 36),
    "destination port": (36, 38),
    "UDP length": (38, 40),
    "UDP checksum": (40, 42),
}


def echo_frame(frame_octets: int) -> bytes:
    """Return the frame of a size (octets, FCS counted) without FCS; addresses and their checksum are zero."""
    length = frame_octets - FCS_OCTETS
    ip = struct.pack("!BBHHHBBH8x", 0x45, 0, length - IP, 0, 0, _HOPS, _PROTOCOL, 0)
    udp = struct.pack("!HHHH", _SOURCE_PORT, _ECHO_PORT, length - UDP, 0)
    data = bytes(number % 256 for number in range(length - UDP_DATA))
    return bytes(12) + b"\x08\x00" + ip + udp + data


def differing(octets: Sequence[int], signature: tuple[int, int]) -> list[str]:
    """Return the names of what differs from the frame of that length.

    `signature` is where the tester's own octets begin and how many there are: they may be any.
    """
    wanted = echo_frame(len(octets) + FCS_OCTETS)
    found = [
        name for name, (first, end) in FIELDS.items() if list(octets[first:end]) != list(wanted[first:end])
    ]
    first, end = signature[0], signature[0] + signature[1]
    rest = [place for place in range(UDP_DATA, len(octets)) if not first <= place < end]
    return found + ["increasing data"] * any(octets[place] != wanted[place] for place in rest)

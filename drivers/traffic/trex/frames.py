"""Test frames for TRex: complete Ethernet frames as octets, without FCS, and which field makes the flows.

TRex writes its own sixteen octets (stream, sequence number, time stamp) at the end of each frame; the frame
must hold them beside its headers. The layout is the embedded tester's: rfc2544 appendix C addresses, UDP
ports from 0xc020 up on the source side, 7 on the other.
"""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass

from bmwg.methodology.records import FCS_OCTETS, FrameFormat

TREX_OCTETS = 16  # what TRex writes into each frame of a stream with latency
FIRST_SOURCE_PORT = 0xC020  # rfc2544 appendix C.2.6.4
DESTINATION_PORT = 7
MAX_FLOWS = 0x10000 - FIRST_SOURCE_PORT
_ETHERNET_OCTETS, _TAG_OCTETS, _UDP_OCTETS = 14, 4, 8
_IP_OCTETS = {FrameFormat.IPV4_UDP: 20, FrameFormat.IPV6_UDP: 40}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """From where to where test frames go: MAC and IP addresses of one direction."""

    source_mac: str
    destination_mac: str
    source_ip: str
    destination_ip: str


def header_octets(frame_format: FrameFormat, *, tagged: bool) -> int:
    """Octets of a frame's headers, from Ethernet to UDP."""
    return _ETHERNET_OCTETS + (_TAG_OCTETS if tagged else 0) + _IP_OCTETS[frame_format] + _UDP_OCTETS


def min_frame_octets(frame_format: FrameFormat, *, tagged: bool) -> int:
    """Smallest frame, FCS included, that holds headers and TRex's sixteen octets."""
    return max(64, header_octets(frame_format, tagged=tagged) + TREX_OCTETS + FCS_OCTETS)


def build(way: Way, frame_format: FrameFormat, frame_octets: int, vlan_id: int | None) -> bytes:
    """One frame of `frame_octets`, its FCS not included: the interface adds that."""
    link = _mac(way.destination_mac) + _mac(way.source_mac)
    if vlan_id is not None:
        link += struct.pack("!HH", 0x8100, vlan_id)
    payload_octets = frame_octets - FCS_OCTETS - len(link) - 2
    udp_octets = payload_octets - _IP_OCTETS[frame_format]
    source, destination = ipaddress.ip_address(way.source_ip), ipaddress.ip_address(way.destination_ip)
    if frame_format is FrameFormat.IPV4_UDP:
        link += struct.pack("!H", 0x0800)
        head = struct.pack("!BBHHHBBH", 0x45, 0, payload_octets, 0, 0, 64, 17, 0)
        head += source.packed + destination.packed
        head = head[:10] + struct.pack("!H", _checksum(head)) + head[12:]
    else:
        link += struct.pack("!H", 0x86DD)
        head = struct.pack("!IHBB", 0x60000000, udp_octets, 17, 64) + source.packed + destination.packed
    # The checksum stays zero: TRex writes into the payload of each frame as it leaves.
    udp = struct.pack("!HHHH", FIRST_SOURCE_PORT, DESTINATION_PORT, udp_octets, 0)
    return link + head + udp + bytes(udp_octets - _UDP_OCTETS)


def source_port_offset(frame_format: FrameFormat, *, tagged: bool) -> int:
    """Where the UDP source port stands in the frame: what differs between flows."""
    return _ETHERNET_OCTETS + (_TAG_OCTETS if tagged else 0) + _IP_OCTETS[frame_format]


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def _checksum(head: bytes) -> int:
    total: int = sum(struct.unpack(f"!{len(head) // 2}H", head))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

"""A node function that sends probe frames from a tester's interface and waits for their answer.

First who has the router's address (ARP), then an ICMP echo request through it to its interface on the other
side, with a source that is the tester's own. Ids: PATH-09 no answer.
"""

from __future__ import annotations

import ipaddress
import select
import socket
import struct
import time
from collections.abc import Callable

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import TestbedError

_ARP, _IPV4 = 0x0806, 0x0800
_AGAIN_S = 0.5  # a frame that was lost is sent again after
_ALL = 0x0003  # ETH_P_ALL


def answered(
    *, interface: str, mac: str, source: str, target: str, beyond: str, within_s: float
) -> dict[str, JsonValue]:
    """Node function: seconds until `target` answered ARP, and until `beyond` answered an echo through it.

    Raises TestbedError PATH-09, which says which of the two was not answered.
    """
    own, here, router, far = (_octets(mac), *map(_address, (source, target, beyond)))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ALL)) as port:
        port.bind((interface, _ALL))
        question = _ethernet(b"\xff" * 6, own, _ARP) + struct.pack("!HHBBH", 1, _IPV4, 6, 4, 1)
        question += own + here + b"\0" * 6 + router
        arp_s, reply = _exchange(
            port,
            question,
            lambda frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2" and frame[28:32] == router,
            within_s,
            f"ARP for {target}",
        )
        echo = _ethernet(reply[6:12], own, _IPV4) + _echo(here, far)
        echo_s, _ = _exchange(
            port,
            echo,
            lambda frame: frame[12:14] == b"\x08\x00" and frame[26:30] == far and frame[34:35] == b"\0",
            within_s,
            f"an echo request to {beyond}",
        )
    return {"arp_s": round(arp_s, 4), "echo_s": round(echo_s, 4)}


def _exchange(
    port: socket.socket, frame: bytes, is_answer: Callable[[bytes], bool], within_s: float, what: str
) -> tuple[float, bytes]:
    began_s = time.monotonic()
    while (now_s := time.monotonic()) < began_s + within_s:
        port.send(frame)
        while (left_s := now_s + _AGAIN_S - time.monotonic()) > 0:
            if not select.select([port], [], [], left_s)[0]:
                break
            data, where = port.recvfrom(2048)
            if where[2] != socket.PACKET_OUTGOING and is_answer(data):
                return time.monotonic() - began_s, data
    raise TestbedError("PATH-09", what, expected=f"an answer within {within_s:g} s", found=f"{what}: silence")


def _octets(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def _address(text: str) -> bytes:
    return ipaddress.IPv4Address(text).packed


def _ethernet(to: bytes, source: bytes, kind: int) -> bytes:
    return to + source + struct.pack("!H", kind)


def _echo(source: bytes, target: bytes) -> bytes:
    icmp = struct.pack("!BBHHH", 8, 0, 0, 0x626D, 1)
    icmp = struct.pack("!BBHHH", 8, 0, checksum(icmp), 0x626D, 1)
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(icmp), 1, 0, 64, 1, 0) + source + target
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + icmp


def checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071) of an even number of octets."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

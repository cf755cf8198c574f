"""Asks whether a port takes connections without making one: a server of one client at a time stays free.

A SYN goes out by a raw socket; the answer to it says it, and the kernel, which knows of no such connection,
resets it. No accept at the other end ever sees it.
"""

from __future__ import annotations

import errno
import socket
import struct
import time

_SYN, _SYN_ACK = 0x02, 0x12
_DISCARD = 9  # nobody listens at this port
_HEADER = struct.Struct("!HHIIBBHHH")
_WINDOW = 1024
_SEQUENCE = 0x42574D47


def listens(*, address: str, port: int, within_s: float) -> bool:
    """Whether an IPv4 address answers a SYN to this port by taking it, within this time; needs root."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as held,  # keeps the port from others
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP) as raw,
    ):
        held.bind(("", 0))
        mine = held.getsockname()[1]
        raw.connect((address, 0))
        raw.send(_syn(raw.getsockname()[0], mine, address, port))
        end_s = time.monotonic() + within_s
        while (left_s := end_s - time.monotonic()) > 0:
            raw.settimeout(left_s)
            try:
                packet = raw.recv(256)
            except TimeoutError:
                return False
            found = _HEADER.unpack_from(packet, (packet[0] & 0x0F) * 4)
            if found[:2] == (port, mine) and found[3] == _SEQUENCE + 1:
                return bool(found[5] & _SYN_ACK == _SYN_ACK)
    return False


def refuses(*, address: str, within_s: float) -> str:
    """Why nothing answers at an address, by refusing a connection, within this time; empty where it does."""
    try:
        with socket.create_connection((address, _DISCARD), timeout=within_s):
            return ""
    except OSError as error:
        return "" if error.errno == errno.ECONNREFUSED else str(error)


def _syn(source: str, source_port: int, address: str, port: int) -> bytes:
    fields = (source_port, port, _SEQUENCE, 0, (_HEADER.size // 4) << 4, _SYN, _WINDOW)
    pseudo = socket.inet_aton(source) + socket.inet_aton(address)
    pseudo += struct.pack("!HH", socket.IPPROTO_TCP, _HEADER.size)
    total = sum(struct.unpack("!16H", pseudo + _HEADER.pack(*fields, 0, 0)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return _HEADER.pack(*fields, ~total & 0xFFFF, 0)

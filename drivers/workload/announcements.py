"""When a guest says at its new place that it is there: its gratuitous ARP or RARP, heard at a tester's port.

A switch that has passed this on has learnt the new place. The kernel stamps each frame when it came.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from bmwg.drivers.api.protocols import TesterPort
from bmwg.drivers.nodes import netns
from bmwg.drivers.watch import wall_clock

_ETH_P_ALL = 3
_OUTGOING = 4  # PACKET_OUTGOING
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_KINDS = (b"\x08\x06", b"\x80\x35")  # ARP, RARP


class Announcements:
    """Listens at a port for what has this MAC as its sender."""

    def __init__(self, heard: socket.socket, mac: str) -> None:
        self._heard = heard
        self._mac = bytes.fromhex(mac.replace(":", ""))

    def forget(self) -> None:
        """Forget what was heard until now."""
        for _ in self._frames():
            continue

    def first_ns(self, since_ns: int) -> int | None:
        """Return when the first came since a time, ns of the monotonic clock; None where none did.

        What was heard is forgotten. The kernel stamps by the wall clock; both are read together here.
        """
        ahead_ns = wall_clock.ahead_ns()
        times = [at_ns - ahead_ns for at_ns in self._frames()]
        return min((at_ns for at_ns in times if at_ns >= since_ns), default=None)

    def _frames(self) -> Iterator[int]:
        while True:
            try:
                frame, told, _, address = self._heard.recvmsg(64, 256)
            except OSError:  # nothing more, or the port was down for a moment
                return
            if address[2] == _OUTGOING or frame[6:12] != self._mac or frame[12:14] not in _KINDS:
                continue
            for level, kind, data in told:
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, rest = _TIMESPEC.unpack(data[: _TIMESPEC.size])
                    yield seconds * 1_000_000_000 + rest


@contextmanager
def heard(port: TesterPort, mac: str) -> Iterator[Announcements]:
    """Listen until this is left. Raises TestbedError NETNS-01."""
    opened = netns.within(port.netns, partial(_opened, port.device))
    try:
        yield Announcements(opened, mac)
    finally:
        opened.close()


def _opened(device: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_CLOEXEC, 0)
    found.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    found.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
    found.bind((device, _ETH_P_ALL))
    found.setblocking(False)
    return found

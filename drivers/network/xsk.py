"""What the kernel says of the AF_XDP sockets that a process holds: read from outside, and nothing changes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import struct

from bmwg.drivers.api.protocols import JsonValue

_PIDFD_GETFD = 438  # of every architecture
_AF_XDP = 44
_SOL_XDP, _XDP_OPTIONS, _ZEROCOPY = 283, 8, 1
_SO_BUSY_POLL, _SO_PREFER_BUSY_POLL = 46, 69  # asm-generic/socket.h
_libc = ctypes.CDLL(None, use_errno=True)


def sockets(*, pid: int) -> list[dict[str, JsonValue]]:
    """Node function: return each AF_XDP socket of a process, in the order of its descriptors.

    `zero_copy` says whether the driver shares its buffers, `prefer_busy_poll` and `busy_poll_us` how the
    kernel polls for the socket; None where this kernel does not tell.
    """
    found: list[dict[str, JsonValue]] = []
    with contextlib.suppress(OSError):
        process = os.pidfd_open(pid)
        try:
            for number in sorted(int(name) for name in os.listdir(f"/proc/{pid}/fd")):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{number}").startswith("socket:"):
                        found += _told(process, number)
        finally:
            os.close(process)
    return found


def _told(process: int, number: int) -> list[dict[str, JsonValue]]:
    descriptor = _libc.syscall(_PIDFD_GETFD, process, number, 0)
    if descriptor < 0:
        return []
    with socket.socket(fileno=descriptor) as one:
        if one.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN) != _AF_XDP:
            return []
        options = _option(one, _SOL_XDP, _XDP_OPTIONS)
        prefers = _option(one, socket.SOL_SOCKET, _SO_PREFER_BUSY_POLL)
        return [
            {
                "zero_copy": None if options is None else bool(options & _ZEROCOPY),
                "prefer_busy_poll": None if prefers is None else bool(prefers),
                "busy_poll_us": _option(one, socket.SOL_SOCKET, _SO_BUSY_POLL),
            }
        ]


def _option(one: socket.socket, level: int, name: int) -> int | None:
    try:
        return int(struct.unpack("=i", one.getsockopt(level, name, 4))[0])
    except OSError:
        return None

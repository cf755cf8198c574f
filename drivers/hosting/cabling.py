"""Which interfaces of a host are cabled to which, found by frames of our own; node functions.

A frame leaves each of the named ports, with that port's name and a word that only this look knows, and is
listened for at all of them. Ports that are not named see nothing (RFC 6815). Call it for ports that
`lab_port.require_bare` lets pass.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence

_ETHERTYPE = 0x88B6  # of local experiments (IEEE 802)
_BROADCAST, _SOURCE = b"\xff" * 6, bytes.fromhex("020000627778")
_LEAST_OCTETS = 60
_AGAIN_S = 0.2  # a frame may be lost while a link comes up


def heard(*, ports: list[str], within_s: float = 3.0) -> dict[str, list[str]]:
    """Node function: by port that sent, the ports that heard it; ends early when each was heard somewhere.

    The ports are up. A port that has no link is heard nowhere.
    """
    word = secrets.token_bytes(8)
    found: dict[str, set[str]] = {port: set() for port in ports}
    with contextlib.ExitStack() as stack:
        sockets = {port: stack.enter_context(_opened(port)) for port in ports}
        names = {opened.fileno(): port for port, opened in sockets.items()}
        end_s = time.monotonic() + within_s
        while time.monotonic() < end_s and not all(found.values()):
            for port, opened in sockets.items():
                with contextlib.suppress(OSError):  # its link is down
                    opened.send(_frame(word, port))
            _listen(list(sockets.values()), names, word, found)
        _listen(list(sockets.values()), names, word, found)  # one more: a frame may be heard at several
    return {port: sorted(where) for port, where in found.items()}


def _opened(port: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(_ETHERTYPE))
    opened.bind((port, _ETHERTYPE))
    return opened


def _frame(word: bytes, port: str) -> bytes:
    name = port.encode()
    frame = _BROADCAST + _SOURCE + struct.pack("!H", _ETHERTYPE) + word + bytes([len(name)]) + name
    return frame.ljust(_LEAST_OCTETS, b"\0")


def _listen(
    sockets: Sequence[socket.socket], names: Mapping[int, str], word: bytes, found: dict[str, set[str]]
) -> None:
    end_s = time.monotonic() + _AGAIN_S
    while (left_s := end_s - time.monotonic()) > 0:
        for opened in select.select(sockets, [], [], left_s)[0]:
            with contextlib.suppress(BlockingIOError, OSError):
                data, where = opened.recvfrom(2048)
                sender = _sender(data, word)
                if where[2] != socket.PACKET_OUTGOING and sender in found:
                    found[sender].add(names[opened.fileno()])


def _sender(data: bytes, word: bytes) -> str:
    """Return the port that a frame names; empty for one that is not of this look."""
    if data[14 : 14 + len(word)] != word:
        return ""
    at = 14 + len(word)
    return data[at + 1 : at + 1 + data[at]].decode(errors="replace")

"""Which interfaces are cabled to which, found by frames of our own; node functions, for one or more places.

A frame leaves each of the named ports, with that port's full name and a word that only this look knows, and
is listened for at all of them. Where ports are in several places, each place looks at the same time, by the
same word. Ports that are not named see nothing (RFC 6815). Call it for ports that `lab_port.require_bare`
lets pass.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence

from bmwg.drivers.api.calls import Calls

_ETHERTYPE = 0x88B6  # of local experiments (IEEE 802)
_BROADCAST, _SOURCE = b"\xff" * 6, bytes.fromhex("020000627778")
_LEAST_OCTETS = 60
_AGAIN_S = 0.2  # a frame may be lost while a link comes up
_CALL_S = 20.0
WITHIN_S = 3.0
_ROUNDS_AFTER = 4  # of what is sent once everybody here has heard something: other places began later


def heard(
    places: Sequence[tuple[Calls, Mapping[str, str]]], within_s: float = WITHIN_S
) -> dict[str, list[str]]:
    """Return by port that sent the ports that heard it, all by their full names.

    `places` have their ports, up, with the full name of each. A port that has no link is heard nowhere.
    Raises what a call at a place raises.
    """
    word = secrets.token_hex(8)
    found: dict[str, set[str]] = {name: set() for _, ports in places for name in ports.values()}
    errors: list[BaseException] = []

    def look(place: Calls, ports: Mapping[str, str]) -> None:
        try:
            told = place.call_within(_CALL_S, exchange, ports=dict(ports), word=word, within_s=within_s)
            for sender, where in told.items():
                if sender in found:
                    found[sender].update(where)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=look, args=place) for place in places if place[1]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return {port: sorted(where) for port, where in found.items()}


def exchange(*, ports: dict[str, str], word: str, within_s: float) -> dict[str, list[str]]:
    """Node function: send from each port and listen at all of them; by sender, the ports here that heard it.

    It ends a little after each port here has heard somebody: what is sent from here is heard elsewhere then.
    """
    known = bytes.fromhex(word)
    found: dict[str, set[str]] = {}
    with contextlib.ExitStack() as stack:
        sockets = {port: stack.enter_context(_opened(port)) for port in ports}
        names = {opened.fileno(): ports[port] for port, opened in sockets.items()}
        end_s = time.monotonic() + within_s
        rounds_left = _ROUNDS_AFTER
        while time.monotonic() < end_s and rounds_left:
            for port, opened in sockets.items():
                with contextlib.suppress(OSError):  # its link is down
                    opened.send(_frame(known, ports[port]))
            _listen(list(sockets.values()), names, known, found)
            rounds_left -= set().union(*found.values()) >= set(ports.values())
    return {port: sorted(where) for port, where in found.items()}


def _opened(port: str) -> socket.socket:
    # with a protocol it would take frames of every interface until it is bound, and tell them as this one's
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
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
                if where[2] != socket.PACKET_OUTGOING and sender:
                    found.setdefault(sender, set()).add(names[opened.fileno()])


def _sender(data: bytes, word: bytes) -> str:
    """Return the port that a frame names; empty for one that is not of this look."""
    if data[14 : 14 + len(word)] != word:
        return ""
    at = 14 + len(word)
    return data[at + 1 : at + 1 + data[at]].decode(errors="replace")

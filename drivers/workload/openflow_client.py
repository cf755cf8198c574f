"""A control plane that gives a switch flows, and adds and removes idle ones at a rate, by OpenFlow 1.0.

    openflow_client.py SOCKET IDLE CHANGES_PER_S COUNTS MATCHED

The switch is given so many entries that no test frame matches (10.0.0.0/8, dropped), and so many that each
match one UDP source port of test frames and forward as the switch does by itself. Then one idle entry more is
added and removed again, in turn, at the rate: each is a change. The file COUNTS holds how many changes the
switch has confirmed by a barrier, -1 until all entries stand. What it refuses ends this program. SIGTERM ends
it as well, and with it all its entries. It needs the standard library alone: it runs where the switch does.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import sys
import time

_VERSION = 1
_HELLO, _ERROR, _ECHO, _ECHO_REPLY, _FLOW_MOD, _BARRIER, _BARRIER_REPLY = 0, 1, 2, 3, 14, 18, 19
_ADD, _DELETE, _DELETE_STRICT = 0, 3, 4
_HEADER = struct.Struct("!BBHI")
_MATCH = struct.Struct("!IH6s6sHBxHBBxxIIHH")
_REST = struct.Struct("!QHHHHIHH")
_ALL, _DL_TYPE, _NW_DST_SHIFT = (1 << 22) - 1, 1 << 4, 14
_TYPED = _ALL & ~_DL_TYPE & ~(0x3F << _NW_DST_SHIFT)  # all is wild but the type and the destination
_OF_UDP = _ALL & ~_DL_TYPE & ~(1 << 5)  # all is wild but the type and the protocol
_OF_PORT = _OF_UDP & ~(1 << 6)  # and the source port
_IPV4, _UDP, _FIRST_PORT = 0x0800, 17, 0xC020  # rfc2544-C.2.6.4
_NORMAL = struct.pack("!HHHH", 0, 8, 0xFFFA, 0)  # output: as a switch without flows
_NET = 10 << 24  # choice: 10.0.0.0/8, which no test frame is of (rfc2544-C.2.2)
_PRIORITY = 100  # choice: above the flow by which a bridge learns
_BATCH = 1000  # changes with one barrier, at most
_TICK_S = 0.001
_DEADLINE_S = 60.0
MOST_ENTRIES = 1 << 23  # half of the network; the other half is what comes and goes


def flow(command: int, address: int, wild_bits: int = 0) -> bytes:
    """Return the message that adds or removes the idle entry of a destination, or all of a network's."""
    return _message(command, _TYPED | wild_bits << _NW_DST_SHIFT, destination=address)


def matched(number: int) -> bytes:
    """Return the message that adds the entry of the test frames of one flow, from 0."""
    return _message(_ADD, _OF_PORT, protocol=_UDP, source_port=_FIRST_PORT + number, actions=_NORMAL)


def cleared() -> bytes:
    """Return the messages that remove all entries of either kind."""
    return flow(_DELETE, _NET, wild_bits=24) + _message(_DELETE, _OF_UDP, protocol=_UDP)


def _message(
    command: int,
    wild: int,
    *,
    destination: int = 0,
    protocol: int = 0,
    source_port: int = 0,
    actions: bytes = b"",
) -> bytes:
    match = _MATCH.pack(wild, 0, bytes(6), bytes(6), 0, 0, _IPV4, 0, protocol, 0, destination, source_port, 0)
    rest = _REST.pack(0, command, 0, 0, _PRIORITY, 0xFFFFFFFF, 0xFFFF, 0)
    octets = _HEADER.size + len(match) + len(rest) + len(actions)
    return _HEADER.pack(_VERSION, _FLOW_MOD, octets, 0) + match + rest + actions


class Switch:
    """A connection to one bridge."""

    def __init__(self, path: str) -> None:
        """Connect and greet."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(_DEADLINE_S)
        self._socket.connect(path)
        self._left = b""
        self._number = 0
        self._socket.sendall(_HEADER.pack(_VERSION, _HELLO, _HEADER.size, 0))

    def confirmed(self, messages: bytes) -> None:
        """Send messages and a barrier, and wait until the switch says that all of them are done."""
        self._number += 1
        self._socket.sendall(messages + _HEADER.pack(_VERSION, _BARRIER, _HEADER.size, self._number))
        while True:
            kind, number, body = self._next()
            if kind == _ERROR:
                raise SystemExit(f"the switch refused a flow: {body[:4].hex()}")
            if kind == _ECHO:
                self._socket.sendall(
                    _HEADER.pack(_VERSION, _ECHO_REPLY, _HEADER.size + len(body), number) + body
                )
            if kind == _BARRIER_REPLY and number == self._number:
                return

    def _next(self) -> tuple[int, int, bytes]:
        _, kind, length, number = _HEADER.unpack(self._read(_HEADER.size))
        return kind, number, self._read(length - _HEADER.size)

    def _read(self, octets: int) -> bytes:
        while len(self._left) < octets:
            part = self._socket.recv(1 << 16)
            if not part:
                raise SystemExit("the switch closed the connection")
            self._left += part
        found, self._left = self._left[:octets], self._left[octets:]
        return found


def main(path: str, idle: int, changes_per_s: int, counts: str, with_ports: int) -> None:
    """Give the switch its entries, and change them until the end."""
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    switch = Switch(path)
    told = os.open(counts, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(told, b"%020d" % -1, 0)
    switch.confirmed(cleared())
    for first in range(0, idle, _BATCH):
        switch.confirmed(b"".join(flow(_ADD, _NET + at) for at in range(first, min(idle, first + _BATCH))))
    for first in range(0, with_ports, _BATCH):
        switch.confirmed(b"".join(map(matched, range(first, min(with_ports, first + _BATCH)))))
    done, began = 0, time.monotonic()
    while not ended:
        os.pwrite(told, b"%020d" % done, 0)
        due = int((time.monotonic() - began) * changes_per_s)
        until = min(due, done + _BATCH)
        if until > done:
            switch.confirmed(b"".join(map(_change, range(done, until))))
            done = until
        if until == due:
            time.sleep(_TICK_S if changes_per_s else 0.1)
    switch.confirmed(cleared())


def _change(number: int) -> bytes:
    address = _NET + MOST_ENTRIES + number // 2 % MOST_ENTRIES
    return flow(_DELETE_STRICT if number % 2 else _ADD, address)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))

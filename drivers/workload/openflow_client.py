"""A control plane that gives a switch flows, and adds and removes idle ones at a rate, by OpenFlow 1.0.

    openflow_client.py SOCKET IDLE CHANGES_PER_S COUNTS MATCHED TIMEOUT_S RENEWED

The switch is given so many entries that no test frame matches (10.0.0.0/8, dropped), and so many that each
match one pair of UDP ports of test frames and forward as the switch does by itself. Then one idle entry more
is added and removed again, in turn, at the rate: each is a change. Or the switch takes the entries of test
frames out TIMEOUT_S after it got them (0: never) and tells each, which it gets again at once with RENEWED 1.
The file COUNTS holds how many changes the switch has confirmed by a barrier, -1 until all entries stand, and
how many entries have expired. What it refuses ends this program. SIGTERM ends it as well, and with it all its
entries. It needs the standard library alone: it runs where the switch does.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time

_VERSION = 1
_HELLO, _ERROR, _ECHO, _ECHO_REPLY, _FLOW_MOD, _BARRIER, _BARRIER_REPLY = 0, 1, 2, 3, 14, 18, 19
_SET_CONFIG, _REMOVED = 9, 11
_BY_TIME, _TELL_REMOVED = 1, 1  # a reason of removal, and the flag that asks to be told of one
_ADD, _DELETE, _DELETE_STRICT = 0, 3, 4
_HEADER = struct.Struct("!BBHI")
_MATCH = struct.Struct("!IH6s6sHBxHBBxxIIHH")
_REST = struct.Struct("!QHHHHIHH")
_REASON_AT = _MATCH.size + 10  # in the body of a message of a removed entry: behind cookie and priority
_ALL, _DL_TYPE, _NW_DST_SHIFT = (1 << 22) - 1, 1 << 4, 14
_TYPED = _ALL & ~_DL_TYPE & ~(0x3F << _NW_DST_SHIFT)  # all is wild but the type and the destination
_OF_UDP = _ALL & ~_DL_TYPE & ~(1 << 5)  # all is wild but the type and the protocol
_OF_PORTS = _OF_UDP & ~(1 << 6) & ~(1 << 7)  # and both ports
_IPV4, _UDP, _FIRST_PORT, _ECHO = 0x0800, 17, 0xC020, 7  # rfc2544-C.2.6.4
_SOURCE_PORTS = 0x10000 - _FIRST_PORT  # further flows have other destination ports (docs/adr/0509)
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


def matched(number: int, timeout_s: int = 0) -> bytes:
    """Return the message that adds the entry of the test frames of one flow, from 0, to stand so long."""
    turn, place = divmod(number, _SOURCE_PORTS)
    return _message(
        _ADD,
        _OF_PORTS,
        protocol=_UDP,
        ports=(_FIRST_PORT + place, _FIRST_PORT + turn if turn else _ECHO),
        actions=_NORMAL,
        timeout_s=timeout_s,
    )


def expired(body: bytes) -> int | None:
    """Return of which flow an entry has expired, from 0; None where one was removed that did not."""
    if body[_REASON_AT] != _BY_TIME:
        return None
    source_port, destination_port = _MATCH.unpack_from(body)[-2:]
    turn = 0 if destination_port == _ECHO else destination_port - _FIRST_PORT
    return int(turn * _SOURCE_PORTS + source_port - _FIRST_PORT)


def told() -> bytes:
    """Return the message by which Open vSwitch tells a connection of its own kind what it did not ask for.

    That is a length of packets to send, above 0: this one is sent none, for nothing has an action that does.
    """
    return _HEADER.pack(_VERSION, _SET_CONFIG, _HEADER.size + 4, 0) + struct.pack("!HH", 0, 64)


def cleared() -> bytes:
    """Return the messages that remove all entries of either kind."""
    return flow(_DELETE, _NET, wild_bits=24) + _message(_DELETE, _OF_UDP, protocol=_UDP)


def _message(
    command: int,
    wild: int,
    *,
    destination: int = 0,
    protocol: int = 0,
    ports: tuple[int, int] = (0, 0),
    actions: bytes = b"",
    timeout_s: int = 0,
) -> bytes:
    match = _MATCH.pack(wild, 0, bytes(6), bytes(6), 0, 0, _IPV4, 0, protocol, 0, destination, *ports)
    flags = _TELL_REMOVED if timeout_s else 0
    rest = _REST.pack(0, command, 0, timeout_s, _PRIORITY, 0xFFFFFFFF, 0xFFFF, flags)
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
        self.expired: list[int] = []  # flows whose entries expired, until someone takes them away
        self._socket.sendall(_HEADER.pack(_VERSION, _HELLO, _HEADER.size, 0))

    def confirmed(self, messages: bytes) -> None:
        """Send messages and a barrier, and wait until the switch says that all of them are done."""
        self._number += 1
        self._socket.sendall(messages + _HEADER.pack(_VERSION, _BARRIER, _HEADER.size, self._number))
        while self._take() != self._number:
            pass

    def wait(self, most_s: float) -> None:
        """Take what the switch says by itself within a time."""
        if not self._left and not select.select([self._socket], [], [], most_s)[0]:
            return
        self._take()
        while self._left:
            self._take()

    def _take(self) -> int | None:
        """Take one message and return the number of a barrier that it confirms."""
        kind, number, body = self._next()
        if kind == _ERROR:
            raise SystemExit(f"the switch refused a flow: {body[:4].hex()}")
        if kind == _ECHO:
            self._socket.sendall(_HEADER.pack(_VERSION, _ECHO_REPLY, _HEADER.size + len(body), number) + body)
        if kind == _REMOVED and (flow_number := expired(body)) is not None:
            self.expired.append(flow_number)
        return number if kind == _BARRIER_REPLY else None

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


def main(
    path: str, idle: int, changes_per_s: int, counts: str, with_ports: int, timeout_s: int, renewed: int
) -> None:
    """Give the switch its entries, and change or renew them until the end."""
    ended: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ended.append(number))
    switch = Switch(path)
    file = os.open(counts, os.O_WRONLY | os.O_CREAT, 0o644)
    os.pwrite(file, b"%020d %020d" % (-1, 0), 0)
    switch.confirmed(cleared() + (told() if timeout_s else b""))
    for first in range(0, idle, _BATCH):
        switch.confirmed(b"".join(flow(_ADD, _NET + at) for at in range(first, min(idle, first + _BATCH))))
    size = max(1, min(_BATCH, with_ports // 10)) if timeout_s else _BATCH
    for first in range(0, with_ports, size):
        batch = range(first, min(with_ports, first + size))
        switch.confirmed(b"".join(matched(number, timeout_s) for number in batch))
        time.sleep(timeout_s * size / with_ports)  # they expire as they came: not all of them at once
    done, gone, began = 0, 0, time.monotonic()
    while not ended:
        os.pwrite(file, b"%020d %020d" % (done, gone), 0)
        if timeout_s:
            switch.wait(0.0 if switch.expired else 0.1)
            now, switch.expired = switch.expired[:_BATCH], switch.expired[_BATCH:]
            if now and renewed:
                switch.confirmed(b"".join(matched(number, timeout_s) for number in now))
            gone += len(now)
            continue
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
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], *map(int, sys.argv[5:8]))

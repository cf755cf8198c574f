"""A gate at which clients wait, by HTTP: nobody has an answer before it is opened, then all have it at once.

A client is known by the number in the path that it asks for. One that goes away and comes again is the same.
"""

from __future__ import annotations

import re
import selectors
import socket
import time
from contextlib import suppress
from typing import Self

from bmwg.drivers.workload.jmeter_plan import BEGIN_PATH

PORT_NUMBER = 8470
_ASKED = re.compile(rb"GET " + BEGIN_PATH.encode() + rb"(\d{1,6}) HTTP/1\.1\r\n")
_LET_GO = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_HEAD_OCTETS = 8192  # choice: a request of this kind has some hundred


class Gate:
    """Listens while it is entered, and answers nobody before `open`."""

    def __init__(self, address: str, port: int = PORT_NUMBER) -> None:
        self._listens = socket.create_server((address, port), backlog=1024)
        self._listens.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listens, selectors.EVENT_READ)
        self._said: dict[socket.socket, bytes] = {}
        self._waiting: dict[int, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        for connection in [*self._said, self._listens]:
            connection.close()
        self._selector.close()

    @property
    def waiting(self) -> frozenset[int]:
        """Numbers of those that wait."""
        return frozenset(self._waiting)

    def look(self, within_s: float) -> None:
        """Take in who comes within that time."""
        end_s = time.monotonic() + within_s
        while (left_s := end_s - time.monotonic()) > 0:
            for key, _ in self._selector.select(left_s):
                if key.fileobj is self._listens:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)  # nothing else is registered
                    self._read(key.fileobj)

    def open(self) -> int:
        """Answer all that wait; return when the first answer left, by the machine's clock (ns)."""
        began_ns = time.time_ns()
        for connection in self._waiting.values():
            with suppress(OSError):  # its program's end tells of it
                connection.send(_LET_GO)
        return began_ns

    def _accept(self) -> None:
        with suppress(OSError):  # whoever came may be gone
            connection, _ = self._listens.accept()
            connection.setblocking(False)
            self._said[connection] = b""
            self._selector.register(connection, selectors.EVENT_READ)

    def _read(self, connection: socket.socket) -> None:
        try:
            octets = connection.recv(_HEAD_OCTETS)
        except OSError:
            octets = b""
        said = self._said[connection] = self._said[connection] + octets
        found = _ASKED.match(said)
        if not octets or len(said) > _HEAD_OCTETS:
            self._forget(connection)
        elif found and b"\r\n\r\n" in said:
            self._waiting[int(found[1])] = connection

    def _forget(self, connection: socket.socket) -> None:
        self._selector.unregister(connection)
        del self._said[connection]
        self._waiting = {number: one for number, one in self._waiting.items() if one is not connection}
        connection.close()

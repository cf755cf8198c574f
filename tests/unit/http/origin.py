"""An origin of known behaviour, a process of its own: it answers on loopback until its standard input ends.

    python origin.py '{"octets": 1000, "delay_s": 0.01}'

Prints its port. Settings: `octets`, `delay_s` of each answer, `fail_every` (each so many-th answer is 503),
`reset_every` (each so many-th connection is reset in place of an answer), `most_per_s` (answers leave at that
rate at most, others wait or are refused), `most_connections` (more are closed), `stops_at` (the answer
of that number comes a second late, with all behind it), `address` (127.0.0.1 without it), `says` (one of
these in place of any answer, by turns of connections, and the end), `in_parts` (its head octet by octet). A
target that is a number is an object of so many octets.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_READY_S = 10.0
_MOST_WAIT_S = 0.2  # of a limited rate; what would wait for longer is refused at once
_REFUSED = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def origin(**settings: Any) -> Iterator[int]:
    """Run one; yields its port."""
    command = [sys.executable, str(Path(__file__)), json.dumps({"octets": 1000, **settings})]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdin is not None  # noqa: PT018
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(_READY_S)


def _answer(octets: int) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nServer: o\r\nContent-Length: {octets}\r\n\r\n"
    return head.encode() + bytes(octets)


class _Origin:
    def __init__(self, octets: int, settings: dict[str, Any]) -> None:
        self._answer = _answer(octets)
        self._set = settings
        self._answers = self._connections = self._open = 0
        self._free_s = 0.0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        most = self._set.get("most_connections")
        if most is not None and self._open >= most:
            writer.close()
            return
        self._open += 1
        try:
            while asked := await reader.readuntil(b"\r\n\r\n"):
                size = asked.split(b" ")[1].removeprefix(b"/")
                if number % self._set.get("reset_every", 1 << 40) == 0:
                    sock = writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                    return
                if says := self._set.get("says"):
                    writer.write(says[number % len(says)].encode())
                    await writer.drain()
                    return
                if self._set.get("in_parts"):
                    for at in range(self._answer.index(b"\r\n\r\n") + 4):
                        writer.write(self._answer[at : at + 1])
                        await asyncio.sleep(0)
                    writer.write(self._answer[at + 1 :])
                    continue
                if not await self._wait():
                    writer.write(_REFUSED)
                    continue
                self._answers += 1
                if self._answers == self._set.get("stops_at"):
                    time.sleep(1.0)
                fails = self._answers % self._set.get("fail_every", 1 << 40) == 0
                right = _answer(int(size)) if size.isdigit() else self._answer
                writer.write(_REFUSED if fails else right)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open -= 1
            writer.close()

    async def _wait(self) -> bool:
        """Wait as the settings say; false where too many wait already."""
        delay_s = self._set.get("delay_s", 0.0)
        if rate := self._set.get("most_per_s"):
            now_s = asyncio.get_running_loop().time()
            free_s = max(now_s, self._free_s + 1 / rate)
            if free_s - now_s > _MOST_WAIT_S:
                return False
            self._free_s = free_s
            delay_s += free_s - now_s
        if delay_s:
            await asyncio.sleep(delay_s)
        return True


async def _main(settings: dict[str, Any]) -> None:
    made = _Origin(settings.pop("octets"), settings)
    server = await asyncio.start_server(made.serve, settings.get("address", "127.0.0.1"), 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(json.loads(sys.argv[1])))

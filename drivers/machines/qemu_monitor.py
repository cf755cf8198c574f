"""The control channel to one QEMU (QMP), by QEMU's own library, each command under a deadline.

The library is asyncio; one thread runs its loop, so that events are taken in while nobody asks. Ids: VM-07
the monitor is gone, late, refuses a command, or answers what is no QMP.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import socket
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from qemu.qmp import ExecuteError, QMPClient

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.errors import DriverError

_T = TypeVar("_T")
logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)  # what it would log is raised as an error as well


class Monitor:
    """One QMP conversation over a connected socket. Closing it leaves QEMU as it is."""

    def __init__(self, name: str, connection: socket.socket, *, deadline_s: float = 10.0) -> None:
        self._name = name
        self._loop = asyncio.new_event_loop()
        # what a broken connection leaves in the library's tasks was raised to the caller already
        self._loop.set_exception_handler(lambda loop, context: None)
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name=f"monitor {name}")
        self._thread.start()
        self._client = QMPClient(name)
        self._connected = False
        try:
            self._within("connect", self._connect(connection), deadline_s)
        except DriverError:
            self.close()
            raise

    async def _connect(self, connection: socket.socket) -> None:
        await self._client.connect(connection)
        self._connected = True

    def execute(
        self, command: str, arguments: Mapping[str, object] | None = None, *, deadline_s: float = 5.0
    ) -> JsonValue:
        """Run one QMP command; DriverError VM-07 when it is refused, late, or QEMU is gone."""
        return self._within(command, self._client.execute(command, arguments), deadline_s)

    def events(self) -> list[Mapping[str, JsonValue]]:
        """Return what QEMU said unasked since it was looked for last, in its order; DriverError VM-07."""
        return self._within("events", self._said(), 5.0)

    async def _said(self) -> list[Mapping[str, JsonValue]]:
        return [dict(event) for event in self._client.events.clear()]

    def close(self) -> None:
        """End the conversation. Idempotent."""
        if self._loop.is_closed():
            return
        if self._connected:
            with contextlib.suppress(DriverError):
                self._within("disconnect", self._client.disconnect(), 1.0)
        with contextlib.suppress(DriverError):
            self._within("settle", _settle(), 1.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(2.0)
        if not self._thread.is_alive():
            self._loop.close()

    def _within(self, what: str, work: Coroutine[Any, Any, _T], deadline_s: float) -> _T:
        if self._loop.is_closed():
            work.close()
            raise self._failure(what, "a conversation that was closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(deadline_s)
        except (TimeoutError, concurrent.futures.TimeoutError) as error:
            future.cancel()
            raise self._failure(what, f"no answer within {deadline_s:g} s") from error
        except ExecuteError as error:
            raise self._failure(what, str(error)) from error
        # of an answer that is no QMP the library raises what comes: AssertionError, KeyError
        except (Exception, asyncio.CancelledError) as error:
            raise self._failure(what, f"{type(error).__name__} {error}".strip()) from error

    def _failure(self, what: str, found: str) -> DriverError:
        return DriverError("VM-07", f"guest {self._name}: QMP {what}", expected="an answer", found=found)


async def _settle() -> None:
    """Let what was cancelled end before its loop does."""
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=0.5)

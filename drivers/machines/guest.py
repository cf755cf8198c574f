"""A guest as a node: our agent inside it, over a virtio serial port instead of standard streams.

The far end is the same code as on every node. Ids: VM-05 the guest did not boot.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from execnet import Gateway, gateway_base, gateway_bootstrap

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes.agent import AgentNode
from bmwg.methodology.errors import TestbedError, ToolkitError


class _ChannelIO(gateway_base.Popen2IO):
    """execnet's two byte streams over one connected socket, in place of a child's pipes."""

    def __init__(self, connection: socket.socket, execmodel: Any) -> None:
        self._connection = connection
        super().__init__(connection.makefile("wb"), connection.makefile("rb"), execmodel)

    def wait(self) -> None:
        """Nothing to wait for: the machine is ended by whoever started it."""

    def kill(self) -> None:
        """Cut the channel, which ends a reader that still waits on it."""
        self._shut(socket.SHUT_RDWR)

    def close_write(self) -> None:
        self._shut(socket.SHUT_WR)

    def close_read(self) -> None:
        self._shut(socket.SHUT_RD)

    def _shut(self, how: int) -> None:
        try:
            self._connection.shutdown(how)
        except OSError:
            return


def _greet(io: _ChannelIO, spec: Any) -> Any:
    """Start execnet at the far end from the host's own copy of it, which the guest sees at the same path."""
    gateway_bootstrap.bootstrap_import(io, spec)
    return Gateway(io, spec)


class GuestNode(AgentNode):
    """The node inside a booted machine. `broken_machine` tells why the machine cannot answer any more."""

    def __init__(
        self,
        name: str,
        connection: socket.socket,
        *,
        boot_deadline_s: float,
        broken_machine: Callable[[], str | None],
        console: Callable[[], list[str]],
        describe: Callable[[], Mapping[str, JsonValue]],
    ) -> None:
        super().__init__(name, {"popen": True, "execmodel": "main_thread_only"})
        self.start_deadline_s = boot_deadline_s
        self._connection = connection
        self._boot_deadline_s = boot_deadline_s
        self._broken_machine = broken_machine
        self._console = console
        self._describe = describe

    def _start(self, spec: Any) -> Any:
        """Wait until the guest's agent answers; give up at once when the machine has ended."""
        result: list[Any] = []
        self._group.allocate_id(spec)

        def connect() -> None:
            try:
                io = _ChannelIO(self._connection, self._group.execmodel)
                gateway = _greet(io, spec)
                gateway.spec = spec
                result.append(gateway)
            except BaseException as error:
                result.append(error)

        thread = threading.Thread(target=connect, daemon=True, name=f"boot {self.name}")
        thread.start()
        end_s = time.monotonic() + self._boot_deadline_s
        why = None
        while not result and why is None and time.monotonic() < end_s:
            thread.join(0.05)
            why = self._broken_machine()
        if not result or isinstance(result[0], BaseException):
            self._connection.close()
            silence = f"silence for {self._boot_deadline_s:g} s; the console's end: "
            cause = why or self._broken_machine() or silence + (" | ".join(self._console()[-8:]) or "nothing")
            raise TestbedError(
                "VM-05",
                f"guest {self.name} did not boot",
                expected=f"its agent within {self._boot_deadline_s:g} s",
                found=cause,
            )
        self.start_deadline_s = max(1.0, end_s - time.monotonic())  # its first answer is within it
        self._group._register(result[0])
        return result[0]

    def _lost(self, cause: str) -> ToolkitError:  # type: ignore[override]
        return super()._lost(self._broken_machine() or cause)

    def describe(self) -> Mapping[str, JsonValue]:
        """What this node is: accelerator, kernel, NICs."""
        return self._describe()


_: type[Node] = GuestNode

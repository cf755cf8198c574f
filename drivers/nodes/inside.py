"""Run a node function inside the network namespace of a pod, without starting a Python there.

A forked child of the agent enters the namespace, mounts the matching /sys, runs the function and hands the
result back as JSON; the agent itself never changes namespace. Ids: POD-07.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import time
from typing import NoReturn

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import mounts
from bmwg.drivers.nodes.agent import decode_error, encode_error, resolve
from bmwg.methodology.errors import DriverError, ToolkitError

_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def run(*, pid: int, function: str, arguments: dict[str, JsonValue], within_s: float = 10.0) -> JsonValue:
    """Node function: `function(**arguments)` in the network namespace of process `pid`, else the node's own.

    Arguments and result must be JSON. Raises what the function raises; DriverError POD-07 past the deadline.
    """
    target = resolve(function)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _child(write_end, pid, lambda: target(**arguments))
    os.close(write_end)
    try:
        text = _read_all(read_end, time.monotonic() + within_s)
    finally:
        os.close(read_end)
        os.kill(child, signal.SIGKILL)  # it has ended, or it is late
        os.waitpid(child, 0)
    if not text:
        raise DriverError(
            "POD-07",
            f"{function} in the network namespace of process {pid}",
            expected=f"a result within {within_s:g} s",
            found="none",
        )
    kind, content = json.loads(text)
    if kind == "value":
        return content
    if kind == "error":
        raise decode_error(content)
    raise DriverError("POD-07", f"{function} in the network namespace of process {pid}", found=str(content))


def _child(write_end: int, pid: int, act: object) -> NoReturn:
    try:
        try:
            _enter(pid)
            reply = ["value", act()]  # type: ignore[operator]
            text = json.dumps(reply)
        except ToolkitError as error:
            text = json.dumps(["error", encode_error(error)])
        except BaseException as error:
            text = json.dumps(["crash", f"{type(error).__name__}: {error}"])
        data = text.encode()
        while data:
            data = data[os.write(write_end, data) :]
    finally:
        os._exit(0)


def _enter(pid: int) -> None:
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
            raise DriverError("POD-07", f"setns to process {pid}", found=os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)
    mounts.fresh_sys()


def _read_all(descriptor: int, end_s: float) -> str:
    parts: list[bytes] = []
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while poll.poll(max(0, (end_s - time.monotonic()) * 1000)):
        part = os.read(descriptor, 65536)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)
    return ""

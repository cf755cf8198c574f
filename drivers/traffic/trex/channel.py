"""The seam between our driver and TRex's client: calls out, returned structures in, each under a deadline.

A `Client` is anything with `call`. `ClientProcess` is the real one; `Recorder` writes what passes to a
transcript, and `Replay` answers from one, so that the driver is held to what a real server said.
Ids: TREX-04 the client cannot be used, TREX-05 no answer, TREX-06 the server refuses, TREX-07 nonsense.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol

from bmwg.drivers.traffic.embedded.process import KILLED_DEADLINE_S
from bmwg.methodology.errors import DriverError, TestbedError

SESSION = Path(__file__).with_name("session.py")
ASTF_SESSION = Path(__file__).with_name("astf_session.py")
START_DEADLINE_S = 30.0
REPLY_LIMIT_OCTETS = 16 * 1024 * 1024


class RefusedError(Exception):
    """TRex's client or server says no: `kind` is its exception, `text` what it says."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        self.text = text
        super().__init__(f"{kind}: {text}")


class Client(Protocol):
    """Calls a method of TRex's client and returns its answer as data; RefusedError, DriverError TREX-05."""

    def call(self, method: str, /, *, deadline_s: float, **arguments: Any) -> Any:
        """Make one call."""

    def close(self) -> None:
        """End the client."""


class ClientProcess:
    """TRex's client in a process of its own, in the network namespace in which the server listens."""

    def __init__(self, folder: Path, *, netns: str | None, log: IO[bytes], script: Path = SESSION) -> None:
        """Start it; TestbedError TREX-04 when this Python cannot load the client."""
        argv = [sys.executable, "-I", str(script), str(folder), str(os.getpid())]
        if netns is not None:
            argv = ["nsenter", f"--net={netns}", "--", *argv]
        self._buffer = b""
        self._broken: str | None = None
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd="/", start_new_session=True
        )
        try:
            self._read(START_DEADLINE_S, "its start")
        except (RefusedError, DriverError) as error:
            self.close()
            raise TestbedError(
                "TREX-04",
                f"driver trex: the client in {folder} cannot be used; no traffic was sent",
                expected="to be imported by this Python",
                found=str(error),
                hint=f"its messages are in {getattr(log, 'name', 'the log')}",
            ) from error

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def call(self, method: str, /, *, deadline_s: float, **arguments: Any) -> Any:
        """One call; a client that dies or does not answer in time is ended, DriverError TREX-05."""
        if self._broken is not None:
            raise self._gone(method, self._broken)
        line = json.dumps({"call": method, "arguments": arguments}).encode() + b"\n"
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            self._broken = f"the client's process ended ({error})"
            raise self._gone(method, self._broken) from error
        return self._read(deadline_s, method)

    def _read(self, deadline_s: float, what: str) -> Any:
        try:
            line = self._line(time.monotonic() + deadline_s, what)
        except BaseException:
            # request and reply are out of step from here on, an interrupt included
            self._broken = self._broken or f"{what} was not finished"
            self._process.kill()
            raise
        return read_reply(line)

    def _line(self, end_s: float, what: str) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                left_s = end_s - time.monotonic()
                if left_s <= 0 or not selector.select(left_s):
                    self._broken = f"no answer to {what} within its deadline"
                    raise self._gone(what, self._broken)
                received = os.read(descriptor, 1 << 16)
                if not received:
                    self._broken = f"the client's process ended during {what}"
                    raise self._gone(what, self._broken)
                self._buffer += received
                if len(self._buffer) > REPLY_LIMIT_OCTETS:
                    raise DriverError("TREX-07", f"TRex's client: {what}", found="a reply without end")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _gone(self, method: str, found: str) -> DriverError:
        return DriverError("TREX-05", f"TRex's client: {method}", expected="an answer", found=found)

    def close(self) -> None:
        """End the process: by closing its pipe, then by its pid."""
        if self._process.stdin is not None:
            try:
                self._process.stdin.close()
            except OSError:
                self._process.kill()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # it may be in the kernel's hands
                self._process.wait(KILLED_DEADLINE_S)
        if self._process.stdout is not None:
            self._process.stdout.close()


def read_reply(line: bytes | str) -> Any:
    """Return the result of a reply line; RefusedError with the client's reason, DriverError TREX-07."""
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError) as error:
        found = repr(line[:200])
        raise DriverError("TREX-07", "TRex's client", expected="a line of JSON", found=found) from error
    if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
        raise RefusedError(str(reply["error"].get("type")), str(reply["error"].get("text")))
    if not isinstance(reply, dict) or "result" not in reply:
        raise DriverError(
            "TREX-07", "TRex's client", expected="a result or an error", found=repr(reply)[:200]
        )
    return reply["result"]


class Recorder:
    """Passes calls on and appends each with its answer to a transcript (JSON lines)."""

    def __init__(self, client: Client, transcript: IO[str]) -> None:
        self._client = client
        self._transcript = transcript

    def call(self, method: str, /, *, deadline_s: float, **arguments: Any) -> Any:
        """One call, written down before its answer is used."""
        entry: dict[str, Any] = {"call": method, "arguments": arguments}
        try:
            entry["result"] = self._client.call(method, deadline_s=deadline_s, **arguments)
        except RefusedError as error:
            entry["error"] = {"type": error.kind, "text": error.text}
            raise
        except DriverError as error:
            entry["gone"] = error.found
            raise
        finally:
            self._transcript.write(json.dumps(entry) + "\n")
            self._transcript.flush()
        return entry["result"]

    def close(self) -> None:
        """End the real client."""
        self._client.close()


class Replay:
    """Answers from a transcript, in its order; a call that the transcript does not have next is an error.

    Counters may be asked for again and again while they settle: the last answer to such a call stands.
    """

    REPEATABLE = frozenset({"get_stats", "get_traffic_stats"})

    def __init__(self, lines: Iterator[str]) -> None:
        self._entries = [json.loads(line) for line in lines if line.strip()]
        self._last: dict[str, Any] = {}

    def call(self, method: str, /, *, deadline_s: float, **arguments: Any) -> Any:
        """The recorded answer; DriverError TREX-07 when the driver departs from what was recorded."""
        entry = self._entries[0] if self._entries else {"call": "nothing", "arguments": {}}
        if entry["call"] != method and method in self.REPEATABLE and method in self._last:
            return self._last[method]
        while entry["call"] != method and entry["call"] in self.REPEATABLE and self._entries:
            self._entries.pop(0)  # it settled earlier this time
            entry = self._entries[0] if self._entries else {"call": "nothing", "arguments": {}}
        if entry["call"] != method or entry["arguments"] != json.loads(json.dumps(arguments)):
            raise DriverError(
                "TREX-07",
                f"transcript: {method} {arguments}",
                expected=f"{entry['call']} {entry['arguments']}",
                found="a call that was not recorded here",
            )
        self._entries.pop(0)
        if "gone" in entry:
            raise DriverError("TREX-05", f"TRex's client: {method}", found=str(entry["gone"]))
        answer = read_reply(json.dumps(entry))
        self._last[method] = answer
        return answer

    @property
    def left(self) -> int:
        """How many recorded calls were not made."""
        return len(self._entries)

    def close(self) -> None:
        """Nothing to end."""

"""The process of ours that runs on a node, and the runner's end of the channel to it.

The channel is execnet over standard streams; only builtins cross. One call at a time, each under a deadline.
Ids: NODE-01 cannot start, NODE-02 package absent or another version, NODE-03 deadline exceeded or node lost,
NODE-04 unexpected exception on the node, NODE-05 what was passed is no builtin, NODE-06 no such function.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import struct
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import execnet

import bmwg
from bmwg.drivers.api.protocols import Calls, JsonValue
from bmwg.methodology import errors
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

TRACEBACK_LINES = 12  # choice: what still fits a terminal
START_DEADLINE_S = 30.0  # choice: a cold Python start on a busy machine takes about a second
_CALL_DEADLINE_S = 30.0  # choice: of a call that says nothing
# execnet 2.1 lets struct.error through for integers below -2**31
_NOT_SENDABLE = (execnet.DumpError, struct.error)
CLOSE_DEADLINE_S = 3.0  # choice: after that the agent is killed

# Sent as text, because the package may be absent on the node; it must say so instead of dying.
_BOOT = """
try:
    import bmwg
    from bmwg.drivers.nodes import agent
except ImportError as error:
    import sys
    channel.send(["absent", "%s (python %s)" % (error, sys.executable)])
else:
    channel.send(["present", bmwg.__version__])
    agent.serve(channel)
"""


def serve(channel: Any) -> None:
    """Answer calls until the runner goes away. Runs on the node, in the main thread."""
    with contextlib.suppress(OSError):
        os.setsid()  # Ctrl-C at the runner's terminal must reach the runner only: it tears down through us
    signal.signal(signal.SIGINT, _interrupt_call)
    while True:
        try:
            number, function, arguments = channel.receive()
        except EOFError:
            return
        reply = [number, *_run(function, arguments)]
        try:
            channel.send(reply)
        except Exception as error:
            # the classes of the far end are copies that execnet sent there, not those of `import execnet`
            if type(error).__name__ not in {kind.__name__ for kind in _NOT_SENDABLE}:
                raise
            refused = DriverError(
                "NODE-05", f"result of {function}", expected="builtins only", found=str(error)
            )
            channel.send([number, "error", encode_error(refused)])


_running = False  # whether a call is being served; only then SIGINT means anything


def _interrupt_call(number: int, frame: object) -> None:
    if _running:
        raise KeyboardInterrupt


def _run(function: str, arguments: dict[str, JsonValue]) -> list[JsonValue]:
    global _running  # noqa: PLW0603 - read by a signal handler, which has no other place to look
    try:
        _running = True
        return ["value", resolve(function)(**arguments)]
    except KeyboardInterrupt:
        return ["crash", "interrupted by the runner"]
    except ToolkitError as error:
        return ["error", encode_error(error)]
    except Exception:
        tail = traceback.format_exc().strip().splitlines()[-TRACEBACK_LINES:]
        return ["crash", "\n".join(tail)]
    finally:
        _running = False


def _callable_here(module_name: str) -> bool:
    if module_name.startswith("bmwg."):
        return True
    from bmwg.methodology.offers import packages  # reading entry points is slow, and most agents need none

    return "." in module_name and module_name.partition(".")[0] in packages()


def resolve(function: str) -> Callable[..., JsonValue]:
    """Find `"package.module:function"`: a module-level function of ours, or of who offers us a driver."""
    module_name, _, name = function.partition(":")
    if not _callable_here(module_name) or not name or name.startswith("_"):
        raise DriverError(
            "NODE-06",
            f"call of {function!r}",
            expected='"bmwg.package.module:function", or of a package with entry points for the toolkit',
            found=repr(function),
        )
    try:
        target = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise DriverError("NODE-06", f"call of {function!r}", found=str(error)) from error
    if not callable(target):
        raise DriverError("NODE-06", f"call of {function!r}", expected="a function", found=repr(target))
    return target  # type: ignore[no-any-return]


def encode_error(error: ToolkitError) -> dict[str, JsonValue]:
    """Turn an error into builtins; the nearest class of `methodology.errors` names who can mend it."""
    known = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    return {
        "class": known.__name__,
        "error_id": error.error_id,
        "what": error.what,
        "expected": error.expected,
        "found": error.found,
        "hint": error.hint,
    }


def decode_error(fields: Mapping[str, str]) -> ToolkitError:
    """Build the error that `encode_error` described."""
    kind = getattr(errors, fields["class"], DriverError)
    if not (isinstance(kind, type) and issubclass(kind, ToolkitError)):
        kind = DriverError
    return kind(
        fields["error_id"],
        fields["what"],
        expected=fields["expected"],
        found=fields["found"],
        hint=fields["hint"],
    )


class AgentNode(Calls):
    """Runner's end: a node reached by an execnet specification. Broken stays broken, with its first cause.

    Open and close it as a context manager. `options` are execnet's own keys (`popen`, `python`, `ssh` ...).
    """

    start_deadline_s = START_DEADLINE_S

    def __init__(self, name: str, options: Mapping[str, str | bool]) -> None:
        self.name = name
        self._options = dict(options)
        self._group: Any = None
        self._channel: Any = None
        self._number = 0
        self._broken: str | None = None
        self._lock = threading.RLock()

    def open(self) -> None:
        """Start the agent and check that it is our version."""
        self._group = execnet.Group()
        spec = execnet.XSpec(
            "//".join(key if value is True else f"{key}={value}" for key, value in self._options.items())
        )
        try:
            gateway = self._start(spec)
            self._channel = gateway.remote_exec(_BOOT)
            state, detail = self._channel.receive(self.start_deadline_s)
        except (OSError, EOFError, execnet.HostNotFound, execnet.TimeoutError, execnet.RemoteError) as error:
            self._kill()
            raise self._start_failure(error) from error
        if state == "absent":
            self._kill()
            raise TestbedError(
                "NODE-02",
                f"node {self.name}: this package is not importable there",
                expected=f"bmwg {bmwg.__version__}",
                found=str(detail),
                hint="install the toolkit into the node's Python, or name the right interpreter as `python`",
            )
        if detail != bmwg.__version__:
            self._kill()
            raise TestbedError(
                "NODE-02",
                f"node {self.name}: another version of this package is installed there",
                expected=f"bmwg {bmwg.__version__}",
                found=f"bmwg {detail}",
                hint="install the same version on both sides",
            )

    def _start(self, spec: Any) -> Any:
        return self._group.makegateway(spec)

    def _start_failure(self, error: BaseException) -> ToolkitError:
        return TestbedError(
            "NODE-01", f"node {self.name}: its agent did not start", found=f"{type(error).__name__} {error}"
        )

    def call_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, deadline_s: float | None = None
    ) -> JsonValue:
        """Run a function of this package on the node; see `drivers.api.Node`."""
        deadline_s = _CALL_DEADLINE_S if deadline_s is None else deadline_s
        with self._lock:
            if self._broken is not None or self._channel is None:
                raise DriverError(
                    "NODE-03",
                    f"node {self.name} cannot run {function}",
                    expected="an open node",
                    found=self._broken or "a node that is not open",
                )
            self._number += 1
            try:
                self._channel.send([self._number, function, dict(arguments)])
            except _NOT_SENDABLE as error:
                raise DriverError(
                    "NODE-05", f"arguments of {function}", expected="builtins only", found=str(error)
                ) from error
            except OSError as error:
                raise self._lost(f"agent gone before {function}: {error}") from error
            kind, content = self._reply(function, deadline_s)
        if kind == "value":
            return content
        if kind == "error":
            raise decode_error(content)
        raise DriverError("NODE-04", f"{function} failed on node {self.name}", found=f"\n{content}")

    def _reply(self, function: str, deadline_s: float) -> tuple[str, JsonValue]:
        end_s = time.monotonic() + deadline_s
        while True:
            try:
                reply = self._channel.receive(max(0.001, end_s - time.monotonic()))
            except execnet.TimeoutError as error:
                raise self._lost(f"{function} exceeded its deadline of {deadline_s:g} s") from error
            except (EOFError, execnet.RemoteError) as error:
                raise self._lost(
                    f"agent died during {function}: {str(error) or type(error).__name__}"
                ) from error
            except BaseException:  # Ctrl-C: the call must not keep the tear-down waiting
                self._interrupt(function)
                raise
            number, kind, content = reply
            if number == self._number:  # else the answer of a call that Ctrl-C interrupted
                return kind, content

    def _interrupt(self, function: str) -> None:
        """Stop the call that runs; here the node is given up, since nothing reaches it but the channel."""
        self._lost(f"{function} was interrupted")

    def _lost(self, cause: str) -> DriverError:
        self._broken = cause
        self._kill()
        return DriverError(
            "NODE-03",
            f"node {self.name} is broken and was shut down",
            found=cause,
            hint="what was built there is undone by `bmwg cleanup`",
        )

    @property
    def broken(self) -> str | None:
        """Why the node can no longer be used, or `None`."""
        return self._broken

    def _kill(self, deadline_s: float = 0.2) -> None:
        self._channel = None
        if self._group is not None:
            self._group.terminate(timeout=deadline_s)
            self._group = None

    def close(self) -> None:
        """End the agent. Idempotent."""
        with self._lock:
            self._kill(CLOSE_DEADLINE_S)
            self._broken = self._broken or "it was closed"

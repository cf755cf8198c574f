"""Nodes on other machines, reached by the system's own `ssh` and the user's own configuration of it.

The toolkit must be installed in the remote Python. Ids: NODE-20 cannot connect, NODE-21 wrong destination.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.agent import AgentNode
from bmwg.methodology.errors import ConfigError, DriverError, TestbedError, ToolkitError

_DESTINATION = re.compile(
    r"(?:(?P<user>[^@\s:]+)@)?(?P<host>[^@\s:-][^@\s:]*|\[[0-9a-fA-F:]+\])(?::(?P<port>\d+))?"
)
# A connection that stalls ends by itself, within these seconds; nobody is there to type a password.
_OPTIONS = {
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "Compression": "no",
}
_START_DEADLINE_S = 180.0  # choice: of a connection that stands; a busy translated guest took over 30 s


class SshNode(AgentNode):
    """A node that is another machine. `destination` is `[user@]host[:port]`; the host may be an alias.

    `options` are ssh_config(5) keywords given for this node (`IdentityFile`, `UserKnownHostsFile` ...); they
    precede the user's own configuration. `python` is the interpreter on that machine that has the toolkit.
    A host that is not there, or answers no more, ends the connection itself: only a slow one is waited for.
    """

    start_deadline_s = _START_DEADLINE_S

    def __init__(
        self,
        name: str,
        destination: str,
        *,
        python: str = "python3",
        options: Mapping[str, str] | None = None,
        owner: str = "",
    ) -> None:
        match = _DESTINATION.fullmatch(destination)
        if match is None:
            raise ConfigError(
                "NODE-21", f"node {name}: ssh", expected="[user@]host[:port]", found=repr(destination)
            )
        self._parts = match.groupdict()
        self._destination = destination
        self._python = python
        self._ssh_options = dict(options or {})
        self._stack = contextlib.ExitStack()
        command = ["env", f"{process.OWNER_VARIABLE}={owner}", python] if owner else [python]
        super().__init__(
            name,
            {
                "ssh": self._parts["host"].strip("[]"),
                "python": shlex.join(command),
                "execmodel": "main_thread_only",
            },
        )

    @classmethod
    def from_place(cls, place: Mapping[str, JsonValue]) -> SshNode:
        """Reach the node again that `place` named."""
        return cls(str(place["name"]), place["destination"], python=place["python"], options=place["options"])

    @property
    def machine(self) -> SshNode:
        """The machine that the node is on."""
        return self

    @property
    def place(self) -> dict[str, JsonValue]:
        """What a ledger keeps of this node. It stays on this machine: it holds a host name."""
        return {
            "kind": "ssh",
            "name": self.name,
            "destination": self._destination,
            "python": self._python,
            "options": self._ssh_options,
        }

    def __enter__(self) -> SshNode:
        """Connect, and check that our package is there."""
        if shutil.which("ssh") is None:
            raise TestbedError("NODE-20", "no `ssh` in PATH", hint="apt-get install openssh-client")
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bmwg-ssh-"))
        path = Path(folder) / "config"
        path.write_text(self._configuration())
        self._options["ssh_config"] = str(path)
        try:
            self.open()
        except ToolkitError:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
        self._stack.close()

    def _configuration(self) -> str:
        own = dict(_OPTIONS)
        if self._parts["user"]:
            own["User"] = self._parts["user"]
        if self._parts["port"]:
            own["Port"] = self._parts["port"]
        own |= self._ssh_options
        for key, value in own.items():
            if not key.isalnum() or "\n" in value:
                raise ConfigError("NODE-21", f"node {self.name}: ssh option {key!r}", found=repr(value))
        user = Path("~/.ssh/config").expanduser()
        lines = [f"{key} {value}" for key, value in own.items()]  # the first value of a keyword counts
        return "\n".join([*lines, f'Include "{user}"', "Include /etc/ssh/ssh_config", ""])

    def _start(self, spec: Any) -> Any:
        """Connect under a deadline: the bootstrap reads without one."""
        result: list[Any] = []

        def connect() -> None:
            # `ssh` inherits it: Ctrl-C at the runner's terminal must not cut what the tear-down goes over
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                result.append(self._group.makegateway(spec))
            except BaseException as error:
                result.append(error)

        thread = threading.Thread(target=connect, daemon=True, name=f"connect {self.name}")
        thread.start()
        thread.join(self.start_deadline_s)
        if not result:
            self._end_ssh()
            raise DriverError(
                "NODE-20",
                f"node {self.name}",
                expected=f"an agent within {self.start_deadline_s:g} s",
                found="a connection that stands, and silence",
            )
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]

    def _end_ssh(self) -> None:
        """End the `ssh` whose gateway was never made: by the configuration that is its own."""
        mine = str(self._options["ssh_config"]).encode()
        for pid, words in process.each("cmdline"):
            if mine in words:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)

    def _start_failure(self, error: BaseException) -> ToolkitError:
        return TestbedError(
            "NODE-20",
            f"node {self.name}: no agent over ssh",
            expected="a connection without a password, and a Python there",
            found=f"{type(error).__name__} {error}".strip(),
            hint=f"try: ssh {self._parts['host']} {self._python} -c '\"import bmwg\"'",
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """What this node is; the host name stays out, since records are published."""
        return {"kind": "ssh", "name": self.name}


_: type[Node] = SshNode

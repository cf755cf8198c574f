"""Nodes on other hosts that leave those hosts as they are: namespaces there, made and held over SSH.

The node's agent is started by `unshare` at the far end, so what a run routes, forwards or filters lies in
namespaces of its own, which end with that agent and with what it started.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes import namespace, process
from bmwg.drivers.nodes.namespace import UNSHARE
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.methodology.errors import TestbedError, ToolkitError

ON_HOST = "host_namespace"  # a place of the ledger: namespaces on a host


class HostNamespaceNode(SshNode):
    """A node that is a set of namespaces on `host`, which is open and stays so; needs root there.

    `keep` are paths of the host under /run that stay visible in the node. `owner` labels the agent and all
    that it starts (kind `owner` of the ledger, on that host).
    """

    def __init__(self, name: str, host: SshNode, *, keep: Sequence[str | Path] = (), owner: str = "") -> None:
        where = host.place
        super().__init__(name, where["destination"], python=where["python"], options=where["options"])
        label = ["env", f"{process.OWNER_VARIABLE}={owner}"] if owner else []
        self._options["python"] = shlex.join([*label, *UNSHARE, where["python"]])
        self._host = host
        self._keep = [str(path) for path in keep]
        self.pid = 0
        self.start_ticks = 0

    def __enter__(self) -> HostNamespaceNode:
        """Make the namespaces and furnish them."""
        super().__enter__()
        try:
            held = self.call(namespace.furnish, hostname=self.name, keep=self._keep, die_with_pid=0)
        except ToolkitError:
            self.__exit__(None, None, None)
            raise
        self.pid, self.start_ticks = held["pid"], held["start_ticks"]
        return self

    @property
    def machine(self) -> SshNode:
        """The host that the namespaces are on, as it is."""
        return self._host

    @property
    def place(self) -> dict[str, JsonValue]:
        """What a ledger keeps of this node: which process holds it, and on which host."""
        return {
            "kind": ON_HOST,
            "name": self.name,
            "pid": self.pid,
            "start_ticks": self.start_ticks,
            "host": self._host.place,
        }

    @property
    def netns_path(self) -> str:
        """The node's network namespace, on its host; valid while the node is open."""
        return f"/proc/{self.pid}/ns/net"

    def describe(self) -> Mapping[str, JsonValue]:
        """What this node is; the host's name stays out, since records are published."""
        return {"kind": ON_HOST, "name": self.name, "namespaces": ["network", "mount", "uts"]}

    def _interrupt(self, function: str) -> None:
        """Stop the call that runs and keep the node: the tear-down needs it."""
        try:
            self._host.call(process.interrupt, pid=self.pid, start_ticks=self.start_ticks)
        except ToolkitError:
            super()._interrupt(function)

    def _start_failure(self, error: BaseException) -> ToolkitError:
        """Say it without the host's name: a run's answers hold this text."""
        return TestbedError(
            "NODE-20",
            f"node {self.name}: no namespaces on its host over ssh",
            expected="root there, and `unshare` (util-linux)",
            found=type(error).__name__,
        )


_: type[Node] = HostNamespaceNode

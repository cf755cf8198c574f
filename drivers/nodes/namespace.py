"""Nodes on this machine: one process of ours that holds its own network, mount and UTS namespaces.

The namespaces live exactly as long as that process (and what was started in them): nothing is bound into
the file system, so nothing can be left there. Ids: NODE-10 not root, NODE-11 a mount or setting was refused.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes import mounts, process
from bmwg.drivers.nodes.agent import AgentNode
from bmwg.drivers.nodes.here import HERE, Here
from bmwg.methodology.errors import TestbedError, ToolkitError

UNSHARE = ["unshare", "--net", "--mount", "--uts", "--propagation", "private"]


class NamespaceNode(AgentNode):
    """A node that is a set of namespaces on this machine. Needs root.

    `keep` are host paths under /run that stay visible in the node (a run's folder, for example); everything
    else under /run and /var/lib/cni is the node's own and vanishes with it. `owner` labels the agent and
    all that it starts (kind `owner` of the ledger).
    """

    def __init__(self, name: str, *, keep: Sequence[str | Path] = (), owner: str = "") -> None:
        label = ["env", f"{process.OWNER_VARIABLE}={owner}"] if owner else []
        python = shlex.join([*label, *UNSHARE, sys.executable])
        super().__init__(name, {"popen": True, "python": python, "execmodel": "main_thread_only"})
        self._keep = [str(path) for path in keep]
        self.pid = 0
        self.start_ticks = 0

    def __enter__(self) -> NamespaceNode:
        """Make the namespaces and furnish them."""
        if os.geteuid() != 0:
            raise TestbedError(
                "NODE-10",
                f"node {self.name}: network namespaces need root",
                expected="uid 0",
                found=f"uid {os.geteuid()}",
                hint="run the command with sudo",
            )
        if shutil.which(UNSHARE[0]) is None:
            raise TestbedError("NODE-01", "no `unshare` in PATH", hint="apt-get install util-linux")
        self.open()
        try:
            held = self.call(
                furnish,
                hostname=self.name,
                keep=self._keep,
                # the signal follows the *thread* that started the agent; elsewhere end-of-file has to do
                die_with_pid=os.getpid() if threading.current_thread() is threading.main_thread() else 0,
            )
        except ToolkitError:
            self.close()
            raise
        self.pid = held["pid"]
        self.start_ticks = held["start_ticks"]
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _interrupt(self, function: str) -> None:
        """Stop the call that runs and keep the node: the tear-down needs it. Its late answer is dropped."""
        if process.same(self.pid, self.start_ticks):
            os.kill(self.pid, signal.SIGINT)
        else:
            super()._interrupt(function)

    @property
    def machine(self) -> Here:
        """The machine that the namespaces are on, as it is."""
        return HERE

    @property
    def place(self) -> dict[str, JsonValue]:
        """What a ledger keeps of this node."""
        return {"kind": "namespace", "name": self.name, "pid": self.pid, "start_ticks": self.start_ticks}

    @property
    def netns_path(self) -> str:
        """The node's network namespace, for setns() and for device plugins; valid while the node is open."""
        return f"/proc/{self.pid}/ns/net"

    def describe(self) -> Mapping[str, JsonValue]:
        """What this node is; it shares kernel, clock and file system with the runner's machine."""
        return {"kind": "namespace", "name": self.name, "namespaces": ["network", "mount", "uts"]}


def furnish(*, hostname: str, keep: list[str], die_with_pid: int) -> JsonValue:
    """Node function: bind this process' life to the runner's and give its namespaces their own state.

    Returns pid and start time (clock ticks since boot): together they identify the agent.
    """
    if die_with_pid:
        process.die_with_parent(die_with_pid)
    mounts.furnish(keep)
    process.set_hostname(hostname)
    from bmwg.drivers.ports import interfaces, sysctl  # after /sys and /proc are the node's own

    interfaces.up(interface="lo")
    sysctl.quiet_defaults()
    return {"pid": os.getpid(), "start_ticks": process.start_ticks(os.getpid())}


_: type[Node] = NamespaceNode

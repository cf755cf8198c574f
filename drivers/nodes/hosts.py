"""Hosts over SSH that a run uses: reached, checked, and held for it alone. Nothing is changed on them here.

Ids: NODE-10 not root there, NODE-22 a CPU that is not on there, and what `ssh` and `lease` raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bmwg.drivers.nodes import lease, probe
from bmwg.drivers.nodes.host_namespace import HostNamespaceNode
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.methodology.errors import TestbedError, ToolkitError

BedNode = NamespaceNode | HostNamespaceNode  # a set of namespaces, of this machine or of a host


@contextmanager
def open_hosts(wanted: Sequence[HostSpec]) -> Iterator[dict[str, SshNode]]:
    """Reach hosts, by name, and have their ports and CPUs alone meanwhile.

    Raises TestbedError NODE-20 (no connection), NODE-02 (no or another toolkit there), NODE-10 (not root),
    NODE-22 (a CPU that is not on there), LOCK-01 (another run has a port or a CPU there).
    """
    with ExitStack() as stack:
        hosts = {}
        for host_spec in wanted:
            host = stack.enter_context(
                SshNode(f"{host_spec.name}/host", host_spec.ssh, python=host_spec.python)
            )
            user = host.call(probe.identify)["uid"]
            if user != 0:
                raise TestbedError(
                    "NODE-10",
                    f"the {host_spec.name}'s host: network namespaces need root",
                    expected="uid 0",
                    found=f"uid {user}",
                    hint="name root as the login of this node",
                )
            online = host.call(probe.online_cpus)
            if absent := sorted(set(host_spec.cpus) - set(online)):
                raise TestbedError(
                    "NODE-22",
                    f"the {host_spec.name}'s host: CPUs that the testbed file names; nothing was started",
                    expected=f"CPUs of {online}",
                    found=str(absent),
                )
            hosts[host_spec.name] = host
        for host_spec in sorted(
            wanted, key=lambda host: host.ssh
        ):  # of two runs that want the same hosts one gets all
            with _told_of(host_spec.name):
                hosts[host_spec.name].call(lease.take, ports=list(host_spec.ports), cpus=list(host_spec.cpus))
        yield hosts


@contextmanager
def _told_of(name: str) -> Iterator[None]:
    """Say of a refusal by "this machine" which host that is."""
    try:
        yield
    except ToolkitError as error:
        what = error.what.replace("this machine", f"{name}'s host")
        raise type(error)(
            error.error_id, what, expected=error.expected, found=error.found, hint=error.hint
        ) from error

"""The hosts over SSH that a testbed file names, each with what a run has of it for itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which imports the part of a file that says roles
    from bmwg.drivers.testbed.file import NodeSpec, Testbed


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """A host by the name that the run has for it, with the ports and CPUs that the run has for itself.

    `nodes` are those of the testbed file that are on it.
    """

    name: str
    ssh: str
    python: str
    ports: tuple[str, ...]
    cpus: tuple[int, ...] = ()
    nodes: tuple[str, ...] = ()


_CABLE = "cable"
_TESTER = "tester"  # what links call the tester's own ports, and a run the host that they are on


def hosts_of(testbed: Testbed) -> tuple[HostSpec, ...]:
    """Return the hosts of a testbed file; nodes that are one host by their destination share it.

    That of the tester is the last one, by the name `tester`.
    """
    found: dict[str, HostSpec] = {}
    cpus = tuple(sorted({*testbed.dut.cpus, *testbed.pods.cpus}))
    for node in testbed.nodes:
        if node.ssh is None:
            continue
        mine = _spec(testbed, node, node.name, cpus)
        known = found.setdefault(node.ssh, mine)
        if known is not mine:
            found[node.ssh] = replace(
                known, ports=(*known.ports, *mine.ports), nodes=(*known.nodes, node.name)
            )
    host = testbed.tester.host
    own = () if host is None else (_spec(testbed, host, _TESTER, testbed.tester.cpus),)
    return (*found.values(), *own)


def _spec(testbed: Testbed, node: NodeSpec, name: str, cpus: tuple[int, ...]) -> HostSpec:
    """Return the host that `node` is, with the ports that links have of `name`."""
    ports = tuple(
        end.interface
        for link in testbed.links
        if link.kind == _CABLE
        for end in (link.a, link.b)
        if end.node == name
    )
    return HostSpec(name=name, ssh=str(node.ssh), python=node.python, ports=ports, cpus=cpus, nodes=(name,))


def of_tester(hosts: Iterable[HostSpec]) -> bool:
    """Whether one of some hosts is the tester's, so that the runner has none of its ports."""
    return any(host.name == _TESTER for host in hosts)


def under_test(testbed: Testbed) -> str:
    """Return the host that the tester is cabled to, by its name among `hosts_of`; empty for this machine.

    Where it is cabled to none and all nodes are on hosts it is the first one.
    """
    hosts = [host_spec for host_spec in hosts_of(testbed) if host_spec.name != _TESTER]
    cabled = {
        other.node
        for link in testbed.links
        for mine, other in ((link.a, link.b), (link.b, link.a))
        if str(mine) in testbed.tester.ports
    }
    there = [host.name for host in hosts if cabled & set(host.nodes)]
    every = all(node.ssh is not None for node in testbed.nodes)
    return there[0] if there else hosts[0].name if hosts and every else ""

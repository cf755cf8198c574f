"""The hosts over SSH that a testbed file names, each with what a run has of it for itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # which imports the part of a file that says roles
    from bmwg.drivers.testbed.file import Testbed


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


def hosts_of(testbed: Testbed) -> tuple[HostSpec, ...]:
    """Return the hosts of a testbed file; nodes that are one host by their destination share it."""
    found: dict[str, HostSpec] = {}
    for node in testbed.nodes:
        if node.ssh is None:
            continue
        ports = tuple(
            end.interface
            for link in testbed.links
            if link.kind == _CABLE
            for end in (link.a, link.b)
            if end.node == node.name
        )
        cpus = tuple(sorted({*testbed.dut.cpus, *testbed.pods.cpus}))
        mine = HostSpec(
            name=node.name, ssh=node.ssh, python=node.python, ports=ports, cpus=cpus, nodes=(node.name,)
        )
        known = found.setdefault(node.ssh, mine)
        if known is not mine:
            found[node.ssh] = replace(known, ports=(*known.ports, *ports), nodes=(*known.nodes, node.name))
    return tuple(found.values())


def under_test(testbed: Testbed) -> str:
    """Return the host that the tester is cabled to, by its name among `hosts_of`; empty for this machine.

    Where it is cabled to none and all nodes are on hosts it is the first one.
    """
    hosts = hosts_of(testbed)
    cabled = {
        other.node
        for link in testbed.links
        for mine, other in ((link.a, link.b), (link.b, link.a))
        if str(mine) in testbed.tester.ports
    }
    there = [one.name for one in hosts if cabled & set(one.nodes)]
    every = all(node.ssh is not None for node in testbed.nodes)
    return there[0] if there else hosts[0].name if hosts and every else ""

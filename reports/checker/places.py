"""Where tester and device of a run are, by its testbed: on one machine, or the device on hosts over SSH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.record.facts import below

_SSH, _CABLE = "ssh", "cable"


def devices(testbed: Mapping[str, Any]) -> set[str]:
    """Return the nodes on hosts that the tester is cabled to; none where the device is on its own machine."""
    ports = below(testbed, "tester", "ports")
    mine = {str(port) for port in ports} if isinstance(ports, list) else set()
    cabled = {end.partition("/")[0] for ends in _links(testbed) if mine & set(ends) for end in ends}
    return cabled & hosts_of(testbed)


def has_nodes_here(testbed: Mapping[str, Any]) -> bool:
    """Whether a node is on the tester's machine, so that the device's CPUs are that one's."""
    nodes = testbed.get("nodes")
    return not isinstance(nodes, Mapping) or len(hosts_of(testbed)) < len(nodes)


def hosts_of(testbed: Mapping[str, Any]) -> set[str]:
    """Return the names of nodes that are hosts over SSH."""
    nodes = testbed.get("nodes")
    if not isinstance(nodes, Mapping):
        return set()
    return {name for name, node in nodes.items() if isinstance(node, Mapping) and node.get("kind") == _SSH}


def borrowed_ports(testbed: Mapping[str, Any]) -> set[str]:
    """Return the interfaces that cables join: a run takes them out of their machine while it lasts."""
    return {end.partition("/")[2] for ends in _links(testbed, _CABLE) for end in ends}


def _links(testbed: Mapping[str, Any], kind: str = "") -> Iterator[tuple[str, str]]:
    links = testbed.get("links")
    for link in links if isinstance(links, list) else ():
        if isinstance(link, Mapping) and (not kind or link.get("kind") == kind):
            yield str(link.get("a")), str(link.get("b"))

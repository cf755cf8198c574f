"""Clients, device and origin on three hosts over SSH: `roles` of a testbed file, and the cables between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.schemas.validation import Problem, near_name

KEY, LINKS = "roles", "links"
CLIENT, PROXY, SERVER = "client", "proxy", "server"
_SAID = {CLIENT: "client", PROXY: "dut", SERVER: "origin"}  # how the file names them


def row_hosts(data: Mapping[str, Any]) -> tuple[HostSpec, ...]:
    """Return clients', proxies' and server's host, each by its role; none for a file without roles.

    The proxies' host has two ports: towards the clients, then towards the server.
    """
    if KEY not in data:
        return ()
    nodes = {role: data[KEY][said] for role, said in _SAID.items()}
    ((client, to_client),) = _cables(data, nodes[CLIENT], nodes[PROXY])
    ((to_server, server),) = _cables(data, nodes[PROXY], nodes[SERVER])
    ports = {CLIENT: (client,), PROXY: (to_client, to_server), SERVER: (server,)}
    return tuple(
        HostSpec(
            name=role,
            ssh=data["nodes"][node]["ssh"],
            python=data["nodes"][node].get("python", "python3"),
            ports=ports[role],
        )
        for role, node in nodes.items()
    )


def row_part(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a testbed file with roles says where the three hosts are: nodes, cables and roles."""
    if KEY not in data:
        return {}
    hosts = set(data[KEY].values())
    return {
        "nodes": {name: dict(node) for name, node in data["nodes"].items() if name in hosts},
        LINKS: [dict(link) for link in data[LINKS] if {_node(link[end]) for end in "ab"} <= hosts],
        KEY: dict(data[KEY]),
    }


def _node(endpoint: str) -> str:
    return endpoint.partition("/")[0]


def _cables(data: Mapping[str, Any], a: str, b: str) -> list[tuple[str, str]]:
    """Return the cables between two nodes, each as its interface on the one and on the other."""
    found = []
    for link in data[LINKS]:
        ends = dict(link[end].split("/", 1) for end in "ab")
        if link.get("kind") == "cable" and a != b and ends.keys() == {a, b}:
            found.append((ends[a], ends[b]))
    return found


def row_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what of the roles contradicts the rest of its file."""
    if KEY not in data:
        return
    roles, nodes = data[KEY], data["nodes"]
    by_ssh = [name for name, node in nodes.items() if node["kind"] == "ssh"]
    seen: dict[str, str] = {}
    for said in _SAID.values():
        name = roles[said]
        if name not in by_ssh:
            yield _no_host(said, name, nodes, by_ssh)
        elif nodes[name]["ssh"] in seen:
            yield Problem(
                location=(KEY, said),
                expected="a host of its own",
                found=f"that of {KEY}.{seen[nodes[name]['ssh']]}",
            )
        else:
            seen[nodes[name]["ssh"]] = said
    if len(seen) == len(_SAID):
        yield from _uncabled(data)
    vms = data.get("vms", {})
    if vms.get("driver") == "libvirt":
        yield Problem(
            location=("vms", "driver"),
            expected="qemu: libvirt on the hosts of a row is not in this version",
            found="libvirt",
        )
    if "image" in vms:
        yield Problem(
            location=("vms", "image"),
            expected="no image: guests on the hosts of a row have the host's root in this version",
            found=repr(vms["image"]),
        )


def _uncabled(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Client and device, device and origin are each joined by one cable."""
    for one, other in ((CLIENT, PROXY), (PROXY, SERVER)):
        a, b = (data[KEY][_SAID[role]] for role in (one, other))
        count = len(_cables(data, a, b))
        if count != 1:
            yield Problem(
                location=(LINKS,),
                expected=f"one link of kind cable between {a} ({_SAID[one]}) and {b} ({_SAID[other]})",
                found=f"{count or 'none'}",
            )


def _no_host(said: str, name: str, nodes: Mapping[str, Any], by_ssh: Sequence[str]) -> Problem:
    return Problem(
        location=(KEY, said),
        expected=f"a node of this file of kind ssh ({', '.join(by_ssh) or 'there is none'})",
        found=f"a node of kind {nodes[name]['kind']}" if name in nodes else f"the unknown node {name!r}",
        near=near_name(name, by_ssh),
    )

"""The part `row` of a testbed file: three hosts for the HTTP proxy suites, reached over SSH."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.schemas.validation import Problem, near_name

KEY = "row"
CLIENT, PROXY, SERVER = "client", "proxy", "server"
_PORTS = {CLIENT: ("port",), PROXY: ("client_port", "server_port"), SERVER: ("port",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHost:
    """One host of the row: where it is reached, its Python with the toolkit, and the ports the run borrows.

    The proxies' host has two: towards the clients, then towards the server.
    """

    role: str
    node: str
    ssh: str
    python: str
    ports: tuple[str, ...]


def row_hosts(data: Mapping[str, Any]) -> tuple[RowHost, ...]:
    """Return clients', proxies' and server's host of a testbed file that was checked; none without a row."""
    if KEY not in data:
        return ()
    return tuple(
        RowHost(
            role=role,
            node=data[KEY][role]["node"],
            ssh=data["nodes"][data[KEY][role]["node"]]["ssh"],
            python=data["nodes"][data[KEY][role]["node"]].get("python", "python3"),
            ports=tuple(data[KEY][role][port] for port in ports),
        )
        for role, ports in _PORTS.items()
    )


def row_problems(data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what of a row contradicts the rest of its file."""
    if KEY not in data:
        return
    row, nodes = data[KEY], data["nodes"]
    by_ssh = [name for name, node in nodes.items() if node["kind"] == "ssh"]
    seen: dict[str, str] = {}
    for role in _PORTS:
        name = row[role]["node"]
        if name not in by_ssh:
            yield _no_host(role, name, nodes, by_ssh)
        elif nodes[name]["ssh"] in seen:
            yield Problem(
                location=(KEY, role, "node"),
                expected="a host of its own",
                found=f"that of row.{seen[nodes[name]['ssh']]}",
            )
        else:
            seen[nodes[name]["ssh"]] = role
    if row[PROXY]["client_port"] == row[PROXY]["server_port"]:
        yield Problem(
            location=(KEY, PROXY, "server_port"),
            expected="another interface than client_port",
            found=repr(row[PROXY]["server_port"]),
        )
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


def _no_host(role: str, name: str, nodes: Mapping[str, Any], by_ssh: Sequence[str]) -> Problem:
    return Problem(
        location=(KEY, role, "node"),
        expected=f"a node of this file of kind ssh ({', '.join(by_ssh) or 'there is none'})",
        found=f"a node of kind {nodes[name]['kind']}" if name in nodes else f"the unknown node {name!r}",
        near=near_name(name, by_ssh),
    )

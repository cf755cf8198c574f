"""Which acts a ledger knows, and how each is undone where it belongs: here, on a host, in a node, or nowhere.

An undo is a node function with arguments as data, and idempotent. What is in the namespaces of a node goes
with them, and is never undone elsewhere. Ids: LEDGER-03 its node is not open.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes import process
from bmwg.drivers.nodes.agent import AgentNode, resolve
from bmwg.drivers.nodes.host_namespace import ON_HOST, HostNamespaceNode
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.undo.ledger_format import Entry
from bmwg.methodology.errors import DriverError, ToolkitError

UNDO_S = 120.0  # choice: twice the longest wait inside an undo; a node whose call is late is given up


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How one kind of act is undone. `in_node` acts vanish with the namespaces of their node.

    A `tolerant` undo is tried all the same when a namespace node is gone, for what may lie elsewhere;
    that it then fails on what vanished is noted in the ledger and is no failure.
    """

    function: str
    in_node: bool
    tolerant: bool = False


KINDS: dict[str, Kind] = {
    "owner": Kind(function="bmwg.drivers.nodes.process:terminate_owned", in_node=False),
    "process": Kind(function="bmwg.drivers.nodes.process:terminate", in_node=False),
    "pod": Kind(function="bmwg.drivers.containers.oci:delete", in_node=False),
    "lxc": Kind(function="bmwg.drivers.containers.lxc_pods:delete", in_node=False),
    "cni": Kind(function="bmwg.drivers.network.cni:detach", in_node=False, tolerant=True),
    "docker": Kind(function="bmwg.drivers.containers.docker_daemon:remove", in_node=False),
    "libvirt": Kind(function="bmwg.drivers.machines.libvirt_daemon:remove", in_node=False),
    "kubernetes_node": Kind(function="bmwg.drivers.kubernetes.node:remove", in_node=False),
    "native_cgroup": Kind(function="bmwg.drivers.containers.native_cgroup:remove", in_node=False),
    "cgroup_controllers": Kind(function="bmwg.drivers.nodes.cgroups:hold_back", in_node=False),
    "kubernetes_namespace": Kind(function="bmwg.drivers.kubernetes.run_namespace:remove", in_node=False),
    "kubernetes_cordon": Kind(function="bmwg.drivers.kubernetes.nodes:uncordon", in_node=True),
    "cloud": Kind(function="bmwg.drivers.openstack.node:remove", in_node=False),
    "domain": Kind(function="bmwg.drivers.machines.libvirt_machine:remove", in_node=False),
    "folder": Kind(function="bmwg.drivers.nodes.programs:remove_folder", in_node=False),
    "lab_port": Kind(function="bmwg.drivers.ports.lab_port:require_returned", in_node=False),
    "pci_port": Kind(function="bmwg.drivers.ports.pci_port:give_back", in_node=False),
    "virtual_functions": Kind(function="bmwg.drivers.ports.virtual_functions:remove", in_node=False),
    "file": Kind(function="bmwg.drivers.undo.ledger:remove_file", in_node=False),
    "interface": Kind(function="bmwg.drivers.ports.interfaces:delete", in_node=True),
    "address": Kind(function="bmwg.drivers.ports.interfaces:remove_address", in_node=True),
    "route": Kind(function="bmwg.drivers.ports.routing:remove_route", in_node=True),
    "rule": Kind(function="bmwg.drivers.ports.routing:remove_rule", in_node=True),
    "filters": Kind(function="bmwg.drivers.workload.filters:remove", in_node=True),
    "function_table": Kind(function="bmwg.drivers.function.tables:remove", in_node=True),
    "sysctl": Kind(function="bmwg.drivers.ports.sysctl:write", in_node=True),
    "machine_sysctl": Kind(function="bmwg.drivers.ports.sysctl:write", in_node=False),
}


class Undoing:
    """Runs undo functions where they belong, opening a place once when its node is not open."""

    def __init__(self, nodes: Mapping[str, Node], stack: contextlib.ExitStack) -> None:
        self._nodes = nodes
        self._stack = stack
        self._opened: dict[str, Node] = {}
        self._lost: dict[str, ToolkitError] = {}  # hosts that could not be reached

    def end_agents(self, entries: tuple[Entry, ...]) -> None:
        """End what holds the namespaces, here and on hosts that answer; one that does not has lost it."""
        for place in {json.dumps(entry.place, sort_keys=True): entry.place for entry in entries}.values():
            with contextlib.suppress(ToolkitError):  # each entry of one that stays then fails by name
                if place["kind"] == "namespace":
                    process.terminate(pid=place["pid"], start_ticks=place["start_ticks"])
                elif place["kind"] == ON_HOST:
                    self._host(place).call(
                        process.terminate, pid=place["pid"], start_ticks=place["start_ticks"]
                    )

    def run(self, entry: Entry) -> None:
        """Undo one act; raises what its function raises, and what reaching its place raises."""
        kind, place = KINDS[entry.kind], entry.place
        if place["kind"] == "local":
            resolve(kind.function)(**entry.arguments)
            return
        node = self._open_node(str(place["name"]))
        if node is not None:
            node.call_named(kind.function, entry.arguments, deadline_s=UNDO_S)
        elif place["kind"] == "ssh":
            self._host({"host": place}).call_named(kind.function, entry.arguments, deadline_s=UNDO_S)
        elif not kind.in_node:
            self._beside(place).call_named(kind.function, entry.arguments, deadline_s=UNDO_S)
        elif self._holds(place):
            raise DriverError(
                "LEDGER-03",
                f"undo of {entry.kind}",
                expected="an open node",
                found=f"{place['name']} is not open",
            )

    def _open_node(self, name: str) -> Node | None:
        node = self._nodes.get(name)
        return None if _broken(node) else node

    def _holds(self, place: Mapping[str, JsonValue]) -> bool:
        """Whether the process that holds a node's namespaces is there still."""
        pid, ticks = int(place["pid"]), int(place["start_ticks"])
        if place["kind"] == ON_HOST:
            return self._host(place).call(process.same, pid=pid, ticks=ticks)
        return process.same(pid, ticks)

    def _host(self, place: Mapping[str, JsonValue]) -> Node:
        """Return the host that a place is on, reached once."""
        host = place["host"]
        if (node := self._open_node(str(host["name"]))) is not None:
            return node
        key = f"ssh {host['destination']}"
        if key in self._lost:
            raise self._lost[key]
        if _broken(self._opened.get(key)):  # an undo before this one had no end there
            del self._opened[key]
        if key not in self._opened:
            try:
                self._opened[key] = self._stack.enter_context(SshNode.from_place(host))
            except ToolkitError as error:
                self._lost[key] = error  # each try would wait anew
                raise
        return self._opened[key]

    def _beside(self, place: Mapping[str, JsonValue]) -> Node:
        """Return a node of the clean-up's own on the machine of one that is gone."""
        if place["kind"] == "namespace":
            return self._entered("namespace", lambda: NamespaceNode("cleanup"))
        host = self._host(place)
        assert isinstance(host, SshNode)
        return self._entered(f"namespace {host.name}", lambda: HostNamespaceNode("cleanup", host))

    def _entered(self, key: str, make: Callable[[], AbstractContextManager[Node]]) -> Node:
        if key not in self._opened or _broken(self._opened[key]):
            self._opened[key] = self._stack.enter_context(make())
        return self._opened[key]


def _broken(node: Node | None) -> bool:
    return isinstance(node, AgentNode) and node.broken is not None

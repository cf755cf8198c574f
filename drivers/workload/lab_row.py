"""The documents' row on three hosts over SSH: their ports are borrowed, the rest of them is left alone.

On each host the run has namespaces of its own, into which the cabled ports of the testbed file are moved;
what runs there never sees the host's own network. Nothing of the runner's machine takes part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.hosting import interfaces, lab_port, lease, probe
from bmwg.drivers.hosting.host_namespace import HostNamespaceNode
from bmwg.drivers.hosting.instance import QEMU_ITSELF, VmDriver
from bmwg.drivers.hosting.ssh import SshNode
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.cables import LINK_DEADLINE_S
from bmwg.drivers.testbed.row import CLIENT, PROXY, SERVER, RowHost
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload.row import SERVER_ADDRESS, Ends, Row, serving_row
from bmwg.methodology.errors import TestbedError, ToolkitError

_FOLDER = "/var/lib/bmwg/row-"  # on the proxies' host: what daemons keep, removed with the run


@contextmanager
def open_hosts(row: Sequence[RowHost]) -> Iterator[dict[str, SshNode]]:
    """Reach the hosts, by role, as they are, and have their ports alone meanwhile; nothing is changed there.

    Raises TestbedError NODE-20 (no connection), NODE-02 (no or another toolkit there), NODE-10 (not root),
    LOCK-01 (another run has a port there).
    """
    with ExitStack() as stack:
        hosts = {}
        for one in row:
            host = stack.enter_context(SshNode(f"{one.role}/host", one.ssh, python=one.python))
            user = host.call(probe.identify)["uid"]
            if user != 0:
                raise TestbedError(
                    "NODE-10",
                    f"the {one.role}'s host: network namespaces need root",
                    expected="uid 0",
                    found=f"uid {user}",
                    hint="name root as the login of this node",
                )
            hosts[one.role] = host
        for one in sorted(
            row, key=lambda host: host.ssh
        ):  # of two runs that want the same hosts one gets all
            hosts[one.role].call(lease.take, ports=list(one.ports))
        yield hosts


@contextmanager
def open_lab_row(
    row: Sequence[RowHost],
    hosts: Mapping[str, SshNode],
    ledger: Ledger,
    owner: str,
    *,
    sizes_octets: list[int],
    token: str,
    vms: VmDriver = QEMU_ITSELF,
) -> Iterator[Row]:
    """Borrow the ports and start the server; all is given back and removed on leaving.

    As `row.open_row`. Raises also TestbedError PORT-01..PORT-04, before anything is sent.
    """
    with ExitStack() as stack:
        facts: dict[str, list[Mapping[str, JsonValue]]] = {}
        nodes: dict[str, Node] = {}
        by_name: dict[str, Node] = {host.name: host for host in hosts.values()}
        for one in row:
            host = hosts[one.role]
            facts[one.role] = [host.call(lab_port.require_bare, interface=port) for port in one.ports]
        folder = f"{_FOLDER}{token}"
        stack.callback(ledger.undo, ledger.before("folder", hosts[PROXY].place, folder=folder), by_name)
        for one in row:
            host = hosts[one.role]
            for fact in facts[one.role]:
                kept = ledger.before("lab_port", host.place, interface=fact["interface"], up=fact["up"])
                stack.callback(ledger.undo, kept, by_name)
            label = f"{owner}-{one.role}"  # each end is ended for itself, also where two share a machine
            stack.callback(ledger.undo, ledger.before("owner", host.place, owner=label), by_name)
            node = stack.enter_context(HostNamespaceNode(one.role, host, owner=label))
            home = host.call(probe.identify)["pid"]
            for port in one.ports:
                stack.callback(_give_back, node, port, home)
                host.call(interfaces.move, interface=port, pid=node.pid)
                node.call(links.raise_end, interface=port)
            nodes[one.role] = node
        for one in row:
            for port in one.ports:
                nodes[one.role].call_within(
                    LINK_DEADLINE_S + 10, lab_port.wait_for_link, interface=port, within_s=LINK_DEADLINE_S
                )
        (client,), (to_client, to_server), (server,) = (one.ports for one in row)
        ends = Ends(
            client=nodes[CLIENT],
            proxy=nodes[PROXY],
            server=nodes[SERVER],
            ports=(client, to_client, to_server, server),
            cables=(
                _cable((CLIENT, facts[CLIENT][0]), (PROXY, facts[PROXY][0])),
                _cable((SERVER, facts[SERVER][0]), (PROXY, facts[PROXY][1])),
            ),
            run_dir=folder,
            owner=f"{owner}-{PROXY}",
            hosts={one.role: hosts[one.role] for one in row},
        )
        made = stack.enter_context(serving_row(ends, token, sizes_octets, vms=vms))
        made.client.call_within(
            LINK_DEADLINE_S + 10, lab_port.require_answer, address=SERVER_ADDRESS, within_s=LINK_DEADLINE_S
        )
        yield made


def _give_back(node: HostNamespaceNode, port: str, home: int) -> None:
    """Move a port back; where the node is gone its end does it, and `require_returned` tells if not."""
    with contextlib.suppress(ToolkitError):
        node.call(interfaces.move, interface=port, pid=home)


def _cable(
    a: tuple[str, Mapping[str, JsonValue]], b: tuple[str, Mapping[str, JsonValue]]
) -> dict[str, JsonValue]:
    """What is known of a cable: its two ends."""
    return {
        "kind": "cable",
        **{
            end: {"node": node, **{key: value for key, value in port.items() if key != "up"}}
            for end, (node, port) in (("a", a), ("b", b))
        },
    }

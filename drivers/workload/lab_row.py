"""The documents' row on three hosts over SSH: their ports are borrowed, the rest of them is left alone.

On each host the run has namespaces of its own, into which the cabled ports of the testbed file are moved;
what runs there never sees the host's own network. Nothing of the runner's machine takes part.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from bmwg.drivers.api.instance import CRUN, QEMU_ITSELF, VmDriver
from bmwg.drivers.api.protocols import JsonValue, Node
from bmwg.drivers.nodes import links, probe
from bmwg.drivers.nodes.cables import LINK_DEADLINE_S
from bmwg.drivers.nodes.host_namespace import HostNamespaceNode
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.ports import interfaces, lab_port, port_settings
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.drivers.testbed.hosts import HostSpec
from bmwg.drivers.testbed.row import CLIENT, PROXY, SERVER
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import row_addresses
from bmwg.drivers.workload.row import Ends, Row, serving_row
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.requests.ip import V4

_FOLDER = (
    "/var/lib/bmwg/row-"  # on the proxies' and the clients' host: what daemons and pods keep, until the end
)


@contextmanager
def open_lab_row(
    row: Sequence[HostSpec],
    hosts: Mapping[str, SshNode],
    ledger: Ledger,
    owner: str,
    *,
    sizes_octets: list[int],
    token: str,
    networks: Sequence[NetworkSpec] = (),
    vms: VmDriver = QEMU_ITSELF,
    runtime: str = CRUN,
    ip: str = V4,
) -> Iterator[Row]:
    """Borrow the ports and start the server; all is given back and removed on leaving.

    As `row.open_row`. Raises also TestbedError PORT-01..PORT-04, before anything is sent.
    """
    with ExitStack() as stack:
        facts: dict[str, list[Mapping[str, JsonValue]]] = {}
        nodes: dict[str, HostNamespaceNode] = {}
        by_name: dict[str, Node] = {host.name: host for host in hosts.values()}
        for host_spec in row:
            host = hosts[host_spec.name]
            facts[host_spec.name] = [
                host.call(lab_port.require_bare, interface=port) for port in host_spec.ports
            ]
        folder = f"{_FOLDER}{token}"
        for name in (PROXY, CLIENT):
            stack.callback(ledger.undo, ledger.before("folder", hosts[name].place, folder=folder), by_name)
        for host_spec in row:
            host = hosts[host_spec.name]
            for fact in facts[host_spec.name]:
                was = host.call(port_settings.read, interface=str(fact["interface"]))
                kept = ledger.before("lab_port", host.place, **lab_port.undo_of(fact), was=was)
                stack.callback(ledger.undo, kept, by_name)
            label = (
                f"{owner}-{host_spec.name}"  # each end is ended for itself, also where two share a machine
            )
            stack.callback(ledger.undo, ledger.before("owner", host.place, owner=label), by_name)
            node = stack.enter_context(HostNamespaceNode(host_spec.name, host, owner=label))
            home = host.call(probe.identify)["pid"]
            for port in host_spec.ports:
                stack.callback(_give_back, node, port, home)
                host.call(interfaces.move, interface=port, pid=node.pid)
                node.call(links.raise_end, interface=port)
            nodes[host_spec.name] = node
        for host_spec in row:
            for port in host_spec.ports:
                nodes[host_spec.name].call_within(
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
            hosts={one.name: hosts[one.name] for one in row},
            addresses=row_addresses.of(ip),
            undo=ledger,
        )
        made = stack.enter_context(
            serving_row(ends, token, sizes_octets, networks=networks, vms=vms, runtime=runtime)
        )
        made.client.call_within(
            LINK_DEADLINE_S + 10,
            lab_port.require_answer,
            address=ends.addresses.servers.end,
            within_s=LINK_DEADLINE_S,
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

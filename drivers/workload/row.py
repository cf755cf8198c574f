"""The documents' topology: clients, the proxies' machine and the server in a row.

Here as three namespace nodes of this machine; `lab_row` has it on three hosts. Addresses are of the ranges
for benchmarks (RFC 2544 appendix C.2.2, RFC 5180 section 8), on each side of one version of IP. Clients and
server route the instances' network to the machine between them, which forwards.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bmwg.drivers.api.instance import CRUN, INSTANCE_NETWORK, QEMU_ITSELF, Place, VmDriver, bracketed
from bmwg.drivers.api.protocols import JsonValue, Node, PlacedNode, UndoLog
from bmwg.drivers.nodes import links, programs
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import interfaces, routing, sysctl
from bmwg.drivers.testbed.file import NetworkSpec
from bmwg.drivers.testbed.row import CLIENT, PROXY, SERVER
from bmwg.drivers.undo.ledger import Ledger
from bmwg.drivers.workload import apache, own_counts, row_addresses
from bmwg.drivers.workload.row_addresses import RowAddresses
from bmwg.methodology.kinds.requests.ip import V4

_NIC = "nic0"
INTERFACES = (_NIC, "nic1")  # the nodes' own, that stand as long as they do


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The three nodes while they stand. `sha256` is of each object by its size in octets.

    `addresses` are those of both sides, `client_netns` is the path of the clients' network namespace on this
    machine. `hosts` are the hosts by node where these are others than this machine. `undo` keeps how what is
    made on the nodes is undone.
    """

    client: PlacedNode
    addresses: RowAddresses
    client_netns: str | None
    proxy: Node
    server: Node
    place: Place
    links: tuple[Mapping[str, JsonValue], ...]
    sha256: Mapping[int, str]
    origin: Mapping[str, int]  # the server's process
    origin_folder: str
    undo: UndoLog
    hosts: Mapping[str, Node] = field(default_factory=dict)

    def url(self, octets: int) -> str:
        """The object of this size at the server."""
        return f"http://{self.origin_host}/{apache.object_name(octets)}"

    def path(self, octets: int) -> str:
        """The object of this size at a function that stands for the server."""
        return f"/{apache.object_name(octets)}"

    @property
    def origin_host(self) -> str:
        """The server as the Host of a request names it."""
        return f"{bracketed(self.addresses.servers.end)}:{apache.PORT_NUMBER}"

    @property
    def client_address(self) -> str:
        """That of the clients' interface."""
        return self.addresses.clients.end

    @property
    def origin_endpoint(self) -> tuple[str, int]:
        """Address and port of the server."""
        return self.addresses.servers.end, apache.PORT_NUMBER

    def answered(self) -> int:
        """Requests that the server has answered, by its own count, those for this count among them.

        Raises DriverError COUNT-01.
        """
        path = f"{own_counts.PATH}?auto"
        address, port = self.origin_endpoint
        text = self.server.call(own_counts.fetch, address=address, port=port, path=path)
        return apache.answered(text)

    def fault(self) -> str | None:
        """Say why the server no longer serves; None while it runs."""
        found: str | None = self.server.call(programs.fault, folder=self.origin_folder, **self.origin)
        return f"server: {found}" if found else None


@contextmanager
def open_row(
    run_dir: Path,
    ledger: Ledger,
    owner: str,
    *,
    sizes_octets: list[int],
    networks: Sequence[NetworkSpec] = (),
    vms: VmDriver = QEMU_ITSELF,
    runtime: str = CRUN,
    token: str | None = None,
    ip: str = V4,
) -> Iterator[Row]:
    """Make the nodes and links and start the server; everything is removed on leaving.

    `networks` are the options by which pods on the proxies' machine can be attached, `runtime` makes them,
    and `vms` says what starts virtual machines there; none is touched here. `token` stands in the names of
    bridges, taps and cgroups; drawn unless given. `ip` says which versions of IP both sides speak. Raises
    TestbedError when the machine cannot (NODE-10 no root, PROG-01 no apache2), DriverError PROG-02.
    """
    token = token or secrets.token_hex(3)
    with ExitStack() as stack:
        client, proxy, server = (
            stack.enter_context(NamespaceNode(name, keep=[run_dir], owner=owner))
            for name in (CLIENT, PROXY, SERVER)
        )
        ends = Ends(
            client=client,
            proxy=proxy,
            server=server,
            ports=(_NIC, *INTERFACES, _NIC),
            cables=(
                links.connect(client, _NIC, proxy, INTERFACES[0]),
                links.connect(server, _NIC, proxy, INTERFACES[1]),
            ),
            run_dir=str(run_dir),
            owner=owner,
            client_netns=f"/proc/{client.pid}/ns/net",
            addresses=row_addresses.of(ip),
            undo=ledger,
        )
        yield stack.enter_context(
            serving_row(ends, token, sizes_octets, networks=networks, vms=vms, runtime=runtime)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Three nodes that are joined, by `ports`: the clients', the proxies' machine's two, the server's.

    `run_dir` is a folder on the proxies' machine, `owner` labels processes there. The rest is as of a row.
    """

    client: PlacedNode
    proxy: Node
    server: Node
    ports: tuple[str, str, str, str]
    cables: tuple[Mapping[str, JsonValue], ...]
    run_dir: str
    owner: str
    addresses: RowAddresses
    undo: UndoLog
    client_netns: str | None = None
    hosts: Mapping[str, Node] = field(default_factory=dict)

    def give_addresses(self) -> None:
        """Give addresses, routes and ports, and have the proxies' machine forward."""
        clients, servers = self.addresses.clients, self.addresses.servers
        for node, interface, address, side in (
            (self.client, self.ports[0], clients.end, clients),
            (self.proxy, self.ports[1], clients.proxy, clients),
            (self.proxy, self.ports[2], servers.proxy, servers),
            (self.server, self.ports[3], servers.end, servers),
        ):
            node.call(interfaces.add_address, interface=interface, address=f"{address}/{side.prefix_length}")
        for node, own, other in ((self.client, clients, servers), (self.server, servers, clients)):
            beyond = [INSTANCE_NETWORK] if own.version == 4 else []
            beyond += [other.network] if own.version == other.version else []
            for destination in beyond:
                node.call(routing.add_route, destination=destination, via=own.proxy)
        # a client that closes its connections keeps their ports for a minute
        self.client.call(sysctl.write, key="net/ipv4/tcp_tw_reuse", value="1")
        self.client.call(
            sysctl.write, key="net/ipv4/ip_local_port_range", value="1024 65535"
        )  # rfc9411-4.3.1.1
        # before any daemon: Docker closes forwarding when it is the one to switch it on
        self.proxy.call(sysctl.write, key="net/ipv4/ip_forward", value="1")
        if 6 in (clients.version, servers.version):
            self.proxy.call(sysctl.write, key="net/ipv6/conf/all/forwarding", value="1")


@contextmanager
def serving_row(
    ends: Ends,
    token: str,
    sizes_octets: list[int],
    *,
    vms: VmDriver,
    networks: Sequence[NetworkSpec] = (),
    runtime: str = CRUN,
) -> Iterator[Row]:
    """Give nodes that are joined their addresses and start the server; it is ended on leaving."""
    ends.give_addresses()
    folder = f"/run/bmwg-origin-{token}"
    started = ends.server.call_within(
        60.0,
        apache.start,
        folder=folder,
        address=ends.addresses.servers.end,
        port=apache.PORT_NUMBER,
        sizes_octets=sizes_octets,
    )
    try:
        yield Row(
            client=ends.client,
            addresses=ends.addresses,
            client_netns=ends.client_netns,
            proxy=ends.proxy,
            server=ends.server,
            place=Place(
                client_address=ends.addresses.clients.proxy,
                client_interface=ends.ports[1],
                server_address=ends.addresses.servers.proxy,
                server_interface=ends.ports[2],
                token=token,
                owner=ends.owner,
                run_dir=ends.run_dir,
                prefix_lengths=(
                    ends.addresses.clients.prefix_length,
                    ends.addresses.servers.prefix_length,
                ),
                networks={option.name: option for option in networks},
                vms=vms,
                runtime=runtime,
            ),
            links=ends.cables,
            sha256={int(octets): digest for octets, digest in started["sha256"].items()},
            origin=started["process"],
            origin_folder=folder,
            undo=ends.undo,
            hosts=ends.hosts,
        )
    finally:
        ends.server.call(programs.stop, folder=folder, **started["process"])

"""The testbed while a run has it open: nodes, links, network options and what was found missing.

Ids: PATH-01 the testbed file lacks what a path needs, PATH-02 an option is missing on a node, PATH-03 a frame
does not fit, PATH-04 a combination that cannot be realized.
"""

from __future__ import annotations

import copy
import itertools
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cached_property
from pathlib import Path

from bmwg.drivers import registry
from bmwg.drivers.api.machines import Machine, MachineProvider
from bmwg.drivers.api.protocols import (
    Attached,
    HostNode,
    JsonValue,
    Missing,
    NetworkDriver,
    Pod,
    PodRuntime,
    TesterPort,
    UndoLog,
)
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.here import HERE
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.nodes.ssh import SshNode
from bmwg.drivers.paths.addresses import BEHIND
from bmwg.drivers.paths.bed_guests import Guests
from bmwg.drivers.paths.bed_hosts import on_host, state_folders
from bmwg.drivers.paths.bed_links import joined, pci_nics
from bmwg.drivers.paths.bed_machines import machines_of
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, link_mtu
from bmwg.drivers.paths.sides import Side, ends_of, on_one_node
from bmwg.drivers.paths.uplinks import lacking
from bmwg.drivers.ports import interfaces, sysctl
from bmwg.drivers.testbed.file import (
    SIMULATED,
    TESTER,
    Endpoint,
    LinkSpec,
    NodeKind,
    Testbed,
    with_settings,
)
from bmwg.drivers.testbed.port_kind import PortKind, port_kind
from bmwg.methodology.errors import ConfigError

_STATE = "/var/lib/bmwg/run-"  # with the run's token: on each machine of a bed with hosts
# A bridge joins and leaves the snoopers' group; its reports leave at once, not during a trial.
_QUIET_IGMP = {
    f"net.ipv4.conf.{scope}.igmpv{version}_unsolicited_report_interval": "1"
    for scope in ("all", "default")
    for version in (2, 3)
}


class Bed:
    """What paths are deployed on. Made by `open_bed`; every lookup raises ConfigError with what is there."""

    def __init__(
        self,
        testbed: Testbed,
        undo: UndoLog,
        run_dir: Path,
        owner: str = "",
        mtu_octets: int = LINK_MTU_OCTETS,
        destination_networks: int = 1,
        hosts: Mapping[str, SshNode] | None = None,
    ) -> None:
        self.testbed = testbed
        self.hosts = hosts or {}  # over SSH, by the nodes that are on them
        self.destination_networks = destination_networks  # behind each port of a path that routes; 1: none
        self.mtu_octets = mtu_octets  # of the links, and of what a path puts between them
        self.owner = owner  # label of every process that the nodes start
        self.undo = undo
        self.run_dir = run_dir
        self.token = secrets.token_hex(3)  # pods and cgroups of two runs must differ
        # where drivers keep what they need, on the node's machine: one path for all of them
        self.state_dir = Path(f"{_STATE}{self.token}") if self.hosts else run_dir
        self.links: list[dict[str, JsonValue]] = []
        self.pods: dict[str, Pod] = {}  # those that stand
        self.programs: dict[str, tuple[str, int, int]] = {}  # beside pods: node, pid, start (ticks)
        self.management: dict[str, Attached] = {}  # their interfaces for management, by pod
        self.asked_capabilities: dict[str, tuple[str, ...]] = {}  # by them, for what they run
        self.standing_machines: dict[str, Machine] = {}
        self._nodes: dict[str, BedNode] = {}
        self.guests = Guests()
        self.nics: dict[Endpoint, dict[str, JsonValue]] = {}  # of the tester's PCI ports, as they were
        self._missing: dict[tuple[str, str], Missing | None] = {}
        self._described: dict[tuple[str, str], dict[str, JsonValue]] = {}
        self._macs: dict[Endpoint, str] = {}
        self._deployments = itertools.count(1)
        self._machines: MachineProvider | None = None
        self._no_machines: Missing | None = None

    def open(self, stack: ExitStack) -> None:
        """Start the nodes and cable them; `stack` ends them. A simulated tester needs neither."""
        if self.testbed.tester.driver == SIMULATED:
            return
        # what is wrong with an option, before anything stands
        networks = [self.network(option.name) for option in self.testbed.networks]
        self.nics = pci_nics(self.testbed, self.hosts.get(TESTER, HERE))
        if self.hosts:
            stack.enter_context(state_folders(self))
        for name in (TESTER, *(node.name for node in self.testbed.nodes)):
            self._nodes[name] = node = stack.enter_context(self._namespaces(name))
            node.call(sysctl.write_many, settings=_QUIET_IGMP)
        self.links += joined(self, stack)
        places = {node.name: self.node(node.name) for node in self.testbed.nodes}
        testbed = self.testbed
        busy = (testbed.dut.cpus, testbed.tester.cpus)
        stack.enter_context(
            self.runtime.standing(places, cpus=testbed.pods.cpuset, kept_off=busy, networks=networks)
        )

    def _namespaces(self, name: str) -> AbstractContextManager[BedNode]:
        """Make the namespaces of a node where it is, here or on its host."""
        own = self.testbed.tester.host is None
        if own if name == TESTER else self.testbed.node(name).kind is NodeKind.NAMESPACE:
            return NamespaceNode(name, keep=[self.run_dir, self.state_dir], owner=self.owner)
        if name not in self.hosts:
            raise ConfigError(
                "PATH-01",
                f"node {name} cannot take part in this path",
                expected="kind: namespace",
                found="a host over SSH that was not reached",
            )
        return on_host(name, self.hosts[name], self.undo, owner=f"{self.owner}-{name}")

    def open_machines(self, stack: ExitStack) -> None:
        """Have the testbed's provider make what its machines share; `stack` ends it.

        What is missing is remembered, and nothing is made then. Raises what entering the provider raises.
        """
        found = machines_of(self, stack)
        if isinstance(found, Missing):
            self._no_machines = found
        else:
            self._machines = found

    @property
    def machines_driver(self) -> str:
        """The provider that the testbed file names; empty where it names none."""
        return str(self.testbed.data.get("vms", {}).get("driver", ""))

    def machines_missing(self) -> Missing | None:
        """Return why the bed has no machines that forward."""
        if self._machines is not None:
            return None
        return self._no_machines or Missing(
            what="virtual machines",
            reason=f"the testbed file {self.testbed.file} names no provider of them",
            mend="BMWG_TESTBED=testbeds/openstack.yaml, after `sh setup/install.sh openstack`",
        )

    @property
    def machines(self) -> MachineProvider:
        """What makes machines; ConfigError PATH-01 where there is none."""
        if self._machines is None:
            raise ConfigError(
                "PATH-01", "virtual machines", expected="`vms` in the testbed file", found="none"
            )
        return self._machines

    def node(self, name: str) -> BedNode:
        """Return an open node; ConfigError PATH-01 when the testbed has none of that name."""
        if name not in self._nodes:
            raise ConfigError(
                "PATH-01",
                f"node {name} is not in the testbed file {self.testbed.file}",
                expected=f"one of {', '.join(self._nodes)}",
                found=name,
            )
        return self._nodes[name]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the open nodes, the tester's place and guests that pods stand on among them."""
        return (*self._nodes, *self.guests.names)

    def host(self, name: str) -> HostNode:
        """Return an open node or a guest that stands; ConfigError PATH-01 when there is none of that name."""
        return self.guests.node(name) or self.node(name)

    @property
    def tester(self) -> BedNode:
        """The place of the tester's own ports, on the tester's machine."""
        return self.node(TESTER)

    def require_here(self, name: str) -> NamespaceNode:
        """Return an open node of this machine, for what is made of its files; ConfigError PATH-01 else."""
        node = self.node(name)
        if isinstance(node, NamespaceNode):
            return node
        raise ConfigError(
            "PATH-01",
            f"node {name} cannot take part in this",
            expected="kind: namespace",
            found=f"kind: {NodeKind.SSH}, a host of its own",
        )

    @cached_property
    def runtime(self) -> PodRuntime:
        """What makes this testbed's pods, one for the run."""
        pods = self.testbed.pods
        return registry.runtime(
            pods.runtime, run_dir=str(self.state_dir), undo=self.undo, options=pods.options
        )

    def engine(self, name: str) -> PodRuntime:
        """Return a runtime that is a hosting form of its own beside the testbed's; it needs no service."""
        return registry.runtime(name, run_dir=str(self.state_dir), undo=self.undo, options={})

    def network(self, name: str) -> NetworkDriver:
        """Return a network option by its key in the testbed file."""
        spec = self.testbed.network(name)
        return registry.network(spec, run_dir=self.state_dir, undo=self.undo, where=self.testbed.file)

    def missing(self, network: str, node: str, *, policed: bool = False) -> Missing | None:
        """Return what `node` lacks for a network option; tried once and remembered for the run.

        `policed`: the path has its pods under the policies of the testbed file.
        """
        if self.testbed.pods.policies and not policed:
            return Missing(
                what=f"{self.testbed.pods.policies} network policies on this path",
                reason="they are for a pod that receives what another one sends",
                mend="path p2p, or no `pods.policies`",
            )
        key = (network, node)
        if key not in self._missing:
            driver, host = self.network(network), self.host(node)
            self._missing[key] = self.runtime.refuses(driver) or lacking(driver, host, self.testbed)
        return self._missing[key]

    def described(self, network: str, node: str) -> dict[str, JsonValue]:
        """Return the option's evidence on `node` (plugins, hashes, packages), read once a run."""
        node = self.guests.host(node) or node  # a guest's programs are those of its host, whose root it has
        key = (network, node)
        if key not in self._described:
            self._described[key] = self.network(network).describe(self.node(node))
        return self._described[key]

    def varied(self, settings: Mapping[tuple[str, ...], object], where: str) -> Bed:
        """Return the same bed, with other settings of its testbed file for one deployment (docs/adr/0300).

        Nodes, links, runtime and port kind are those of the run. Raises ConfigError CFG-03 to CFG-05.
        """
        if not settings:
            return self
        found = copy.copy(self)
        if self.testbed.tester.driver != SIMULATED:
            found.__dict__["runtime"], found.__dict__["port_kind"] = self.runtime, self.port_kind
        found.testbed = with_settings(self.testbed, settings, where)
        found._missing, found._described = {}, {}  # by options, which may differ
        return found

    def ends(self) -> tuple[Side, Side]:
        """Return where the tester's ports are cabled to, on one node or two."""
        return ends_of(self)

    def sides(self) -> tuple[Side, Side]:
        """Return the same, on one node; ConfigError PATH-01 where they are at two."""
        return on_one_node(self.ends())

    def mac(self, end: Endpoint) -> str:
        """Return the MAC of one end of a link, as the kernel has or had it; of a port at a socket its own."""
        if end in self.nics:
            return str(self.nics[end]["mac"])
        if end in self.testbed.socket_ports:  # which no kernel knows
            return links.mac_of(end.node, end.interface)
        if end not in self._macs:
            found = self.node(end.node).call(interfaces.listing)
            self._macs |= {
                Endpoint(node=end.node, interface=str(one["name"])): str(one["mac"]) for one in found
            }
        return self._macs[end]

    @property
    def loop(self) -> LinkSpec | None:
        """The link that joins two of the tester's ports; None where there is none."""
        return next((link for link in self.testbed.links if link.a.node == link.b.node == TESTER), None)

    def underlay(self) -> tuple[Endpoint, Endpoint]:
        """Return the first link between two nodes (the tester is none); ConfigError PATH-01 without one."""
        for link in self.testbed.links:
            if TESTER not in (link.a.node, link.b.node) and link.a.node != link.b.node:
                return link.a, link.b
        raise ConfigError(
            "PATH-01",
            "paths over two nodes need an underlay",
            expected="a link between two nodes",
            found="none",
            hint="see `links` of testbeds/embedded.yaml",
        )

    def port(
        self,
        number: int,
        *,
        name: str,
        device: str,
        netns: str | None,
        mac: str,
        ipv4: str,
        ipv6: str,
        gateway_ipv4: str | None = None,
        gateway_ipv6: str | None = None,
        peer_mac: str | None = None,
        networks: tuple[str, str] | None = None,
    ) -> TesterPort:
        """Return the tester port of a number on an interface of this testbed, of the kind that it names.

        `networks` are the first of those behind it, of both IP versions, where the path routes to them. A PCI
        port is a device in no namespace.
        """
        own = netns == self.tester.netns_path
        nic = self.nics.get(Endpoint(node=TESTER, interface=device)) if own else None
        return TesterPort(
            name=name,
            io=self.port_kind.of(number),
            device=str(nic["address"]) if nic else device,
            netns=None if nic else netns,
            mtu_octets=self.mtu_octets if nic else None,
            mac=mac,
            ipv4=ipv4,
            ipv6=ipv6,
            gateway_ipv4=gateway_ipv4,
            gateway_ipv6=gateway_ipv6,
            peer_mac=peer_mac,
            networks_ipv4=networks[0] if networks else None,
            networks_ipv6=networks[1] if networks else None,
        )

    def networks_behind(self, side: int) -> tuple[str, str] | None:
        """Return the first of the networks behind the port of a side; None where the run needs none."""
        return BEHIND[side] if self.destination_networks > 1 else None

    @cached_property
    def port_kind(self) -> PortKind:
        """The kind of the tester's ports, settled when it is first needed."""
        return port_kind(self.testbed, self.hosts.get(TESTER, HERE))

    def dut_cpu(self, number: int) -> int:
        """Return the CPU of the DUT's device queue of that number, round robin."""
        return self.testbed.dut.cpus[number % len(self.testbed.dut.cpus)]

    def next_id(self) -> str:
        """Return an id that no other deployment of any run on this machine has."""
        return f"{self.token}-{next(self._deployments)}"

    def evidence(self) -> Mapping[str, JsonValue]:
        """Return what was made once for the run: nodes and links."""
        return {
            "nodes": {name: dict(node.describe()) for name, node in self._nodes.items()},
            "links": self.links,
        }


@contextmanager
def open_bed(
    testbed: Testbed,
    ledger: UndoLog,
    run_dir: Path,
    owner: str = "",
    *,
    frame_octets: int = 0,
    destination_networks: int = 1,
    machines: bool = False,
    hosts: Mapping[str, SshNode] | None = None,
) -> Iterator[Bed]:
    """Open the testbed for a run: start its nodes, cable them, and end all on leaving.

    `owner` labels the nodes' processes; its undo (kind `owner`) must stand in the ledger already.
    `frame_octets` is the largest frame that the links are to carry, where it is no ordinary one.
    `destination_networks` is to how many networks a side frames will go; every path that routes then has
    routes for them in each of its deployments, so that the device is configured alike in all tests
    (RFC2544-7-03). `hosts` are those over SSH, open, by the nodes that are on them. `machines` says that a
    path wants machines: their provider stands as long as the bed, so that no deployment is measured beside a
    cloud that another one was without.
    """
    mtu_octets = link_mtu(testbed, frame_octets)
    bed = Bed(testbed, ledger, run_dir, owner, mtu_octets, destination_networks, hosts)
    with ExitStack() as stack:
        bed.open(stack)
        if machines:
            bed.open_machines(stack)
        yield bed

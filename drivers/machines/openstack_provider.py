"""Machines as Nova servers, by openstacksdk: in an OpenStack of the run's own.

Each has a port in the management network, over which our agent runs by SSH, and test ports without port
security: one in a flat provider network that the node routes to, or, of a server that forwards, one in a flat
network on each NIC of the node, which is then the compute host. Neutron says what addresses they have.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from bmwg.drivers.api.instance import Place, Sample
from bmwg.drivers.api.machines import (
    LinkedMachineProvider,
    Machine,
    MachineEndpoint,
    MachineIntent,
    MachineSize,
    MovingIntent,
    MovingMachineProvider,
)
from bmwg.drivers.api.protocols import JsonValue, Missing, Node
from bmwg.drivers.machines import qemu
from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.openstack import (
    channel,
    client,
    embedded,
    image,
    moving_stand,
    reached,
    record,
    segments,
    side_switches,
)
from bmwg.drivers.openstack import node as cloud_node
from bmwg.drivers.openstack.client import Client
from bmwg.drivers.openstack.machine import NovaMachine
from bmwg.drivers.openstack.moving_server import MovingServer
from bmwg.drivers.openstack.servers import ServerPort, Workshop, require_fit
from bmwg.drivers.ports import interfaces
from bmwg.drivers.undo.ledger import Ledger
from bmwg.methodology.errors import DriverError, TestbedError, ToolkitError

PHYSICAL = "test0"  # the physical network between the node and the servers
NODE_NIC = "cloud0"
KERNEL_LINE = "console=ttyS0 panic=-1 quiet no_timer_check mitigations=off net.ifnames=0"
_USER_DATA = "#cloud-config\ndisable_root: false\n"
FORWARDED_NETWORKS = ("198.18.28.0/24", "198.18.29.0/24")  # of test ports that forward; Neutron wants some
_VIF = {qemu.NicModel.VIRTIO.value: "virtio", qemu.NicModel.E1000.value: "e1000"}


class OpenStackProvider:
    """Makes servers in an OpenStack that is the run's own, with images and a flavor made for it."""

    forwards: ClassVar[bool] = True

    def __init__(self, *, node: Node, place: Place, ledger: Ledger, token: str) -> None:
        self.node = node
        self.place = place
        self.ledger = ledger
        self.token = token
        self._stack = contextlib.ExitStack()
        self._cloud: embedded.EmbeddedCloud | None = None
        self._workshop: Workshop | None = None
        self._images: dict[str, Any] = {}
        self._networks: dict[str, Any] = {}
        self._users: Counter[str] = Counter()  # of the networks on NICs: machines, and who has them laid
        self._sharing = threading.RLock()
        self._guard: Any = None
        self._flavors: dict[MachineSize, Any] = {}
        self._key = Path()
        self.services: dict[str, str] = {}
        self._described: dict[str, JsonValue] = {}
        self._platform_of = ""  # the id of the image that the platform record tells
        self._parts: dict[str, str] = {}
        self._files: image.ServerImage | None = None
        self._sha256 = ""

    root = "image"

    def probe(self) -> Missing | None:
        """Return what is missing: openstacksdk, the cloud's root, the image, an SSH client, a near node."""
        lack = client.probe() or embedded.probe()
        found = image.find()
        if lack is None and isinstance(found, Missing):
            lack = found
        if lack is None and shutil.which("ssh") is None:
            lack = Missing(what="ssh", reason="no `ssh` in PATH", mend="apt-get install openssh-client")
        if lack is None and not isinstance(self.node, NamespaceNode):
            lack = Missing(
                what="servers on the hosts of a row",
                reason=f"node {self.node.name} is another machine",
                mend="leave `row` out of the testbed file: the row is then made on this machine",
            )
        return lack

    @property
    def workshop(self) -> Workshop:
        """What is made in the cloud; DriverError CLOUD-19 before the cloud stands."""
        if self._workshop is None:
            raise DriverError("CLOUD-19", "the run's OpenStack", expected="open", found="it does not stand")
        return self._workshop

    def __enter__(self) -> OpenStackProvider:
        """Start the cloud, cable it to the node, and make what all servers share."""
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _open(self) -> None:
        began_s = time.monotonic()
        assert isinstance(self.node, NamespaceNode)
        folder = Path(self.place.run_dir) / f"cloud-{self.token}"
        folder.mkdir(parents=True, exist_ok=True)
        node, physical, further = self._hosts()
        if not physical and not further:
            node = self._stack.enter_context(embedded.node_of(Path(self.place.run_dir), self.place.owner))
            links.connect(self.node, NODE_NIC, node, PHYSICAL)
            self._stack.callback(self._unplug)
            physical = (PHYSICAL,)
        self._cloud = self._stack.enter_context(
            embedded.started(
                node, folder, self.ledger, physical=physical, cpus=self.place.cpus, further=further
            )
        )
        connected = Client(auth=self._cloud.auth, netns=self._cloud.netns)
        self.services = connected.require_services()
        self._workshop = Workshop(connected, self.token)
        self._share()
        self._described["start_s"] = round(time.monotonic() - began_s, 3)
        self._described["start_steps"] = [dict(step) for step in self._cloud.steps]

    def _hosts(self) -> tuple[NamespaceNode, tuple[str, ...], list[embedded.Host]]:
        """Return the node with the services, its NICs that are physical networks, and further hosts."""
        found = []
        for node in self.place.hosts or (self.node,):
            assert isinstance(node, NamespaceNode)
            physical = self.place.cabled if node.name == self.node.name else ()
            more = side_switches.SIDES if len(self.place.hosts) > 1 else ()
            found.append(embedded.Host(node=node, physical=(*physical, *more)))
        if len(found) > 1:
            assert isinstance(self.node, NamespaceNode)
            side_switches.build(self.node, [host.node for host in found])
        return found[0].node, found[0].physical, found[1:]

    def _unplug(self) -> None:
        with contextlib.suppress(ToolkitError):
            self.node.call(interfaces.delete, interface=NODE_NIC)

    def _share(self) -> None:
        files = image.find()
        if isinstance(files, Missing):
            raise TestbedError("CLOUD-15", files.what, found=files.reason, hint=files.mend)
        workshop = self.workshop
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="bmwg-key-", dir="/run"))
        self._key = Path(folder) / "key"
        workshop.key(channel.new_key(self._key))
        kernel = workshop.image("kernel", files.kernel, "aki")
        initramfs = workshop.image("initramfs", files.initramfs, "ari")
        self._parts = {"kernel_id": kernel.id, "ramdisk_id": initramfs.id, "os_command_line": KERNEL_LINE}
        self._files = files
        self._sha256 = hashlib.sha256(files.disk.read_bytes()).hexdigest()
        self._guard = workshop.doorway()
        gateway = embedded.MANAGEMENT_NETWORK
        first = str(ipaddress.IPv4Address(embedded.MANAGEMENT_ADDRESS) + 9)
        self._networks["management"] = workshop.network(
            "management", gateway, gateway=None, first=first, physical=embedded.MANAGEMENT
        )

    def __exit__(self, *exc: object) -> None:
        """End the cloud with all that is in it."""
        self._workshop = None
        self._stack.close()

    def made(self, intent: MachineIntent) -> Machine:
        """Make a server; it is routed to by the node, or forwards between the intent's links."""
        workshop = self.workshop
        zone = self._zone_of(intent)
        with self._sharing:  # what several machines share is made once, also when they are made at once
            flavor = self.flavor(_given(intent))
            require_fit(flavor, memory_octets=256 << 20, disk_octets=1 << 29)
            networks = [self._segment_of(nic) for nic in intent.links]
            if intent.network:
                networks.append(self._network_of(intent))
            disk = self._image_of(intent.nic_model)
            self._users.update(intent.links)
        workshop.client.require_room(servers=1, cpus=flavor.vcpus, memory_octets=flavor.ram << 20)
        number = intent.name
        ports = []
        try:
            ports.append(workshop.port(f"{number}-mgmt", self._networks["management"], guard=self._guard))
            ports += [workshop.port(f"{number}-test{side}", network) for side, network in enumerate(networks)]
            began_s = time.monotonic()
            server = workshop.server(
                number,
                image=disk,
                flavor=flavor,
                ports=ports,
                user_data=_encoded(intent.script or _USER_DATA),
                zone=zone,
            )
        except BaseException:
            workshop.delete_ports(ports)
            self._release(intent.links)
            raise
        try:
            phases = dict(server.phases_s)
            if intent.network:  # where the server forwards, whoever sends frames through it looks
                self.node.call_within(
                    channel.DEADLINE_S + 10,
                    reached.wait_answer,
                    address=ports[1].address,
                    within_s=channel.DEADLINE_S,
                )
                phases["first_frame"] = time.monotonic() - began_s
            node = None
            if not intent.script:
                assert self._cloud is not None
                netns = self._cloud.netns
                node = channel.opened(netns, self._key, name=server.name, address=ports[0].address)
                phases["channel"] = time.monotonic() - began_s
        except BaseException:
            self.remove(server.server_id, server.ports, intent.links)
            raise
        endpoints = tuple(
            MachineEndpoint(address=port.address, interface=f"eth{number}", mac=port.mac)
            for number, port in enumerate(ports[1:], start=1)
        )
        machine = NovaMachine(self, server, endpoints, flavor, node, intent.links)
        machine.phases_s = {name: round(value, 3) for name, value in phases.items()}
        if not intent.script and disk.id != self._platform_of:  # asked once for each image, not at each start
            self._described["platform"] = record.collect(workshop.client, flavor=flavor, image=disk)
            self._platform_of = disk.id
        return machine

    def _zone_of(self, intent: MachineIntent) -> str | None:
        """Return the zone and host that a server is to stand on; None where there is one host alone."""
        assert self._cloud is not None
        if len(self._cloud.hosts) == 1:
            return None
        host = self.node.name if intent.links else intent.host
        if host and host not in self._cloud.hosts:
            raise TestbedError(
                "CLOUD-15",
                f"node {host} is no compute host of the cloud",
                expected=f"one of {', '.join(self._cloud.hosts)}",
                found=host,
            )
        return f"nova:{self._cloud.hosts[host]}" if host else None

    def flavor(self, size: MachineSize) -> Any:
        """Return the flavor of that size, which is made when it is first wanted."""
        with self._sharing:
            if size not in self._flavors:
                name = f"server-{size.cpus}-{size.memory_octets >> 20}"
                self._flavors[size] = self.workshop.flavor(
                    name, cpus=size.cpus, memory_octets=size.memory_octets, disk_octets=1 << 30
                )
            return self._flavors[size]

    def _network_of(self, intent: MachineIntent) -> Any:
        if intent.network not in self._networks:
            router, first, *_ = ipaddress.IPv4Network(intent.network).hosts()
            self._networks[intent.network] = self.workshop.network(
                "test", intent.network, gateway=str(router), first=str(first), physical=PHYSICAL
            )
            length = intent.network.partition("/")[2]
            self.node.call(interfaces.add_address, interface=NODE_NIC, address=f"{router}/{length}")
        return self._networks[intent.network]

    def _segment_of(self, nic: str) -> Any:
        """The flat network on one of the node's NICs; its addresses are no part of what is measured."""
        if nic not in self._networks:
            cidr = FORWARDED_NETWORKS[self.place.cabled.index(nic)]
            first = str(next(ipaddress.IPv4Network(cidr).hosts()))
            self._networks[nic] = self.workshop.network(nic, cidr, gateway=None, first=first, physical=nic)
        return self._networks[nic]

    def _image_of(self, nic_model: str) -> Any:
        if nic_model not in self._images:
            self._images[nic_model] = self.workshop.image(
                f"server-{_VIF[nic_model]}",
                self._files.disk,  # type: ignore[union-attr]
                "qcow2",
                hw_vif_model=_VIF[nic_model],
                os_shutdown_timeout="0",  # it obeys no power button, for which Nova waits a minute
                **self._parts,
            )
        return self._images[nic_model]

    def sample(self, server_id: str) -> Sample:
        """What a server's QEMU uses; the compute host is this machine."""
        assert self._cloud is not None
        found = self._cloud.node.call(cloud_node.sample, server_id=server_id)
        return Sample(**found)

    def accelerator(self, server_id: str) -> str:
        """How a server's instructions run, as its QEMU on this machine was told; "" if not known."""
        assert self._cloud is not None
        with contextlib.suppress(ToolkitError):
            return str(self._cloud.node.call(cloud_node.accelerator, server_id=server_id))
        return ""

    def console(self, server_id: str) -> list[str]:
        """What a server has written since it booted; the compute host is this machine."""
        assert self._cloud is not None
        found: list[str] = self._cloud.node.call(cloud_node.console, server_id=server_id)
        return found

    def remove(self, server_id: str, ports: tuple[ServerPort, ...], nics: tuple[str, ...] = ()) -> None:
        """Delete a server, the ports that were made for it, and the networks on its links."""
        if self._workshop is None:
            return  # the cloud has gone, and all with it
        self._workshop.delete_server(server_id)
        self._workshop.delete_ports(ports)
        self._release(nics)

    def _release(self, nics: tuple[str, ...]) -> None:
        """Delete the networks on these NICs where nobody else uses them. Raises DriverError CLOUD-18."""
        with self._sharing:
            self._users.subtract(nics)
            nics = tuple(nic for nic in nics if self._users[nic] <= 0)
            networks = [self._networks.pop(nic) for nic in nics if nic in self._networks]
        segments.cleared(self.workshop, networks, [(self.node, nics)])

    @contextlib.contextmanager
    def laid(self, links: tuple[str, ...]) -> Iterator[None]:
        """Have the networks on these NICs stand while this is entered: servers come and go without them."""
        with self._sharing:
            for nic in links:
                self._segment_of(nic)
            self._users.update(links)
        try:
            yield
        finally:
            if self._workshop is not None:
                self._release(links)

    def moving_missing(self) -> Missing | None:
        """Return what is missing where the cloud has one compute host alone."""
        if len(self.place.hosts) > 1:
            return None
        return Missing(
            what="another compute host, to which a server moves",
            reason="the cloud has one",
            mend="BMWG_TESTBED=testbeds/openstack-two-hosts.yaml",
        )

    def moving(self, intent: MovingIntent) -> contextlib.AbstractContextManager[MovingServer]:
        """Have a server stand that Nova moves, and the NICs in the switches between its hosts."""
        assert self._cloud is not None
        assert isinstance(self.node, NamespaceNode)
        networks, line = FORWARDED_NETWORKS, KERNEL_LINE
        return moving_stand.standing(
            self.workshop, self._cloud, self.node, intent, networks=networks, kernel_line=line
        )

    def describe(self) -> Mapping[str, JsonValue]:
        """The cloud: its services, how it started, what servers are made of."""
        several = self._cloud is not None and len(self._cloud.hosts) > 1
        hosts = {"hosts": dict(self._cloud.hosts)} if several and self._cloud else {}
        disk = {"image": {"file": self._files.disk.name, "sha256": self._sha256}} if self._files else {}
        return {**disk, "cloud": {"name": "embedded", "services": self.services, **hosts, **self._described}}


def _given(intent: MachineIntent) -> MachineSize:
    """Return no more CPUs and memory than this machine has: the compute host is this machine."""
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return MachineSize(
        cpus=min(intent.cpus, os.cpu_count() or 1), memory_octets=min(intent.memory_octets, half)
    )


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_: type[LinkedMachineProvider] = OpenStackProvider
__: type[MovingMachineProvider] = OpenStackProvider

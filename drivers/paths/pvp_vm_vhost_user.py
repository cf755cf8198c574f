"""PVP through a virtual machine behind a vSwitch: tester port, NIC, switch, machine, and back the same way.

The network option decides how the machine is attached: it hands over a vhost-user socket a side, as it does
to a pod, and the machine's NIC is at that socket. A bridge of the switch a side joins it with the node's NIC.
The machine's own kernel routes. It has what the testbed file gives a pod: CPUs, and hugepages or memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api.machines import MachineIntent, SocketMachine, SocketMachineProvider, SocketNic
from bmwg.drivers.api.protocols import (
    Attached,
    Attachment,
    Deployment,
    JsonValue,
    Missing,
    PathDriver,
)
from bmwg.drivers.machines.qemu import NicModel
from bmwg.drivers.network import datapath
from bmwg.drivers.network.handover import VHOST_USER
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths import destinations, machine_ends, queues, uplinks
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.destinations import Hop
from bmwg.drivers.paths.forwarding_pods import bridge_of
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, refuse, too_large
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.paths.pvp_vm import standing_machine, under
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.paths.standing_programs import standing_programs
from bmwg.drivers.places.guest_hosts import PROVIDER, provider_of
from bmwg.drivers.places.inside import InMachine
from bmwg.drivers.ports import interfaces as hosting_interfaces
from bmwg.drivers.ports import sysctl
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import VM, Cell

KERNEL_OCTETS = 512 << 20  # choice: of its kernel and our agent, beside what a pod may use
_FUNCTION = "kernel-l3"
_NAME = "vm0"  # not drawn anew: a deployment has one, and its ports are named after it
_MIB_2, _GIB_1 = 2 << 20, 1 << 30


class PvpVhostUserPath:
    """A chain through one machine, each of its NICs a vhost-user port of the node's vSwitch."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp-vm-vhost-user",
        hostings=(VM,),
        functions=(_FUNCTION,),
        networked=True,
        scenario="PVP: interface, vSwitch, virtual machine by vhost-user, vSwitch, interface",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, sockets, machines with NICs at them, the switch."""
        bed, network = self._bed, self._network
        mtu_octets = min(bed.mtu_octets, LINK_MTU_OCTETS)
        if found := too_large(self._cell, mtu_octets=mtu_octets, because=" of a machine's interfaces"):
            return found
        if network.hands_over != VHOST_USER:
            return Missing(
                what=f"a machine's NIC on network {network.spec.name}",
                reason=f"it hands over {network.hands_over}; the NIC takes {VHOST_USER}, a switch's socket",
                mend="an option with driver: ovs-dpdk",
            )
        node = bed.node(bed.sides()[0].node)
        provider = provider_of(bed, node)
        if not isinstance(provider, SocketMachineProvider):
            return Missing(
                what=f"machines of {bed.machines_driver} with NICs at vhost-user sockets",
                reason="this provider joins each machine to a network by itself",
                mend=f"vms: {{driver: {PROVIDER}}} in the testbed file",
            )
        page_octets, pages, memory_octets = self._memory()
        if memory_octets < KERNEL_OCTETS:
            return Missing(
                what=f"a machine in {pages} hugepages of {page_octets >> 20} MiB",
                reason=f"they are all of its memory, and its kernel needs {KERNEL_OCTETS >> 20} MiB",
                mend="more pages of the testbed's pods, or none for ordinary memory",
            )
        return provider.no_sockets(hugepage_octets=page_octets, pages=pages) or uplinks.lacking(
            network, node, bed.testbed
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Start the switch with a port a side, boot the machine, route in it; undo all of it on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node = bed.node(sides[0].node)
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, node, [side.nic for side in sides]))
            attached = [stack.enter_context(self._attached(node, side)) for side in sides]
            machine = stack.enter_context(self._machine(node, attached))
            inside = InMachine(machine)
            names = machine_ends.interfaces_of(machine, inside)
            inside.call(sysctl.quiet_defaults)
            for name in names:
                inside.call(hosting_interfaces.up, interface=name)
            machine_ends.made_router(inside, sides, names)
            routes = destinations.set_routes(
                inside.call, "machine", _hops_behind(sides, names), bed.destination_networks
            )
            settled = [
                self._network.settled(node, one, pod_id=_NAME, pod_pid=machine.process["pid"])
                for one in attached
            ]
            device_queues = [queues.isolate(bed, node, side.nic, side.number) for side in sides]
            stack.enter_context(standing_programs(bed, node, self._network, machine))
            crossed = machine_ends.crossed(bed, sides, hint=_SILENT)
            told = machine.describe()
            described = bed.described(self._cell.network, node.name)
            yield Deployment(
                ports=(routed_port(bed, sides[0]), routed_port(bed, sides[1])),
                evidence={
                    "path": self.kind.name,
                    "hosting": VM,
                    "host": node.name,
                    "function": {"name": _FUNCTION, "runs_in": "the machine, by its own kernel"},
                    "machine": {**told, "interfaces": names, "image": None, "vnics": machine.vnics()},
                    "provider": {"name": bed.machines_driver or PROVIDER},
                    # without the networking model, which is one of a pod's attachment
                    "network": {key: one for key, one in described.items() if key != "networking_model"},
                    "attachments": [
                        {**one.evidence, **more} for one, more in zip(attached, settled, strict=True)
                    ],
                    "probe_frames": crossed,
                    "hops": self._hops(sides, names),
                    "forwarding": f"the machine's kernel, {under(told)}; "
                    "the vSwitch's polling threads, by port",
                    "device_queues": device_queues,
                    **({"destination_networks": routes} if routes else {}),
                    "datapath": {node.name: node.call(datapath.observe)},
                },
            )

    def _memory(self) -> tuple[int, int, int]:
        """Return the size of the machine's pages (0: ordinary ones), their number, and all of its memory."""
        pods = self._bed.testbed.pods
        pages, page_octets = (
            (pods.hugepages_1gi, _GIB_1) if pods.hugepages_1gi else (pods.hugepages_2mi, _MIB_2)
        )
        if pages:
            return page_octets, pages, pages * page_octets
        return 0, 0, KERNEL_OCTETS + pods.memory_octets

    @contextmanager
    def _attached(self, node: BedNode, side: Side) -> Iterator[Attached]:
        """Have a port of the switch stand for the machine's NIC of a side, joined with the node's NIC."""
        wanted = Attachment(
            network=self._cell.network,
            interface=f"net{side.number}",
            side=side.number,
            uplink=side.nic,
            addresses=OUTER[side.number].router,
        )
        with self._network.attach(
            node, wanted, pod_id=_NAME, pod_pid=node.pid, bridge=bridge_of(side.number)
        ) as attached:
            yield attached

    @contextmanager
    def _machine(self, node: BedNode, attached: Sequence[Attached]) -> Iterator[SocketMachine]:
        """Boot the machine with a NIC at each socket; end it on leaving."""
        bed = self._bed
        provider = provider_of(bed, node)
        assert isinstance(provider, SocketMachineProvider)  # else it was refused
        page_octets, _, memory_octets = self._memory()
        intent = MachineIntent(
            number=0,
            name=_NAME,
            cpus=len(bed.testbed.pods.cpus),
            memory_octets=memory_octets,
            nic_model=NicModel.VIRTIO.value,
            network="",
        )
        nics = tuple(SocketNic(socket=one.socket, mac=one.mac) for one in attached)
        with provider, ExitStack() as stack:
            machine = provider.at_sockets(
                intent, nics, cpus=bed.testbed.pods.cpuset, hugepage_octets=page_octets
            )
            stack.callback(machine.stop)
            stack.enter_context(standing_machine(bed, machine))
            yield machine

    def _hops(self, sides: tuple[Side, Side], names: Sequence[str]) -> list[JsonValue]:
        hops: list[JsonValue] = []
        for side, name in zip(sides, names, strict=True):
            part: list[JsonValue] = [
                {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, port of the vSwitch"},
                {"at": side.node, "what": f"{VHOST_USER} port of the vSwitch"},
                {"at": f"machine/{name}", "what": f"virtio-net by {VHOST_USER}, {_FUNCTION}"},
            ]
            hops.extend(part if side.number == 0 else reversed(part))
        return hops


_SILENT = "do both NICs of the machine show as connected in what the switch says of its ports?"


def _hops_behind(sides: tuple[Side, Side], names: Sequence[str]) -> list[Hop]:
    """Return the machine's ways to the networks behind the tester's ports."""
    return [
        Hop(
            side=side.number,
            via=(host(OUTER[side.number].far_ipv4), host(OUTER[side.number].far_ipv6)),
            interface=name,
        )
        for side, name in zip(sides, names, strict=True)
    ]


_: type[PathDriver] = PvpVhostUserPath

"""PVP through a virtual machine: tester port, NIC of its host, machine, NIC of its host, tester port.

The testbed's provider makes the machine with an interface in one segment with each NIC; the machine's own
kernel routes between them. Its host is the node that the tester is cabled to: no other switch is in between.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api.machines import Machine, MachineIntent
from bmwg.drivers.api.protocols import Deployment, JsonValue, Missing, PathDriver
from bmwg.drivers.machines.qemu import NicModel
from bmwg.drivers.network import datapath
from bmwg.drivers.paths import destinations, machine_ends, queues
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import LINK_MTU_OCTETS, refuse, too_large
from bmwg.drivers.paths.node import routed_port
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.places.inside import InMachine
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import VM, Cell

MEMORY_OCTETS = 512 << 20  # choice: what the image of servers boots with and routes in
_ACCELERATORS = {"kvm": "KVM", "tcg": "TCG"}


class PvpMachinePath:
    """A chain through one machine of the testbed's provider, whose kernel forwards at layer 3."""

    kind: ClassVar[PathKind] = PathKind(
        name="pvp-vm",
        hostings=(VM,),
        functions=("kernel-l3",),
        networked=False,
        scenario="PVP: interface, virtual machine, interface",
    )

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed

    def probe(self) -> Missing | None:
        """Return what is missing: the frame's room, machines that forward."""
        why = " of a machine's interfaces"
        return (
            too_large(self._cell, mtu_octets=min(self._bed.mtu_octets, LINK_MTU_OCTETS), because=why)
            or destinations.unroutable(self._cell, "a machine has routes to one network behind each port")
            or self._bed.machines_missing()
        )

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Have the machine made, route in it, send a frame each way; remove it on leaving."""
        refuse(self.probe())
        bed = self._bed
        sides = bed.sides()
        node = bed.node(sides[0].node)
        with ExitStack() as stack:
            stack.enter_context(queues.released(bed, node, [side.nic for side in sides]))
            machine = bed.machines.made(self._intent(sides))
            stack.callback(machine.stop)
            inside = InMachine(machine)
            interfaces = machine_ends.interfaces_of(machine, inside)
            stack.enter_context(standing_machine(bed, machine))
            switched = machine_ends.quiet_switches(node, [side.nic for side in sides])
            machine_ends.made_router(inside, sides, interfaces)
            device_queues = [queues.isolate(bed, node, side.nic, side.number) for side in sides]
            crossed = machine_ends.crossed(bed, sides)
            told = machine.describe()
            yield Deployment(
                ports=(routed_port(bed, sides[0]), routed_port(bed, sides[1])),
                evidence={
                    "path": self.kind.name,
                    "hosting": VM,
                    "host": node.name,
                    "function": {"name": "kernel-l3", "runs_in": "the machine, by its own kernel"},
                    "machine": {**told, "interfaces": interfaces, "image": self._image()},
                    "provider": {"name": bed.machines_driver, **bed.machines.describe()},
                    "switches": switched,
                    "drawn_names": machine_ends.drawn_names(node),
                    "probe_frames": crossed,
                    "hops": self._hops(sides, interfaces, str(told["kind"])),
                    "forwarding": f"the machine's kernel, {under(told)}; "
                    "the host's share in the threads of the device queues and in the machine's process",
                    "device_queues": device_queues,
                    "datapath": {node.name: node.call(datapath.observe)},
                },
            )

    def _image(self) -> JsonValue:
        found = self._bed.machines.describe().get("image")
        return f"{found['file']}, SHA-256 {found['sha256']}" if isinstance(found, dict) else None

    def _intent(self, sides: tuple[Side, Side]) -> MachineIntent:
        return MachineIntent(
            number=0,
            name=f"pvp-{self._bed.next_id()}",
            cpus=min(len(self._bed.testbed.dut.cpus), os.cpu_count() or 1),
            memory_octets=MEMORY_OCTETS,
            nic_model=NicModel.VIRTIO.value,
            network="",
            links=tuple(side.nic for side in sides),
        )

    def _hops(self, sides: tuple[Side, Side], interfaces: list[str], kind: str) -> list[JsonValue]:
        hops: list[JsonValue] = []
        for side, interface in zip(sides, interfaces, strict=True):
            part: list[JsonValue] = [
                {"at": f"tester/{side.tester_interface}", "what": f"tester port, {side.link}"},
                {"at": f"{side.node}/{side.nic}", "what": f"{side.link}, port of the switch of {kind}"},
                {"at": f"machine/{interface}", "what": f"virtio-net, {self._cell.function}"},
            ]
            hops.extend(part if side.number == 0 else reversed(part))
        return hops


def under(told: Mapping[str, JsonValue]) -> str:
    """Say what runs a machine's instructions, by what it describes."""
    return f"under {_ACCELERATORS.get(str(told['accelerator']), 'an accelerator not told')}"


@contextmanager
def standing_machine(bed: Bed, machine: Machine) -> Iterator[None]:
    """The bed knows the machine while it stands."""
    bed.standing_machines[machine.name] = machine
    try:
        yield
    finally:
        del bed.standing_machines[machine.name]


_: type[PathDriver] = PvpMachinePath

"""A guest as the place of programs: QEMU in a cgroup with a pod's CPUs, the program in one with its limits.

The guest has as many CPUs as a pod, and more memory than one: what its own kernel and our agent need stands
above the program's limit, which holds inside as it does for a native program. Its NIC is paravirtual.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bmwg.drivers import registry
from bmwg.drivers.api import JsonValue, Missing
from bmwg.drivers.api_machines import Machine, MachineIntent, MachineProvider
from bmwg.drivers.hosting.instance import FORM_NETWORKS, Form, Place
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.hosting.qemu import NicModel
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.native_place import UNDO_KIND, HostPlace

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from bmwg.drivers.ledger import Ledger

PROVIDER = "qemu"
INTERFACE = "eth0"
NETWORK = FORM_NETWORKS[Form.VM_PARA.value]
_CGROUP = "bmwg.drivers.hosting.native_cgroup"
_GUESTS = "bmwg.drivers.hosting.qemu_place"
_OWN_OCTETS = 512 << 20  # choice: the guest's kernel, its files in memory and our agent
_EMULATOR_OCTETS = 1 << 30  # choice: what QEMU needs beside the guest's memory; under TCG translated code
_BOOT_S = 60.0


class GuestAsNode:
    """A machine as the node of its programs. What is made inside goes with it, so no undo names it."""

    def __init__(self, machine: Machine, host: NamespaceNode) -> None:
        self.name = machine.name
        self._machine = machine
        self._host = host

    @property
    def place(self) -> dict[str, JsonValue]:
        """Where what made it is undone: on its host."""
        return dict(self._host.place)

    def call(self, function: str, /, *, deadline_s: float = 30.0, **arguments: JsonValue) -> JsonValue:
        """Run a node function inside."""
        return self._machine.call(function, deadline_s=deadline_s, **arguments)

    def describe(self) -> dict[str, JsonValue]:
        """What runs, as its provider tells it."""
        return dict(self._machine.describe())


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestPlace:
    """A guest that stands: where programs run in it, its address, its tap on the node, and what it is."""

    place: HostPlace
    address: str
    tap: str
    evidence: dict[str, JsonValue]


def lacking(bed: Bed, node: NamespaceNode) -> Missing | None:
    """Return what the node lacks for a guest."""
    return _provider(bed, node).probe()


def _provider(bed: Bed, node: NamespaceNode) -> MachineProvider:
    ledger = cast("Ledger", bed.undo)  # a run's undo log is its ledger
    return registry.provider(PROVIDER, node=node, place=_place(bed), ledger=ledger, token=bed.token)


def _place(bed: Bed) -> Place:
    return Place(
        client_address="",
        client_interface="",
        server_address="",
        server_interface="",
        token=bed.token,
        owner=bed.owner,
        run_dir=str(bed.run_dir),
    )


@contextmanager
def guest_place(bed: Bed, node: NamespaceNode, *, cpus: Sequence[int]) -> Iterator[GuestPlace]:
    """Boot a guest on a node whose programs have the limits of a pod; end it on leaving.

    Raises TestbedError VM-01 to VM-06, DriverError HOST-01.
    """
    pods = bed.testbed.pods
    provider = _provider(bed, node)
    memory = pods.memory_octets + _OWN_OCTETS
    with ExitStack() as stack:
        stack.enter_context(provider)
        machine = provider.made(
            MachineIntent(
                number=0,
                name=f"kvm-{bed.token}",
                cpus=len(cpus),
                memory_octets=memory,
                nic_model=NicModel.VIRTIO.value,
                network=NETWORK,
            )
        )
        stack.callback(machine.stop)
        outer = stack.enter_context(_cgroup(bed, node, cpus, memory + _EMULATOR_OCTETS))
        node.call(f"{_GUESTS}:join", name=machine.name, cgroup=outer)
        guest = GuestAsNode(machine, node)
        cgroup = guest.call(
            f"{_CGROUP}:make",
            deadline_s=_BOOT_S,
            name="bmwg-host",
            cpus=f"0-{len(cpus) - 1}",
            memory_octets=pods.memory_octets,
            hugepages_2mi=pods.hugepages_2mi,
        )
        limits = guest.call(f"{_CGROUP}:described", deadline_s=_BOOT_S, cgroup=cgroup)
        machine_limits = node.call(f"{_CGROUP}:described", cgroup=outer)
        for told in (limits, machine_limits):
            del told["cgroup"]
        agent = guest.call("bmwg.drivers.hosting.process:this", deadline_s=_BOOT_S)
        place = HostPlace(
            pod_id="guest0",
            node=guest,
            pid=agent["pid"],
            start_ticks=agent["start_ticks"],
            cgroup=cgroup,
            limits=limits,
        )
        evidence: dict[str, JsonValue] = {
            "machine": {**machine.describe(), "limits_of_its_process": machine_limits},
            "host": node.name,
            "programs": limits,
        }
        yield GuestPlace(
            place=place, address=machine.endpoints[0].address, tap=machine.name, evidence=evidence
        )


@contextmanager
def _cgroup(bed: Bed, node: NamespaceNode, cpus: Sequence[int], memory_octets: int) -> Iterator[str]:
    """Make the cgroup of QEMU's process: it ends with what it holds, before the machine is stopped."""
    name = f"bmwg-{bed.next_id()}-guest"
    entry = bed.undo.before(UNDO_KIND, node.place, cgroup=f"/{name}")
    try:
        cgroup: str = node.call(
            f"{_CGROUP}:make", name=name, cpus=",".join(map(str, cpus)), memory_octets=memory_octets
        )
        yield cgroup
    finally:
        node.call(f"{_CGROUP}:remove", cgroup=f"/{name}")
        bed.undo.done(entry)

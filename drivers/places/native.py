"""A host as the place of native programs: its namespaces, and a cgroup with the testbed's limits of pods.

A guest with our agent is such a host too; its cgroup goes with it. Proxies of the native form have no cgroup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Self

from bmwg.drivers.api.calls import WITHIN_S, CallsInside
from bmwg.drivers.api.instance import AlsoIpv6, Crossing, Hosting, InPath, Instance, Limits, Place, Program
from bmwg.drivers.api.protocols import (
    HostNode,
    JsonValue,
    Missing,
    NestedNode,
    PlacedNode,
    ProgramPlace,
    undone,
)
from bmwg.drivers.containers import native_cgroup
from bmwg.drivers.function import tables
from bmwg.drivers.nodes import programs
from bmwg.drivers.places.instances import AgentsProgram, PlacedInstance
from bmwg.methodology.record import booted

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed
    from bmwg.drivers.undo.ledger import Ledger

UNDO_KIND = "native_cgroup"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlace(CallsInside):
    """A node as the place of a program. `limits` are those of its cgroup, as the kernel has them."""

    pod_id: str
    node: HostNode
    cgroup: str
    limits: dict[str, JsonValue]

    @property
    def pid(self) -> int:
        """The node's agent."""
        return self.node.pid

    @property
    def start_ticks(self) -> int:
        """When the agent was started, in clock ticks since the kernel's boot."""
        return self.node.start_ticks

    @property
    def cpus(self) -> str:
        """The CPUs that programs are put on, as a list such as `0,2`."""
        return str(self.limits["cpuset_cpus"])

    @property
    def entry(self) -> dict[str, JsonValue]:
        """Programs enter it by the node's agent, and join the cgroup."""
        return {"pid": self.pid, "start_ticks": self.start_ticks, "cpus": self.cpus, "cgroup": self.cgroup}

    def inside_named(
        self, function: str, arguments: Mapping[str, JsonValue], *, within_s: float = WITHIN_S
    ) -> JsonValue:
        """Run a function on the node."""
        return self.node.call_named(function, arguments, deadline_s=within_s + 20.0)


@contextmanager
def native_place(
    bed: Bed, node: HostNode, *, number: int, cpus: Sequence[int], cpu_limit: float = 0.0
) -> Iterator[HostPlace]:
    """Make the cgroup of native programs on these CPUs; end what runs in it and remove it on leaving.

    Raises DriverError HOST-01.
    """
    pods = bed.testbed.pods
    name = f"bmwg-{bed.next_id()}-host{number}"
    entry = bed.undo.before(UNDO_KIND, node.place, cgroup=f"/{name}")
    try:
        cgroup = node.call(
            native_cgroup.make,
            name=name,
            cpus=",".join(map(str, cpus)),
            memory_octets=pods.memory_octets,
            hugepages_2mi=pods.hugepages_2mi,
            cpu_limit=cpu_limit,
        )
        told = node.call(native_cgroup.described, cgroup=cgroup)
        del told["cgroup"]  # its name is drawn anew at each deployment
        yield HostPlace(pod_id=f"host{number}", node=node, cgroup=cgroup, limits=told)
    finally:
        node.call(native_cgroup.remove, cgroup=f"/{name}")
        bed.undo.done(entry)


def guest_place(bed: Bed, guest: NestedNode, *, name: str) -> HostPlace:
    """Make a cgroup in a guest with a pod's limits, on its CPUs for pods; it goes with the guest.

    Raises DriverError HOST-01.
    """
    limits = bed.testbed.pods
    cgroup = guest.call(
        native_cgroup.make,
        name=name,
        cpus=guest.pod_cpus,
        memory_octets=limits.memory_octets,
        hugepages_2mi=limits.hugepages_2mi,
    )
    told = guest.call(native_cgroup.described, cgroup=cgroup)
    return HostPlace(pod_id=guest.name, node=guest, cgroup=cgroup, limits=told)


class NativeHosting:
    """Programs on the node itself, without limits; each further instance has a port of its own."""

    def __init__(self, *, form: str, node: PlacedNode, place: Place, ledger: Ledger) -> None:
        self.form = form
        self._node = node
        self._place = place
        self._ledger = ledger

    def __enter__(self) -> Self:
        """Nothing is shared between instances."""
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def probe(self) -> Missing | None:
        """Nothing can be missing but the program itself."""
        return None

    def prepare(self, program: Program) -> None:
        """Nothing comes before a process."""

    def start(self, program: Program, number: int, limits: Limits) -> Instance:
        """Start the program on the next port of the node's address towards the clients."""
        name = f"native-{number}"
        address, port = self._place.client_address, program.port + number
        # below the node's own /run: the run's folder is its owner's alone, and the program gives up root
        folder = f"/run/bmwg-instances/{name}-{self._place.token}"
        self._node.call(programs.require_free, address=address, port=port)
        with ExitStack() as stack:
            stack.callback(self._node.call, programs.remove_folder, folder=folder)
            running = AgentsProgram(self._node, program.at(folder, address, port), folder)
            stack.callback(running.stop)
            return PlacedInstance(
                name,
                (address, port),
                {"": running},
                sampled=running.sample,
                told=lambda: {"limits": None},
                undo=stack.pop_all(),
            )

    def no_ipv6(self) -> Missing | None:
        """Nothing: instances have the node's own address."""

    def no_way(self, *, program: bool) -> Missing | None:
        """Nothing: the node forwards, and has programs."""

    @contextmanager
    def crossing(self) -> Iterator[Crossing]:
        """Yield the node itself."""
        place = self._place
        remove = partial(self._node.call_within, tables.LOAD_S, tables.remove)
        with undone(self._ledger, "function_table", self._node.place, remove):
            yield Crossing(
                name="native",
                sides=(place.client_interface, place.server_interface),
                addresses=(place.client_address, place.server_address),
                run=self._node.call_within,
                node=self._node,
                fault=lambda: None,
                told=lambda: {"runs_in": "the node's network namespace, by its kernel"},
            )

    def describe(self) -> Mapping[str, JsonValue]:
        """What the form is."""
        return {
            "form": self.form,
            "runs": "a process on the node, one port for each instance",
            booted.KEY: booted.NATIVE.as_builtins(),
        }


_place: type[ProgramPlace] = HostPlace
_hosting: type[Hosting] = NativeHosting
_in_path: type[InPath] = NativeHosting
_also_ipv6: type[AlsoIpv6] = NativeHosting

"""A server that routes is given a flavor with more memory or CPUs, and the one that it had: cold resizes.

Nova stops the server and boots it anew, so that frames are lost meanwhile; its own boot makes it a router
again. The size in force is that of the flavor which Nova has of it. Its guest says on its console what it has
found.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, cast

from bmwg.drivers.api.machines import LinkedMachineProvider, MachineSize, ResizableMachine
from bmwg.drivers.api.protocols import Missing, Node
from bmwg.drivers.paths import machine_ends, queues
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pvp_vm import MEMORY_OCTETS
from bmwg.drivers.ports import interfaces
from bmwg.drivers.workload.beside_frames import BesideFrames
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground
from bmwg.drivers.workload.resizes import Resizes, Standing
from bmwg.drivers.workload.server_lives import HAS, server_intent
from bmwg.methodology.kinds.acts.experiments import SERVER_PATH
from bmwg.methodology.kinds.acts.records import CPUS, SIZE_KEPT, ActsSpec

MORE_OCTETS = MEMORY_OCTETS + (256 << 20)  # choice: whole blocks of the guest's kernel, which are 128 MiB
MORE_CPUS = 2
_LOOK_S = 0.5  # choice: Nova is asked no more often, as of starts
_SAYS_S = 60.0  # choice: its guest says what it has once it routes, and is translated
_SAID = re.compile(rf"{HAS} (?P<cpus>\d+) CPUs and (?P<octets>\d+) octets")


class ServerMemory:
    """The memory of a server, in octets."""

    part: ClassVar[str] = "octets"

    def __init__(self, machine: ResizableMachine, host: Node, within_s: float) -> None:
        self._machine, self._host, self._within_s = machine, host, within_s
        self.name = f"the memory of server {machine.name}"
        self.sizes = (MEMORY_OCTETS, MORE_OCTETS)
        self._seen, self._look_s = 0, 0.0
        self._moments: dict[str, int] = {}

    def ask(self, size: int) -> None:
        """Have the provider begin, or take back what is not kept. Raises what it raises."""
        self._look_s, self._moments = 0.0, {}
        steps = self._machine.ask_size(self._whole(size), within_s=self._within_s)
        self._moments = dict(steps)

    def size(self) -> int:
        """What Nova has of it, by a look that is half a second old at most; 0 amid a change."""
        if (now_s := time.monotonic()) >= self._look_s:
            found = self._machine.size()
            self._seen, self._look_s = (0 if found is None else self._part(found)), now_s + _LOOK_S
        return self._seen

    def complete(self) -> None:
        """Have the new size kept for good."""
        self._machine.keep_size(within_s=self._within_s)
        self._moments[SIZE_KEPT] = time.monotonic_ns()

    def forwarded(self) -> int:
        """How many frames have left the server by its second interface since it was started."""
        found = self._host.call(interfaces.counters, interface=self._machine.host_interfaces[1])
        return int(found["rx_packets"])  # of a tap: what its guest has sent

    def shown(
        self, frames: MovingFrames, beside: BesideFrames | None, asked_ns: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return when the request was accepted and its size kept, and what the guest itself has found."""
        end_s = time.monotonic() + _SAYS_S
        while (counted := self._counted()) is None and time.monotonic() < end_s:
            time.sleep(_LOOK_S)
        return self._moments, {} if counted is None else {f"guest_{self.part}": counted}

    def _counted(self) -> int | None:
        said = [found for line in self._machine.console() if (found := _SAID.search(line))]
        return int(said[-1][self.part]) if said else None

    def _whole(self, size: int) -> MachineSize:
        return MachineSize(cpus=1, memory_octets=size)

    def _part(self, found: MachineSize) -> int:
        return found.memory_octets


class ServerCpus(ServerMemory):
    """The CPUs of a server, as their number."""

    part: ClassVar[str] = "cpus"

    def __init__(self, machine: ResizableMachine, host: Node, within_s: float) -> None:
        super().__init__(machine, host, within_s)
        self.name = f"the CPUs of server {machine.name}"
        self.sizes = (1, MORE_CPUS)

    def _whole(self, size: int) -> MachineSize:
        return MachineSize(cpus=size, memory_octets=MEMORY_OCTETS)

    def _part(self, found: MachineSize) -> int:
        return found.cpus


class ServerResizes(Resizes):
    """Resizes a server."""

    paths: ClassVar[tuple[str, ...]] = (SERVER_PATH,)
    with_pods: ClassVar[bool] = False

    def probe(self) -> Missing | None:
        """Return what is missing: servers between networks that stand, one host for all, its CPUs."""
        found = super().probe()
        if found is not None:
            return found
        bed = self._ground.bed
        if not isinstance(bed.machines, LinkedMachineProvider):
            return Missing(
                what=f"machines of {bed.machines_driver} that get another size",
                reason="only servers are stopped and started anew for one",
                mend="vms: {driver: openstack} in the testbed file",
            )
        if len(bed.testbed.data["vms"].get("hosts", ())) > 1:
            return Missing(
                what="a resize of a server at its host",
                reason="of several hosts Nova chooses one anew, and one alone is cabled to the tester",
                mend="testbeds/openstack.yaml, which has one",
            )
        return _lacking_cpus(bed) if self._ground.mode == CPUS else None

    @contextmanager
    def standing(self, ground: Ground, spec: ActsSpec) -> Iterator[Standing]:
        """Have a server boot with the first of its sizes."""
        bed, sides = ground.bed, ground.bed.sides()
        node, nics = bed.node(sides[0].node), [side.nic for side in sides]
        provider = cast("LinkedMachineProvider", bed.machines)
        intent = server_intent(f"resized-{bed.next_id()}", sides, 0, tells_size=True)
        with provider.laid(tuple(nics)), queues.released(bed, node, nics):
            machine = provider.made(intent)
            try:
                machine_ends.quiet_switches(node, nics)
                for side in sides:
                    queues.isolate(bed, node, side.nic, side.number)
                made = ServerCpus if spec.mode == CPUS else ServerMemory
                what = made(cast("ResizableMachine", machine), node, spec.first_frame_s)
                yield Standing(ports=ground.ports, routers=ground.routers, resizable=what)
            finally:
                machine.stop()


def _lacking_cpus(bed: Bed) -> Missing | None:
    has = len(bed.testbed.dut.cpus)
    if has >= MORE_CPUS:
        return None
    return Missing(
        what=f"a server with {MORE_CPUS} CPUs",
        reason=f"Nova gives a server no more CPUs than its host has for servers: {has} of dut.cpus",
        mend=f"{MORE_CPUS} CPUs in dut.cpus of the testbed file",
    )


_: type[ActsWorkload] = cast("type[ActsWorkload]", ServerResizes)

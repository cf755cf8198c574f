"""Servers that are made, seen to forward, and deleted: one at a time, or several at once.

A server's own boot makes it a router, by a script of its user data: no agent of ours is part of its start.
The networks on the node's NICs stand as long as an execution; ports and servers are what is timed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import ClassVar, cast

from bmwg.drivers.api.machines import LinkedMachineProvider, Machine, MachineIntent, TimedMachine
from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.machines.qemu import NicModel
from bmwg.drivers.paths import machine_ends, queues
from bmwg.drivers.paths.addresses import OUTER, host, of_router
from bmwg.drivers.paths.pvp_vm import MEMORY_OCTETS
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.drivers.workload.offered_frames import OfferedFrames, frames_of
from bmwg.methodology.kinds.acts.experiments import SERVER_PATH
from bmwg.methodology.kinds.acts.records import ActsSpec, Life

HAS = "bmwg-server: has"  # what a server says on its console before its CPUs and memory


class ServerLives(OfActs):
    """Makes servers between the tester's ports and deletes them, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (SERVER_PATH,)
    with_pods: ClassVar[bool] = False

    def probe(self) -> Missing | None:
        """Return what is missing: machines that forward, one whose maker tells the steps of a start."""
        found = super().probe()
        if found is None and not isinstance(self._ground.bed.machines, LinkedMachineProvider):
            found = Missing(
                what=f"servers of {self._ground.bed.machines_driver} between networks that stand",
                reason="its networks come and go with each machine",
                mend="vms: {driver: openstack} in the testbed file",
            )
        return found

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        sides = ground.bed.sides()
        provider = cast("LinkedMachineProvider", ground.bed.machines)
        with provider.laid(tuple(side.nic for side in sides)), ExitStack() as stack:
            offered = [
                stack.enter_context(_frames(ground, spec, at).offering()) for at in range(spec.at_once)
            ]
            while len(lives) < spec.cycles:
                group = _Group(ground, sides, offered, spec, began_ns)
                lives.extend(group.lives())
                if any(live.first_frame_ns is None for live in lives):
                    return


def _frames(ground: Ground, spec: ActsSpec, at: int) -> OfferedFrames:
    """Frames that are offered to the server of that number among those at once."""
    first, second = ground.ports
    first = replace(first, gateway_ipv4=host(of_router(0, at)))
    return frames_of(spec, (first, second), ground.routers)


_TELLS_SIZE = (
    "cpus=$(grep -c ^processor /proc/cpuinfo)",
    "blocks=$(ls -d /sys/devices/system/memory/memory[0-9]* | grep -c .)",
    "octets=$((0x$(cat /sys/devices/system/memory/block_size_bytes) * blocks))",
    f'echo "{HAS} $cpus CPUs and $octets octets"',
)


def router_script(sides: Sequence[Side], at: int, *, tells_size: bool = False) -> str:
    """What makes the server a router when it boots: addresses, the tester's as fixed neighbours, forwarding.

    Its first interface is the management network's. With `tells_size` it then says on its console what CPUs
    and memory its kernel has found: memory in whole blocks of the kernel's.
    """
    lines = ["#!/bin/sh"]
    for number, side in enumerate(sides, start=1):
        far = host(OUTER[side.number].far_ipv4)
        lines += [
            f"ip addr add {of_router(side.number, at)} dev eth{number}",
            f"ip neigh replace {far} lladdr {side.tester_mac} dev eth{number} nud permanent",
            f"echo 0 > /proc/sys/net/ipv4/conf/eth{number}/rp_filter",
        ]
    lines += ["echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
    return "\n".join([*lines, *(_TELLS_SIZE if tells_size else ()), ""])


def server_intent(name: str, sides: Sequence[Side], at: int, *, tells_size: bool = False) -> MachineIntent:
    """Return what is asked for as the server of that number, which becomes a router by itself."""
    return MachineIntent(
        number=at,
        name=name,
        cpus=1,
        memory_octets=MEMORY_OCTETS,
        nic_model=NicModel.VIRTIO.value,
        network="",
        links=tuple(side.nic for side in sides),
        script=router_script(sides, at, tells_size=tells_size),
    )


class _Group:
    """Servers that are asked for at the same time."""

    def __init__(
        self,
        ground: Ground,
        sides: tuple[Side, Side],
        offered: Sequence[OfferedFrames],
        spec: ActsSpec,
        began_ns: int,
    ) -> None:
        self._ground, self._sides, self._offered = ground, sides, offered
        self._spec, self._began_ns = spec, began_ns
        self._asked_ns = [0] * len(offered)
        self._ready_ns = [0] * len(offered)
        self._remove_asked_ns = [0] * len(offered)
        self._removed_ns = [0] * len(offered)

    def lives(self) -> list[Life]:
        """Make them, wait until each forwards, delete them. Raises what failed first; none is left then."""
        ground, sides = self._ground, self._sides
        node = ground.bed.node(sides[0].node)
        nics = [side.nic for side in sides]
        many = range(len(self._offered))
        with queues.released(ground.bed, node, nics), ThreadPoolExecutor(len(self._offered)) as pool:
            asked = [pool.submit(self._made, at) for at in many]
            failed = [one.exception() for one in asked]
            machines = [one.result() for one, error in zip(asked, failed, strict=True) if error is None]
            try:
                if error := next(filter(None, failed), None):
                    raise error
                machine_ends.quiet_switches(node, nics)
                for side in sides:
                    queues.isolate(ground.bed, node, side.nic, side.number)
                for frames in self._offered:
                    frames.wait(self._spec.first_frame_s)
            finally:
                removed = [pool.submit(self._removed, at, machine) for at, machine in enumerate(machines)]
                for one in removed:
                    one.result()
        return [self._life(at, machine) for at, machine in enumerate(machines)]

    def _made(self, at: int) -> Machine:
        bed = self._ground.bed
        intent = server_intent(f"life-{bed.next_id()}", self._sides, at)
        self._asked_ns[at] = self._offered[at].begin()
        machine = bed.machines.made(intent)
        self._ready_ns[at] = time.monotonic_ns()
        return machine

    def _removed(self, at: int, machine: Machine) -> None:
        self._remove_asked_ns[at] = time.monotonic_ns()
        machine.stop()
        self._removed_ns[at] = time.monotonic_ns()

    def _life(self, at: int, machine: Machine) -> Life:
        return life_of(
            self._offered[at].seen(self._removed_ns[at]),
            self._began_ns,
            asked_ns=self._asked_ns[at],
            steps=cast("TimedMachine", machine).start_steps_ns,
            moments={
                "ready_ns": self._ready_ns[at],
                "remove_asked_ns": self._remove_asked_ns[at],
                "removed_ns": self._removed_ns[at],
            },
        )


_: type[ActsWorkload] = ServerLives

"""A guest that routes and is given less memory by its balloon, or a second CPU by hot-plug; and back.

The guest's memory is what QEMU reads of the balloon. Its CPUs are those that QEMU has plugged in, once the
guest itself says that as many are on. Ids: RESIZE-02 no CPU is left to plug in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, cast

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import moving_machine, router_initramfs
from bmwg.drivers.machines.guest_moves import MovingGuest
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.pvp_moving import MEMORY_OCTETS
from bmwg.drivers.workload.beside_frames import BesideFrames
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground
from bmwg.drivers.workload.resizes import Resizes, Standing
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.kinds.acts.experiments import MOVING_PATH
from bmwg.methodology.kinds.acts.records import CPUS, ActsSpec

_ROUTERS = 1  # the guest
LESS_OCTETS = MEMORY_OCTETS - (8 << 20)  # choice: what it gives back is free in it
_PLUGGED = "bmwg-cpu"  # the second CPU, as QEMU calls it


class GuestMemory:
    """The memory of a guest, in octets."""

    def __init__(self, guest: MovingGuest) -> None:
        self._guest = guest
        self.name = f"the memory of guest {guest.intent.name}"
        self.sizes = (MEMORY_OCTETS, LESS_OCTETS)

    def ask(self, size: int) -> None:
        """Have its balloon take or give so much that it has this."""
        self._guest.ask("balloon", value=size)

    def size(self) -> int:
        """What it has, as QEMU reads it."""
        return int(self._guest.ask("query-balloon")["actual"])

    def shown(
        self, frames: MovingFrames, beside: BesideFrames | None, asked_ns: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Nothing more."""
        return {}, {}

    def complete(self) -> None:
        """Nothing is left of the other size."""

    def forwarded(self) -> int:
        """How many frames have left the guest."""
        return self._guest.forwarded()


class GuestCpus(GuestMemory):
    """The CPUs of a guest, as their number."""

    def __init__(self, guest: MovingGuest) -> None:
        super().__init__(guest)
        self.name = f"the CPUs of guest {guest.intent.name}"
        self.sizes = (1, moving_machine.MOST_CPUS)

    def ask(self, size: int) -> None:
        """Have QEMU plug its second CPU in, or ask the guest to let it go. Raises TestbedError RESIZE-02."""
        places = self._places()
        free = [one for one in places if "qom-path" not in one]
        had = len(places) - len(free)
        if not 1 <= size <= len(places):
            found = f"room for {len(places)}"
            raise TestbedError("RESIZE-02", self.name, expected=f"{size}", found=found)
        if size > had:
            given = {**free[0]["props"], "driver": free[0]["type"], "id": _PLUGGED}
            self._guest.ask("device_add", **given)
        elif size < had:
            self._guest.ask("device_del", id=_PLUGGED)

    def size(self) -> int:
        """How many it has, as QEMU and the guest itself say; 0 while one of them says another number."""
        plugged = sum("qom-path" in one for one in self._places())
        return plugged if plugged == self._on() else 0

    def _places(self) -> list[dict[str, JsonValue]]:
        return list(self._guest.ask("query-hotpluggable-cpus"))

    def _on(self) -> int:
        """How many CPUs are on, as the guest has said last; 0 while it has said nothing."""
        said = [line for line in self._guest.console() if router_initramfs.HAS_CPUS in line]
        return _count(said[-1].rpartition(" ")[2]) if said else 0


def _count(numbers: str) -> int:
    """Count a list of the kernel's, such as `0-1`."""
    ends = (one.partition("-") for one in numbers.split(","))
    return sum(int(last or first) - int(first) + 1 for first, _, last in ends)


class GuestResizes(Resizes):
    """Resizes a guest."""

    paths: ClassVar[tuple[str, ...]] = (MOVING_PATH,)
    with_pods: ClassVar[bool] = False

    @contextmanager
    def standing(self, ground: Ground, spec: ActsSpec) -> Iterator[Standing]:
        """Boot the guest."""
        path: Any = path_driver(ground.cell, ground.bed)
        with path.standing(tells_cpus=spec.mode == CPUS) as stands:
            made = GuestCpus if spec.mode == CPUS else GuestMemory
            yield Standing(ports=stands.ports, routers=_ROUTERS, resizable=made(stands.guest))


_: type[ActsWorkload] = cast("type[ActsWorkload]", GuestResizes)

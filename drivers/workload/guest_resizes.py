"""A guest that is given less memory while it routes, and its memory back: by the balloon of virtio.

Frames are offered all the time. The new size is in force when QEMU reads it back, and the first frame offered
after that and forwarded ends the time; the interface of the guest counts what it forwarded with it.
Ids: RESIZE-01 as `guest_moves` has it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, cast

from bmwg.drivers.machines.guest_moves import MovingGuest
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.pvp_moving import MEMORY_OCTETS
from bmwg.drivers.workload.beside_frames import HalfLoad, half_load
from bmwg.drivers.workload.lost_frames import fared, loss, until
from bmwg.drivers.workload.migrations import forwarded
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts.experiments import MOVING_PATH
from bmwg.methodology.kinds.acts.records import ActsSpec, Life

_ROUTERS = 1  # the guest
LESS_OCTETS = MEMORY_OCTETS - (8 << 20)  # choice: what it gives back is free in it


class GuestResizes(OfActs):
    """Makes the memory of a guest less and as it was, in turn, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (MOVING_PATH,)

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        path: Any = path_driver(ground.cell, ground.bed)
        with ExitStack() as stack:
            stands = stack.enter_context(path.standing())
            frames = MovingFrames(
                stands.ports,
                frame_octets=spec.frame_octets,
                interval_us=spec.interval_us,
                ways=(_ROUTERS,),
            )
            stack.enter_context(frames.offering())
            frames.begin()
            if not frames.wait(spec.first_frame_s):
                return
            beside = stack.enter_context(half_load(stands.ports, spec, routers=_ROUTERS))
            while len(lives) < spec.cycles:
                if not until(lambda: frames.steady(time.monotonic_ns()) or None, spec.first_frame_s):
                    return  # frames are lost before anything is done
                octets = MEMORY_OCTETS if len(lives) % 2 else LESS_OCTETS
                lives.append(_life(stands.guest, octets, frames, beside, spec, began_ns))

    def _left_behind(self, ground: Ground) -> tuple[str, ...]:
        return ()  # no pod has lived here


def _life(
    guest: MovingGuest,
    octets: int,
    frames: MovingFrames,
    beside: HalfLoad | None,
    spec: ActsSpec,
    began_ns: int,
) -> Life:
    odd = frames.oddities
    asked_ns = time.monotonic_ns()
    try:
        change = guest.resized(octets, within_s=spec.first_frame_s)
    except ToolkitError as error:
        raise fared(error, frames, asked_ns, spec.first_frame_s) from error
    ready_ns = change.steps["size_reached"]
    counted = forwarded(guest)
    first = until(lambda: frames.first_since(ready_ns), spec.first_frame_s)
    until(lambda: frames.settled_since(ready_ns, time.monotonic_ns()) or None, spec.first_frame_s)
    by_frames = frames.outage(change.asked_ns, time.monotonic_ns())
    change.told["forwarded_frames"] = forwarded(guest) - counted
    life = life_of(
        frames.amid(by_frames, first, frames.last_before(ready_ns, change.asked_ns), odd),
        began_ns,
        asked_ns=change.asked_ns,
        steps={**change.steps, **loss(by_frames[1], change.asked_ns)},
        moments={"ready_ns": ready_ns},
    )
    load = {} if beside is None else beside.told(change.asked_ns, by_frames[0])
    return replace(life, told={**change.told, **load})


_: type[ActsWorkload] = cast("type[ActsWorkload]", GuestResizes)

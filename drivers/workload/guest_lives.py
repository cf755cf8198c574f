"""A guest that is started and ended beside one that runs: idle, or with half of the load that it carries.

QEMU boots the second guest at the node of the first; its own script makes it a router. So the start of a
function is timed while another function's frames go on, and those that are lost of them are counted.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar, cast

from bmwg.drivers.machines.guest_moves import MovingGuest
from bmwg.drivers.paths import path_driver
from bmwg.drivers.paths.addresses import host, of_router
from bmwg.drivers.workload.beside_frames import HalfLoad, half_load
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.drivers.workload.offered_frames import OfferedFrames, frames_of
from bmwg.methodology.kinds.acts.experiments import MOVING_PATH
from bmwg.methodology.kinds.acts.records import ActsSpec, Life

_ROUTERS = 1  # the guest
_SECOND = 1  # beside the one that runs


class GuestLives(OfActs):
    """Makes guests beside one that stands, and ends them, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (MOVING_PATH,)
    with_pods: ClassVar[bool] = False

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        path: Any = path_driver(ground.cell, ground.bed)
        with ExitStack() as stack:
            stands = stack.enter_context(path.standing())
            beside = stack.enter_context(half_load(stands.ports, spec, routers=_ROUTERS))
            first, second = stands.ports
            first = replace(first, gateway_ipv4=host(of_router(0, _SECOND)))
            frames = stack.enter_context(frames_of(spec, (first, second), _ROUTERS).offering())
            while len(lives) < spec.cycles:
                lives.append(_life(stands.another, frames, beside, spec, began_ns))
                if lives[-1].first_frame_ns is None:
                    return


def _life(
    guest: MovingGuest, frames: OfferedFrames, beside: HalfLoad | None, spec: ActsSpec, began_ns: int
) -> Life:
    asked_ns = frames.begin()
    try:
        guest.start()
        ready_ns = time.monotonic_ns()
        frames.wait(spec.first_frame_s)
    finally:
        remove_asked_ns = time.monotonic_ns()
        guest.end()
    removed_ns = time.monotonic_ns()
    life = life_of(
        frames.seen(removed_ns),
        began_ns,
        asked_ns=asked_ns,
        steps={"guest_boots": ready_ns},
        moments={"ready_ns": ready_ns, "remove_asked_ns": remove_asked_ns, "removed_ns": removed_ns},
    )
    return life if beside is None else replace(life, told=beside.told(asked_ns, removed_ns))


_: type[ActsWorkload] = cast("type[ActsWorkload]", GuestLives)

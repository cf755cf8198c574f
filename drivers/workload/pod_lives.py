"""Pods that are made, seen to forward, and removed, one after the other."""

from __future__ import annotations

import time
from collections.abc import Mapping

from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.drivers.workload.offered_frames import OfferedFrames
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec, Life


class PodLives(OfActs):
    """Makes and removes the path of its ground, with frames on its way all the time."""

    def run(self, spec: ActsSpec, /) -> ActsResult:
        """Let so many pods live; what failed is in the result, and ends it. Raises DriverError LOAD-02."""
        ground = self.attached
        lives: list[Life] = []
        faults: tuple[str, ...] = ()
        began_ns = time.monotonic_ns()
        frames = OfferedFrames(
            ground.ports, frame_octets=spec.frame_octets, interval_us=spec.interval_us, routers=ground.routers
        )
        with frames.offering():
            while len(lives) < spec.cycles and not faults:
                try:
                    life = _life(ground, frames, spec, began_ns)
                except ToolkitError as error:
                    faults = (f"{error.error_id} {error.what}: {error.found or 'no word'}",)
                    break
                lives.append(life)
                if life.first_frame_ns is None:
                    break
        return ActsResult(lives=tuple(lives), wall_ns=time.monotonic_ns() - began_ns, faults=faults)


def _life(ground: Ground, frames: OfferedFrames, spec: ActsSpec, began_ns: int) -> Life:
    asked_ns = frames.begin()
    with path_driver(ground.cell, ground.bed).deploy():
        ready_ns = time.monotonic_ns()
        steps = _steps(ground, asked_ns)
        frames.wait(spec.first_frame_s)
        remove_asked_ns = time.monotonic_ns()
    removed_ns = time.monotonic_ns()
    moments = {"ready_ns": ready_ns, "remove_asked_ns": remove_asked_ns, "removed_ns": removed_ns}
    return life_of(frames.seen(), began_ns, asked_ns=asked_ns, steps=steps, moments=moments)


def _steps(ground: Ground, asked_ns: int) -> Mapping[str, int]:
    """Return the steps of the pod that stands, as its runtime tells them."""
    told = [dict(pod.start_steps_ns) for pod in ground.bed.pods.values()]
    return {name: at_ns for name, at_ns in (told[0] if told else {}).items() if at_ns >= asked_ns}


_: type[ActsWorkload] = PodLives

"""Pods that are made, seen to forward, and removed, one after the other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from bmwg.drivers.api.protocols import Pod
from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload.failed_starts import failure_of
from bmwg.drivers.workload.of_acts import (
    ActsWorkload,
    Ground,
    OfActs,
    failed_life,
    life_of,
    without_frame,
)
from bmwg.drivers.workload.offered_frames import OfferedFrames, frames_of
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts.records import ActsSpec, Life


class PodLives(OfActs):
    """Makes and removes the path of its ground, with frames on its way all the time."""

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        with frames_of(spec, ground.ports, ground.routers).offering() as frames:
            while len(lives) < spec.cycles:
                lives.append(_life(ground, frames, spec, began_ns))
                if lives[-1].first_frame_ns is None and not lives[-1].failed:
                    return


def _life(ground: Ground, frames: OfferedFrames, spec: ActsSpec, began_ns: int) -> Life:
    asked_ns = frames.begin()
    made = False
    try:
        with path_driver(ground.cell, ground.bed).deploy():
            made = True
            ready_ns = time.monotonic_ns()
            pods = list(ground.bed.pods.values())
            steps = _steps(pods, asked_ns)
            came = frames.wait(spec.first_frame_s)
            remove_asked_ns = time.monotonic_ns()
    except ToolkitError as error:
        if made or not spec.counts_failures or failure_of(error) is None:
            raise
        return failed_life(frames.seen(), began_ns, asked_ns=asked_ns, error=error)
    removed_ns = time.monotonic_ns()
    moments = {"ready_ns": ready_ns, "remove_asked_ns": remove_asked_ns, "removed_ns": removed_ns}
    life = life_of(
        frames.seen(),
        began_ns,
        asked_ns=asked_ns,
        steps=steps,
        moments=moments,
        removal_steps=pods[0].end_steps_ns if pods else {},
    )
    return life if came or not spec.counts_failures else without_frame(life)


def _steps(pods: Sequence[Pod], asked_ns: int) -> Mapping[str, int]:
    """Return the steps of the pod that stands, as its runtime tells them."""
    told = dict(pods[0].start_steps_ns) if pods else {}
    return {name: at_ns for name, at_ns in told.items() if at_ns >= asked_ns}


_: type[ActsWorkload] = PodLives

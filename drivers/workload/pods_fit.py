"""Pods that are made beside each other, one after the other, until one fails: how many forward together.

All of them stay. A pod counts when its own frames came out, and those of each pod before it after that; so a
pod that takes away what an earlier one needs is the limit as well. Removing all of them ends the execution.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bmwg.drivers.api.protocols import Missing, Pod
from bmwg.drivers.watch.host_room import host_room
from bmwg.drivers.workload.failed_starts import failure_of
from bmwg.drivers.workload.of_acts import (
    ActsWorkload,
    Ground,
    OfActs,
    failed_life,
    life_of,
    without_frame,
)
from bmwg.drivers.workload.offered_frames import OfferedFrames
from bmwg.drivers.workload.pod_batches import frames_to, joined, no_room, pod_made
from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds.acts.records import ActsSpec, Life

_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class _Standing:
    """A pod that was asked for, and what of it is known so far."""

    frames: OfferedFrames
    asked_ns: int
    ready_ns: int
    steps: dict[str, int]
    host: dict[str, int]
    forwards: bool


class PodsFit(OfActs):
    """Adds pods between the tester's ports, with frames to each of them, until one fails."""

    def probe(self) -> Missing | None:
        """Return what is missing: an option with room for many."""
        return super().probe() or no_room(self._ground)

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        standing: list[_Standing] = []
        last: list[Life] = []
        with ExitStack() as ends:  # frames are offered until all pods are gone
            ends.enter_context(joined(ground.bed, ground.bed.sides()))
            with ExitStack() as pods:
                while len(standing) < spec.cycles:
                    frames = ends.enter_context(frames_to(ground, spec, len(standing)))
                    asked_ns = frames.begin()
                    try:
                        pod = pod_made(pods, ground, len(standing))
                    except ToolkitError as error:
                        if failure_of(error) is None:
                            raise
                        last.append(failed_life(frames.seen(), began_ns, asked_ns=asked_ns, error=error))
                        break
                    standing.append(self._seen(ground, spec, pod, frames, asked_ns, standing))
                    if not standing[-1].forwards:
                        break
                remove_asked_ns = time.monotonic_ns()
            removed_ns = time.monotonic_ns()
            lives += [_life(one, began_ns, remove_asked_ns, removed_ns) for one in standing]
        lives += last

    def _seen(
        self,
        ground: Ground,
        spec: ActsSpec,
        pod: Pod,
        frames: OfferedFrames,
        asked_ns: int,
        before: Sequence[_Standing],
    ) -> _Standing:
        ready_ns = time.monotonic_ns()
        forwards = frames.wait(spec.first_frame_s)
        since_ns = time.monotonic_ns()
        end_s = time.monotonic() + spec.first_frame_s
        for standing in before if forwards else ():
            while forwards and standing.frames.again(since_ns) is None:
                forwards = time.monotonic() < end_s
                time.sleep(_LOOK_AGAIN_S)
        return _Standing(
            frames=frames,
            asked_ns=asked_ns,
            ready_ns=ready_ns,
            steps=dict(pod.start_steps_ns),
            host=ground.bed.node(ground.bed.sides()[0].node).call(host_room),
            forwards=forwards,
        )


def _life(one: _Standing, began_ns: int, remove_asked_ns: int, removed_ns: int) -> Life:
    life = life_of(
        one.frames.seen(removed_ns),
        began_ns,
        asked_ns=one.asked_ns,
        steps={name: at_ns for name, at_ns in one.steps.items() if at_ns >= one.asked_ns},
        moments={"ready_ns": one.ready_ns, "remove_asked_ns": remove_asked_ns, "removed_ns": removed_ns},
    )
    return replace(life, host=one.host) if one.forwards else without_frame(life)


_: type[ActsWorkload] = PodsFit

"""A pod that is started and ended beside one that runs: idle, or with half of the load that it carries.

Both stand between the tester's ports as pods that are made at once do, each with addresses and frames of its
own. So the start of a pod is timed while another one's frames go on, and those that are lost are counted.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.workload.beside_frames import HalfLoad, half_load
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.drivers.workload.offered_frames import OfferedFrames
from bmwg.drivers.workload.pod_batches import frames_to, joined, no_room, pod_made, ports_to
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts.records import ActsSpec, Life

_STANDS, _SECOND = 1, 0  # the first by number answers for the tester's port, and is offered to all the time


class PodsBeside(OfActs):
    """Makes pods beside one that stands, and removes them, with frames on their way all the time."""

    def probe(self) -> Missing | None:
        """Return what is missing: an option with room for two."""
        return super().probe() or no_room(self._ground)

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        with ExitStack() as stack:
            stack.enter_context(joined(ground.bed, ground.bed.sides()))
            frames = stack.enter_context(frames_to(ground, spec, _SECOND))
            with ExitStack() as stands:
                pod_made(stands, ground, _STANDS)
                _require_forwarding(ground, spec)
                ports = ports_to(ground, _STANDS)
                beside = stands.enter_context(half_load(ports, spec, routers=ground.routers))
                while len(lives) < spec.cycles:
                    lives.append(_life(ground, frames, beside, spec, began_ns))
                    if lives[-1].first_frame_ns is None:
                        return


def _require_forwarding(ground: Ground, spec: ActsSpec) -> None:
    """Wait until the pod that stands forwards. Raises DriverError MOVE-05 where it does not."""
    with frames_to(ground, spec, _STANDS) as frames:
        frames.begin()
        if frames.wait(spec.first_frame_s):
            return
    raise DriverError(
        "MOVE-05",
        "a pod beside which another is started; that was not",
        expected=f"a frame that it has forwarded, within {spec.first_frame_s:g} s",
        found="none",
    )


def _life(
    ground: Ground, frames: OfferedFrames, beside: HalfLoad | None, spec: ActsSpec, began_ns: int
) -> Life:
    asked_ns = frames.begin()
    with ExitStack() as made:
        pod = pod_made(made, ground, _SECOND)
        ready_ns = time.monotonic_ns()
        frames.wait(spec.first_frame_s)
        remove_asked_ns = time.monotonic_ns()
    removed_ns = time.monotonic_ns()
    life = life_of(
        frames.seen(removed_ns),
        began_ns,
        asked_ns=asked_ns,
        steps={name: at_ns for name, at_ns in pod.start_steps_ns.items() if at_ns >= asked_ns},
        removal_steps=pod.end_steps_ns,
        moments={"ready_ns": ready_ns, "remove_asked_ns": remove_asked_ns, "removed_ns": removed_ns},
    )
    return life if beside is None else replace(life, told=beside.told(asked_ns, removed_ns))


_: type[ActsWorkload] = PodsBeside

"""How long frames are lost when a node is drained: the pod that relays them comes up on another node.

Frames are offered all the time to a Service in front of one pod. Its node is cordoned, the pod is evicted by
the Eviction API, its Deployment makes another, the scheduler places that on another node. Which of them has
relayed a frame is told by the number of routers that it passed. Then the node takes pods again. The way there
and the way back are told apart. Ids: KUBE-50 the pod went another way than the one that is told.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar, cast

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload.lost_frames import counted, loss, offered, steady, until
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.methodology.errors import DriverError
from bmwg.methodology.kinds.acts.experiments import DRAIN_PATH
from bmwg.methodology.kinds.acts.records import ActsSpec, Life
from bmwg.methodology.records import NOTHING

_HERE, _THERE = 1, 2  # routers that forward what a pod has relayed: on the node of the ports, on another


class Drains(OfActs):
    """Drains the node of a pod that stands, there and back, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (DRAIN_PATH,)
    function: ClassVar[str] = "udp-relay"

    def probe(self) -> Missing | None:
        """Return what is missing: a network in which frames follow a pod, and a cluster with two nodes."""
        if (network := self._ground.cell.network) != NOTHING:
            return Missing(
                what=f"frames that follow a pod to another node on network option {network}",
                reason="they go to an address of that option's interface, and no Service leads there",
                mend="networks: [none], the cluster's own network, behind a Service",
            )
        return super().probe()

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        path: Any = path_driver(ground.cell, ground.bed)
        home = ground.bed.sides()[0].node
        with path.standing() as stands, offered(stands.ports, spec, _HERE, _THERE) as ways:
            if ways is None:
                return
            frames, _ = ways
            while len(lives) < spec.cycles and steady(frames, spec):
                back = len(lives) % 2 == 1
                lives.append(_life(stands.moving, frames, spec, began_ns, home, back=back))
                if lives[-1].first_frame_ns is None:
                    return


def _life(moving: Any, frames: MovingFrames, spec: ActsSpec, began_ns: int, home: str, *, back: bool) -> Life:
    """Drain the node where the pod is: `home`, or on the way back the other. Raises DriverError KUBE-50."""
    oddities = frames.oddities
    with moving.drained(within_s=spec.first_frame_s) as moved:
        ready_ns = time.monotonic_ns()
        if (moved.from_node == home, moved.to_node == home) != (not back, back):
            raise DriverError(
                "KUBE-50",
                "the pod that is drained from its node",
                expected=f"the way {'back to' if back else 'from'} {home}",
                found=f"from {moved.from_node} to {moved.to_node}",
            )
        old, new = (_HERE if node == home else _THERE for node in (moved.from_node, moved.to_node))
        asked_ns = moved.asked_ns
        first = until(lambda: frames.first_by(new, asked_ns), spec.first_frame_s)
        since_ns = time.monotonic_ns()  # half a second before the first frame tells nothing of after it
        by_frames = counted(frames, asked_ns, since_ns=since_ns, within_s=spec.first_frame_s)
        last_ns = frames.last_by(old, asked_ns)
        lift_ns = time.monotonic_ns()
    lifted_ns = time.monotonic_ns()
    steps = {name: at for name, at in moved.steps.items() if at >= asked_ns} | loss(by_frames[1], asked_ns)
    seen = frames.amid(by_frames, first, last_ns, oddities)
    moments = {"ready_ns": ready_ns, "remove_asked_ns": lift_ns, "removed_ns": lifted_ns}
    return life_of(seen, began_ns, asked_ns=asked_ns, steps=steps, moments=moments)


_: type[ActsWorkload] = cast("type[ActsWorkload]", Drains)

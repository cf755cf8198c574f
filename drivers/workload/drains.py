"""How long frames are lost when a node is drained: the pod that relays them comes up on another node.

Frames are offered all the time to a Service in front of one pod. Its node is cordoned, the pod is evicted by
the Eviction API, its Deployment makes another, the scheduler places that on another node. Which of them has
relayed a frame is told by the number of routers that it passed. Then the node takes pods again.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar, cast

from bmwg.drivers.api.protocols import Missing
from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload.lost_frames import loss, offered, steady, until
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
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
                lives.append(_life(stands.moving, frames, spec, began_ns, home))
                if lives[-1].first_frame_ns is None:
                    return


def _life(moving: Any, frames: MovingFrames, spec: ActsSpec, began_ns: int, home: str) -> Life:
    oddities = frames.oddities
    with moving.drained(within_s=spec.first_frame_s) as moved:
        ready_ns = time.monotonic_ns()
        old, new = (_HERE if node == home else _THERE for node in (moved.from_node, moved.to_node))
        asked_ns = moved.asked_ns
        first = until(lambda: frames.first_by(new, asked_ns), spec.first_frame_s)
        until(lambda: frames.steady(time.monotonic_ns()) or None, spec.first_frame_s)
        last_ns = frames.last_by(old, asked_ns)
        counted = frames.outage(asked_ns, time.monotonic_ns())
        lift_ns = time.monotonic_ns()
    lifted_ns = time.monotonic_ns()
    steps = {name: at for name, at in moved.steps.items() if at >= asked_ns} | loss(counted[1], asked_ns)
    seen = frames.amid(counted, first, last_ns, oddities)
    moments = {"ready_ns": ready_ns, "remove_asked_ns": lift_ns, "removed_ns": lifted_ns}
    return life_of(seen, began_ns, asked_ns=asked_ns, steps=steps, moments=moments)


_: type[ActsWorkload] = cast("type[ActsWorkload]", Drains)

"""How soon a network policy is in force: frames from pod to pod, and the first of them that is lost.

Frames are offered from one pod to another all the time. A policy by which the second takes nothing is asked
for; it is in force when no frame comes any more, for as long as is looked. Then it is removed, until frames
come again. Others stand beside it, for the first pod, so that no frame of these passes their rules.
"""

from __future__ import annotations

import time
from typing import Any, ClassVar

from bmwg.drivers.api.pods import of_cluster
from bmwg.drivers.api.protocols import ClusterRuntime, Missing
from bmwg.drivers.paths import path_driver
from bmwg.drivers.workload.lost_frames import until
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground, OfActs, life_of
from bmwg.drivers.workload.offered_frames import OfferedFrames, Seen, frames_of
from bmwg.methodology.kinds.acts.experiments import POLICY_PATH
from bmwg.methodology.kinds.acts.records import ActsSpec, Life
from bmwg.methodology.records import NOTHING

_QUIET_S = 0.5  # choice: so long no frame comes before a policy is believed to be in force
_CLIENT, _SERVER = "0", "1"  # labels of the pods
_NAME = "deny"


class Policies(OfActs):
    """Makes and removes a policy between two pods that stand, with frames on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (POLICY_PATH,)
    function: ClassVar[str] = NOTHING

    def probe(self) -> Missing | None:
        """Return what is missing: policies, and something that enforces them on this option."""
        bed = self._ground.bed
        if (found := super().probe()) is not None:
            return found
        if not isinstance(bed.runtime, ClusterRuntime):
            return Missing(
                what=f"a NetworkPolicy on network option {self._ground.cell.network}",
                reason=f"pods.runtime is {bed.testbed.pods.runtime}, which has none",
                mend="pods.runtime: kubernetes",
            )
        node = bed.node(bed.sides()[0].node)
        return bed.runtime.enforces(node, bed.network(self._ground.cell.network))

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        from bmwg.drivers.kubernetes import policies as texts

        bed, network = ground.bed, ground.bed.network(ground.cell.network)
        node = bed.node(bed.sides()[0].node)
        with (
            path_driver(ground.cell, bed).deploy() as deployment,
            of_cluster(bed.runtime).policies(node, network) as made,
        ):
            made.mark(list(bed.pods))
            others = {
                f"other-{number}": one for number, one in enumerate(texts.further(_CLIENT, spec.policies))
            }
            frames = frames_of(spec, (deployment.ports[0], deployment.ports[1]), ground.routers)
            with made.standing(others), frames.offering():
                frames.begin()
                if not frames.wait(spec.first_frame_s):
                    return
                while len(lives) < spec.cycles:
                    life = _life(made, texts.deny(_SERVER), frames, spec, began_ns)
                    lives.append(life)
                    if life.first_frame_ns is None or life.removed_ns is None:
                        return


def _life(made: Any, denied: Any, frames: OfferedFrames, spec: ActsSpec, began_ns: int) -> Life:
    before = frames.oddities
    asked_ns = time.monotonic_ns()
    version = made.apply(_NAME, denied)
    accepted_ns = time.monotonic_ns()
    try:
        stopped = until(lambda: _for_a_while(frames), spec.first_frame_s)
        steps = {"api_accepted": accepted_ns, **made.moments(_NAME, version)}
        remove_asked_ns = time.monotonic_ns()
    finally:
        made.delete(_NAME)
    deleted_ns = time.monotonic_ns()
    again_ns = until(lambda: frames.again(remove_asked_ns), spec.first_frame_s)
    removal_steps = {"delete_accepted": deleted_ns, **made.moments(_NAME)}
    after = frames.oddities
    offered, received = frames.between(asked_ns, again_ns or time.monotonic_ns())
    not_before_ns, last_ns, first_ns = stopped or (None, None, None)
    seen = Seen(
        offered=offered,
        received=received,
        reordered=after[0] - before[0],
        bypassed=after[1] - before[1],
        not_before_ns=not_before_ns,
        first_ns=first_ns,
        last_ns=last_ns,
    )
    moments = {"remove_asked_ns": remove_asked_ns} | ({"removed_ns": again_ns} if again_ns else {})
    return life_of(
        seen, began_ns, asked_ns=asked_ns, steps=steps, moments=moments, removal_steps=removal_steps
    )


def _for_a_while(frames: OfferedFrames) -> tuple[int, int, int] | None:
    found = frames.stopped()
    if found is None or time.monotonic_ns() - found[2] < _QUIET_S * 1e9:
        return None
    return found


_: type[ActsWorkload] = Policies

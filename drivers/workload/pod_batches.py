"""Pods that are asked for at the same time: from the first request until a frame came out behind each.

They stand beside each other between two bridges that have the node's NICs as ports before anything is asked
for, each with addresses of its own and frames of its own. The tester answers for its address, so that a pod
forwards as soon as the cluster has made it: nothing of the toolkit takes part in between.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace

from bmwg.drivers.api.pods import of_cluster
from bmwg.drivers.api.protocols import Attachment, ClusterRuntime, Missing, Pod, PodNetwork, TesterPort
from bmwg.drivers.containers.bundle import SLEEPER, PodSpec
from bmwg.drivers.paths import queues, uplinks
from bmwg.drivers.paths.addresses import OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pvp import bridge_of
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import routing
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
from bmwg.methodology.kinds.acts.records import ActsSpec, Life

_FIRST_BESIDE = 16  # the last octet of the second pod's addresses; the first has the router's own


class PodBatches(OfActs):
    """Makes pods at once between the tester's ports and removes them at once, with frames on their way."""

    def probe(self) -> Missing | None:
        """Return what is missing: a runtime that makes pods at once, an option with room for many."""
        bed = self._ground.bed
        if found := super().probe():
            return found
        if not isinstance(bed.runtime, ClusterRuntime):
            return Missing(
                what="pods at the same time",
                reason=f"{bed.testbed.pods.runtime} makes one after the other, so that the toolkit's own "
                "calls would be timed",
                mend="pods.runtime: kubernetes",
            )
        return no_room(self._ground)

    def _live(self, ground: Ground, spec: ActsSpec, began_ns: int, lives: list[Life]) -> None:
        with ExitStack() as stack:
            stack.enter_context(joined(ground.bed, ground.bed.sides()))
            offered = [stack.enter_context(frames_to(ground, spec, at)) for at in range(spec.at_once)]
            while len(lives) < spec.cycles:
                lives += _lives(ground, offered, spec, began_ns)
                if any(live.first_frame_ns is None and not live.failed for live in lives):
                    return


def no_room(ground: Ground) -> Missing | None:
    """Return what is missing: a network option with room for several pods."""
    name = ground.cell.network
    if ground.bed.network(name).spec.uplink == uplinks.BRIDGE_PORT:
        return None
    return Missing(
        what=f"pods beside each other on network option {name}",
        reason="the node would send the frames of all of them to one, or its NIC has room for one",
        mend="a network option with `uplink: bridge_port`",
    )


@contextmanager
def joined(bed: Bed, sides: tuple[Side, Side]) -> Iterator[None]:
    """Make a bridge for each side with the node's NIC as a port: a network that pods come to and leave."""
    node = bed.node(sides[0].node)
    with ExitStack() as stack:
        stack.enter_context(queues.released(bed, node, [side.nic for side in sides]))
        for side in sides:
            stack.enter_context(
                uplinks.cleared(node, uplinks.BRIDGE_PORT, nic=side.nic, bridge=bridge_of(side))
            )
            node.call(routing.add_bridge, bridge=bridge_of(side), mtu_octets=bed.mtu_octets)
            stack.enter_context(uplinks.bridged(node, interfaces=(side.nic,), bridge=bridge_of(side)))
            queues.isolate(bed, node, side.nic, side.number)
        yield


def frames_to(ground: Ground, spec: ActsSpec, at: int) -> AbstractContextManager[OfferedFrames]:
    """Frames that are offered to the pod of that number; the first among them answers for the port."""
    return frames_of(spec, ports_to(ground, at), ground.routers, answers=at == 0).offering()


def ports_to(ground: Ground, at: int) -> tuple[TesterPort, TesterPort]:
    """Return the tester's ports with the pod of that number as the first one's next hop."""
    first, second = ground.ports
    return replace(first, gateway_ipv4=host(_addresses(0, at)[0])), second


def _addresses(side: int, at: int) -> tuple[str, ...]:
    """The pod's addresses on that side, in prefix notation; IPv4 alone beside the first."""
    return address_beside(OUTER[side].router_ipv4, at)


def address_beside(first: str, at: int) -> tuple[str, ...]:
    """Return the address of that number, of which the first is given, in prefix notation."""
    network, _, length = first.partition("/")
    return (f"{network.rpartition('.')[0]}.{_FIRST_BESIDE + at}/{length}",) if at else (first,)


def pod_wanted(
    ground: Ground, at: int, addresses: Callable[[int, int], tuple[str, ...]] = _addresses
) -> tuple[PodSpec, Sequence[PodNetwork]]:
    """Return the pod of that number with its networks; `addresses` tells those of a side and a number."""
    bed = ground.bed
    network = bed.network(ground.cell.network)
    limits = bed.testbed.pods
    spec = PodSpec(
        pod_id=f"bmwg-{bed.next_id()}",
        cpus=limits.cpuset,
        memory_octets=limits.memory_octets,
        forwarding=True,
        arguments=SLEEPER,
        root=False,
        least=True,
        endpoint=True,
    )
    networks = [
        PodNetwork(
            driver=network,
            attachment=Attachment(
                network=ground.cell.network,
                interface=f"net{side.number}",
                side=side.number,
                uplink=side.nic,
                addresses=addresses(side.number, at),
            ),
            bridge=bridge_of(side),
        )
        for side in bed.sides()
    ]
    return spec, networks


def pod_made(
    stack: ExitStack,
    ground: Ground,
    at: int,
    addresses: Callable[[int, int], tuple[str, ...]] = _addresses,
) -> Pod:
    """Make the pod of that number and start it; it is removed with the stack."""
    node = ground.bed.node(ground.bed.sides()[0].node)
    spec, networks = pod_wanted(ground, at, addresses)
    pod: Pod = stack.enter_context(ground.bed.runtime.made(node, spec, networks))
    pod.start()
    return pod


def _lives(ground: Ground, offered: Sequence[OfferedFrames], spec: ActsSpec, began_ns: int) -> list[Life]:
    """Make as many pods as there are frames for, wait until each forwards, remove them."""
    bed = ground.bed
    node = bed.node(bed.sides()[0].node)
    asked_ns = [0] * len(offered)
    wanted = [pod_wanted(ground, at) for at in range(len(offered))]

    def begun(at: int) -> int:
        asked_ns[at] = offered[at].begin()
        return asked_ns[at]

    with of_cluster(bed.runtime).at_once(node, wanted) as batch:
        batch.ask(begun, keeps_on=spec.counts_failures)
        batch.wait_running(within_s=spec.first_frame_s, keeps_on=spec.counts_failures)
        failed = [batch.failed.get(name) for name in batch.phases]
        if error := next((one for one in failed if one is not None and failure_of(one) is None), None):
            raise error
        came = [
            error is None and frames.wait(spec.first_frame_s)
            for frames, error in zip(offered, failed, strict=True)
        ]
        ready_ns = time.monotonic_ns()
        batch.take_added()
        batch.remove(within_s=spec.first_frame_s)
        batch.take_deleted()
    lives = [
        life_of(
            frames.seen(ends.gone_ns),
            began_ns,
            asked_ns=asked_ns[at],
            steps={key: at_ns for key, at_ns in phases.steps_ns().items() if key != "pod_asked"},
            removal_steps=ends.steps_ns(),
            moments={"ready_ns": ready_ns, "remove_asked_ns": ends.asked_ns, "removed_ns": ends.gone_ns or 0},
        )
        for at, (frames, phases, ends) in enumerate(
            zip(offered, batch.phases.values(), batch.ends.values(), strict=True)
        )
    ]
    if not spec.counts_failures:
        return lives
    return [
        failed_life(frames.seen(), began_ns, asked_ns=life.asked_ns + began_ns, error=error)
        if error is not None
        else life
        if forwards
        else without_frame(life)
        for life, frames, error, forwards in zip(lives, offered, failed, came, strict=True)
    ]


_: type[ActsWorkload] = PodBatches

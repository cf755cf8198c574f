"""Replicas of a function that routes, made more and less while frames pass: pods behind one node.

The node spreads flows over the replicas by a route with several next hops; which replica forwarded a frame is
told by the frame's source address, and the replica's own interface counts it. More are asked for by making a
pod and giving it a share, less by taking the share and then the pod. A load beside has the same flows, so the
node spreads it as well.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import Missing, Pod
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths import queues, routers, uplinks
from bmwg.drivers.paths.addresses import INNER, OUTER, host
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.pvp import bridge_of
from bmwg.drivers.paths.sides import Side
from bmwg.drivers.ports import interfaces, routing, spread, sysctl
from bmwg.drivers.workload.beside_frames import BesideFrames
from bmwg.drivers.workload.flow_frames import ByForwarder, FlowFrames, FlowsBeside
from bmwg.drivers.workload.lost_frames import until
from bmwg.drivers.workload.moving_frames import MovingFrames
from bmwg.drivers.workload.of_acts import ActsWorkload, Ground
from bmwg.drivers.workload.pod_batches import address_beside, no_room, pod_made
from bmwg.drivers.workload.resizes import Resizes, Standing
from bmwg.methodology.kinds.acts.experiments import PATH
from bmwg.methodology.kinds.acts.records import SHARES_SETTLED, ActsSpec

FEW, MANY = 1, 2  # choice: one that carries all, and a second that takes its share
_ROUTERS = 2  # the node, and a replica
_SUBNET = OUTER[1].subnets[0]


class Group:
    """The replicas, as their number."""

    name = "the replicas of a function"
    sizes = (FEW, MANY)

    def __init__(self, ground: Ground, node: BedNode, bridge: str) -> None:
        self._ground, self._node, self._bridge = ground, node, bridge
        self.pods: list[tuple[Pod, ExitStack]] = []
        self._steps: dict[str, int] = {}
        self._wanted = 0

    def ask(self, size: int) -> None:
        """Have flows spread over so many: a pod has its share from when it stands."""
        self._steps, self._wanted = {}, size
        while len(self.pods) < size:
            stack = ExitStack()
            with stack:
                pod = pod_made(stack, self._ground, len(self.pods), _addresses)
                self.pods.append((pod, stack.pop_all()))
            self._steps |= pod.start_steps_ns
        self._node.call(spread.spread, destination=_SUBNET, via=_hops(size), interface=self._bridge)

    def size(self) -> int:
        """Over how many the node spreads flows; 0 where these are others."""
        over = self._node.call(spread.spread_over, destination=_SUBNET)
        return len(over) if over == sorted(_hops(len(over))) else 0

    def complete(self) -> None:
        """Have pods go that have no share."""
        while len(self.pods) > self._wanted:
            pod, stack = self.pods.pop()
            stack.close()
            self._steps |= pod.end_steps_ns

    def forwarded(self) -> int:
        """How many frames have left the replicas that have a share."""
        sent = self._sent()  # one whose share was taken stands a while: it is in no count before or after
        return sum(sent[pod.pod_id] for pod, _ in self.pods[: self._wanted])

    def shown(
        self, frames: MovingFrames, beside: BesideFrames | None, asked_ns: int
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Have frames pass while nothing changes, and count them at the tester and at each replica."""
        assert isinstance(frames, FlowFrames)
        settled_ns = frames.settled_ns(asked_ns)
        senders: list[ByForwarder] = [frames]
        if beside is not None:
            assert isinstance(beside, FlowsBeside)
            senders.append(beside)
        with _pausing(senders):
            before = self._sent()
            from_ns = time.monotonic_ns()
        until(lambda: frames.settled_since(from_ns, time.monotonic_ns()) or None, 2.0)
        with _pausing(senders):
            until_ns = time.monotonic_ns()
            after = self._sent()
        came: Counter[int] = sum((one.came_by(from_ns, until_ns) for one in senders), Counter())
        told = {"window_came_frames": came.total()}
        for number, (pod, _) in enumerate(self.pods, start=1):
            told[f"replica_{number}_came_frames"] = came[int(pod.attached[1].mac.replace(":", ""), 16)]
            told[f"replica_{number}_sent_frames"] = after[pod.pod_id] - before[pod.pod_id]
        steps = {name: at for name, at in self._steps.items() if at >= asked_ns}
        return steps | ({} if settled_ns is None else {SHARES_SETTLED: settled_ns}), told

    def end(self) -> None:
        """Remove all of them."""
        self._wanted = 0
        self.complete()

    def _sent(self) -> dict[str, int]:
        """What the second interface of each has sent."""
        counted = {}
        for pod, _ in self.pods:
            name = pod.attached[1].attachment.interface
            counted[pod.pod_id] = int(pod.inside(interfaces.counters, interface=name)["tx_packets"])
        return counted


@contextmanager
def _pausing(senders: Sequence[ByForwarder]) -> Iterator[None]:
    """Have none of them offer anything until this is left."""
    with ExitStack() as stack:
        for sender in senders:
            stack.enter_context(sender.pausing())
        yield


def _hops(size: int) -> list[str]:
    return [host(_addresses(0, at)[0]) for at in range(size)]


def _addresses(side: int, at: int) -> tuple[str, ...]:
    """Return the addresses of a replica: on the node's bridge, and on the tester's subnet."""
    return address_beside((INNER[0].far_ipv4, OUTER[1].router_ipv4)[side], at)


@contextmanager
def _balancer(bed: Bed, node: BedNode, sides: tuple[Side, Side]) -> Iterator[str]:
    """Have the node route between the first port and a bridge of replicas, whose other bridge has the second.

    Yields the name of the first bridge.
    """
    inner, outer = (bridge_of(side) for side in sides)
    with ExitStack() as stack:
        stack.enter_context(queues.released(bed, node, [side.nic for side in sides]))
        for bridge in (inner, outer):
            stack.callback(node.call, interfaces.delete, interface=bridge)
            node.call(routing.add_bridge, bridge=bridge, mtu_octets=bed.mtu_octets)
            node.call(routing.quiet_bridge, bridge=bridge)
        stack.enter_context(uplinks.bridged(node, interfaces=(sides[1].nic,), bridge=outer))
        stack.enter_context(routers.router_addresses(node, sides[0]))
        stack.enter_context(routers.forwarding(node))
        stack.callback(node.call, sysctl.write_many, settings=node.call(spread.by_ports))
        node.call(interfaces.add_address, interface=inner, address=INNER[0].router_ipv4)
        node.call(routing.disable_reverse_path_filter, interface=inner)
        for side in sides:
            queues.isolate(bed, node, side.nic, side.number)
        yield inner


class Replicas(Resizes):
    """Has one replica more, and then one less, with frames of many flows on their way all the time."""

    paths: ClassVar[tuple[str, ...]] = (PATH,)

    def probe(self) -> Missing | None:
        """Return what is missing: an option with room for several pods."""
        return super().probe() or no_room(self._ground)

    @contextmanager
    def standing(self, ground: Ground, spec: ActsSpec) -> Iterator[Standing]:
        """Have the first replica stand."""
        sides = ground.bed.sides()
        node = ground.bed.node(sides[0].node)
        with _balancer(ground.bed, node, sides) as bridge, ExitStack() as stack:
            group = Group(ground, node, bridge)
            stack.callback(group.end)
            group.ask(FEW)
            yield Standing(
                ports=ground.ports,
                routers=_ROUTERS,
                resizable=group,
                frames=FlowFrames,
                beside=FlowsBeside,
            )


_: type[ActsWorkload] = Replicas

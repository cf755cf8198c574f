"""What all paths of two pods do alike: two nodes, a pod on each, and the join that a path makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    BetweenPods,
    Deployment,
    Evidence,
    HostNode,
    JsonValue,
    Missing,
    TesterPort,
)
from bmwg.drivers.paths import endpoints
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.paths.frames import refuse
from bmwg.methodology.cells.paths import PathKind
from bmwg.methodology.records import Cell

Nodes = tuple[HostNode, HostNode]
Pods = tuple[endpoints.Endpoint, ...]  # two or more, by turns on the first and the second node


def over_underlay(bed: Bed) -> Nodes:
    """Return the nodes at the two ends of the link between nodes; ConfigError PATH-01 without one."""
    one, other = bed.underlay()
    return bed.node(one.node), bed.node(other.node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """What lies between the attachments of the two pods, once it stands.

    `hops` are in order from the first pod to the second. `way` has the nodes' interfaces among them, as
    `endpoints.crossed` takes them. `told` is what else the platform record says of the path.
    """

    hops: Sequence[JsonValue]
    forwarding: str
    way: Sequence[tuple[HostNode, str, str]] = ()
    told: Evidence = field(default_factory=Evidence)


class PairPath(ABC):
    """A path from pod to pod. A path states what it lacks, its nodes, and how they are joined."""

    kind: ClassVar[PathKind]

    def __init__(self, cell: Cell, bed: Bed) -> None:
        self._cell = cell
        self._bed = bed
        self._network = bed.network(cell.network)

    def probe(self) -> Missing | None:
        """Return what machine or testbed lacks for the tester's frames between these pods.

        Both ends are interfaces that one tester opens, so the pods are on its machine.
        """
        return endpoints.beyond_reach(self._bed) or self.probe_frames()

    @abstractmethod
    def probe_frames(self) -> Missing | None:
        """Return the same, where the pods are on the tester's machine."""

    @abstractmethod
    def nodes(self, stack: ExitStack) -> Nodes:
        """Return the pods' nodes, which may be the same; what is made for them is undone by `stack`."""

    @abstractmethod
    def join(self, stack: ExitStack, nodes: Nodes, pods: Pods) -> Join:
        """Join the nodes between two pods that stand; `stack` undoes it."""

    def nic(self) -> str | None:
        """Return the NIC of a node that the attachments stand on; none by default."""
        return None

    def pods(self, stack: ExitStack, nodes: Nodes, speaker: str) -> Pods:
        """Make the pods and attach them; `stack` undoes it."""
        return stack.enter_context(
            endpoints.pods(
                self._bed,
                self._network,
                nodes,
                nic=self.nic(),
                speaker=speaker,
                count=endpoints.wanted(self._cell),
            )
        )

    def ports(self, pods: Pods, join: Join) -> tuple[TesterPort, TesterPort]:
        """Return the tester's ports on the two pods."""
        return endpoints.ports(self._bed, self._network, pods)

    @contextmanager
    def deploy(self) -> Iterator[Deployment]:
        """Make both pods, whose interfaces are the tester's ports, and their join; undo it on leaving."""
        refuse(self.probe())
        with self._made(endpoints.TESTER) as (pods, join, evidence):
            yield Deployment(ports=self.ports(pods, join), evidence=evidence)

    @contextmanager
    def _made(self, speaker: str) -> Iterator[tuple[Pods, Join, Evidence]]:
        with ExitStack() as stack:
            nodes = self.nodes(stack)
            pods = self.pods(stack, nodes, speaker)
            join = self.join(stack, nodes, pods)
            yield (
                pods,
                join,
                {
                    "path": self.kind.name,
                    **endpoints.evidence(self._bed, self._network, pods),
                    **join.told,
                    "hops": [*pods[0].hops(), *join.hops, *reversed(pods[1].hops())],
                    "forwarding": join.forwarding,
                },
            )


class OpenPairPath(PairPath):
    """A path from pod to pod that programs in the pods may use as well as the tester."""

    @abstractmethod
    def probe_pods(self) -> Missing | None:
        """Return what is missing with the pods' own kernels at the ends."""

    @contextmanager
    def between_pods(self) -> Iterator[BetweenPods]:
        """Make the same for what runs in the pods."""
        refuse(self.probe_pods())
        with self._made(endpoints.KERNEL) as (pods, join, evidence):
            yield endpoints.between(pods, evidence, join.way)

"""The kernel routes, in the pod's own network namespace or in that of the node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar

from bmwg.drivers.api.protocols import (
    FunctionLink,
    JsonValue,
    KernelFunction,
    Missing,
    Node,
    PlacedNode,
    Pod,
    PodParts,
    UndoLog,
)
from bmwg.drivers.network.handover import NETDEV
from bmwg.drivers.nodes import batch
from bmwg.drivers.paths import routers
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.ports import routing
from bmwg.methodology.records import Cell


class KernelL3:
    """A kernel that forwards at layer 3; a pod's program only sleeps."""

    routes: ClassVar[bool] = True
    answers_neighbours: ClassVar[bool] = True
    drives: ClassVar[frozenset[str]] = frozenset({NETDEV})
    forwarding: ClassVar[str] = (
        "the kernel in the pod's network namespace, run by the threads of the device queues"
    )

    def __init__(self, bed: Bed) -> None:
        """Nothing of the bed is needed."""

    def probe(self, node: Node) -> Missing | None:
        """Every kernel routes."""
        return None

    def unfit(self, cell: Cell) -> Missing | None:
        """It takes any frame."""
        return None

    @contextmanager
    def parts(self, pod_id: str) -> Iterator[PodParts]:
        """Yield a pod that forwards."""
        yield PodParts(forwarding=True)

    def furnish(self, pod: Pod, links: Sequence[FunctionLink]) -> tuple[str, ...]:
        """Give the pod its routes and fixed neighbours, so that it never asks."""
        steps = []
        for link in links:
            steps.append(batch.step(routing.disable_reverse_path_filter, interface=link.interface))
            for destination, via in link.routes:
                steps.append(
                    batch.step(routing.add_route, destination=destination, via=via, interface=link.interface)
                )
            for arguments in routers.neighbour_arguments(link.interface, link.neighbours, link.neighbour_mac):
                steps.append(batch.step(routing.set_neighbour, **arguments))
        pod.inside(batch.run, steps=steps)
        return ()

    def started(self, pod: Pod) -> dict[str, JsonValue]:
        """Return evidence; the kernel forwards as soon as it is furnished."""
        return {"name": "kernel-l3", "runs_in": "the pod's network namespace, by the node's kernel"}

    @contextmanager
    def on_node(self, node: PlacedNode, links: Sequence[FunctionLink], undo: UndoLog) -> Iterator[JsonValue]:
        """Yield evidence: the node routes already."""
        yield "kernel-l3"


_: type[KernelFunction] = KernelL3

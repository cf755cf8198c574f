"""Where acts and modifiers take hold: the node of a deployed path, or the pod that forwards on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bmwg.drivers.api.calls import P, R
from bmwg.drivers.api.protocols import JsonValue, Pod
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.records import Cell

Act = Callable[[], dict[str, JsonValue]]  # done once; returns when it `began_ns` and `ended_ns`, and more
EGRESS = 1  # number of the side by which the forward stream leaves the DUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A deployed cell: where acts and modifiers take hold."""

    cell: Cell
    bed: Bed

    @property
    def node(self) -> BedNode:
        """The node of the DUT."""
        return self.bed.node(self.bed.sides()[EGRESS].node)

    @property
    def pod(self) -> Pod | None:
        """The pod that forwards; None where the node does."""
        return next(iter(self.bed.pods.values()), None)

    def router(self, function: Callable[P, R], /, *args: P.args, **arguments: P.kwargs) -> R:
        """Run a node function in the network namespace of what forwards: the pod's, or the node's."""
        if self.pod is None:
            return self.node.call_within(60.0, function, *args, **arguments)
        return self.pod.inside_within(50.0, function, *args, **arguments)


Actuator = Callable[[Place], Act | None]  # found by its name among `bmwg.drivers.actuator`


@runtime_checkable
class Foreseeing(Protocol):
    """An actuator that can say before anything is deployed whether it will find what it acts on."""

    def foresees(self, place: Place, /) -> bool:
        """Tell so by the cell and the options alone: `place` has no pod yet."""
        ...

"""Where acts and modifiers take hold: the node of a deployed path, or the pod that forwards on it."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.drivers.api import JsonValue
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.drivers.paths.bed import Bed
from bmwg.methodology.records import Cell

EGRESS = 1  # number of the side by which the forward stream leaves the DUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A deployed cell: where acts and modifiers take hold."""

    cell: Cell
    bed: Bed

    @property
    def node(self) -> NamespaceNode:
        """The node of the DUT."""
        return self.bed.node(self.bed.sides()[EGRESS].node)

    @property
    def pod(self) -> tuple[str, int] | None:
        """Name and process id of the pod that forwards; None where the node does."""
        found = [(name, pid) for name, (_, pid, _) in self.bed.pods.items()]
        return found[0] if found else None

    def router(self, function: str, **arguments: JsonValue) -> JsonValue:
        """Run a node function in the network namespace of what forwards: the pod's, or the node's."""
        if self.pod is None:
            return self.node.call(function, deadline_s=60.0, **arguments)
        return self.node.call(
            "bmwg.drivers.hosting.inside:run",
            deadline_s=60.0,
            pid=self.pod[1],
            function=function,
            arguments=arguments,
            within_s=50.0,
        )

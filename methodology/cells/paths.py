"""What a path is, apart from how it is built: which hosting forms and functions it has, and its words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bmwg.methodology.records import NOTHING, POD

ACCELERATED = ("user-space", "ebpf", "sr-iov", "combination")  # CINF08-5.1.2: models of networks
ONE_NODE = ""  # `between_nodes` of a path that stays on one node


@dataclass(frozen=True, slots=True, kw_only=True)
class PathKind:
    """One path by name. Every path driver has one; profiles and cells are held against it.

    `networked` says that a network option takes part; `scenario` is the path in a reader's words;
    `between_nodes` how its two nodes are joined, empty where it stays on one. `apart` says that the tester's
    two ports lie in different network namespaces, which not every tester can serve. `at_sockets`: the
    tester's ports may be at vhost-user sockets, where other paths have a NIC. `axes` are the names of what
    else its cells may vary (`methodology/cells/axes.py`).
    """

    name: str
    hostings: tuple[str, ...]
    functions: tuple[str, ...]
    networked: bool
    scenario: str
    between_nodes: str = ONE_NODE
    apart: bool = False
    axes: tuple[str, ...] = ()
    at_sockets: bool = False

    def contradictions(self, hosting: str, function: str, network: str) -> Iterator[tuple[str, str, str]]:
        """Yield field, expected and found for each part that this path cannot have.

        `network` is what the plan says: `none`, or anything else where options take part.
        """
        if hosting not in self.hostings:
            yield "hosting", " or ".join(self.hostings), hosting
        if function not in self.functions:
            yield "function", " or ".join(self.functions), function
        if (network != NOTHING) is not self.networked:
            yield "networks", "all or a list of names" if self.networked else NOTHING, network


def between_pods(
    name: str, scenario: str, between_nodes: str = ONE_NODE, *, networked: bool = True
) -> PathKind:
    """Return the kind of a path from pod to pod, without a function, whose ends programs may have as well."""
    return PathKind(
        name=name,
        hostings=(POD,),
        functions=(NOTHING,),
        networked=networked,
        scenario=scenario,
        between_nodes=between_nodes,
        apart=True,
    )

"""A switch a side between the tester's port and every compute host, so that a server may be at any of them.

The switches stand on the node that the tester is cabled to. Each host has an interface to each, named by the
side, which is a physical network of its cloud. Without the tester's ports in them they lead nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from bmwg.drivers.nodes import links
from bmwg.drivers.nodes.namespace import NamespaceNode
from bmwg.drivers.ports import routing

SIDES = ("side0", "side1")


def build(cabled: NamespaceNode, hosts: Sequence[NamespaceNode]) -> None:
    """Make both switches and cable each host to them; all goes with the nodes."""
    for side in SIDES:
        cabled.call(routing.add_bridge, bridge=switch(side))
        for number, host in enumerate(hosts):
            port = f"{side}-h{number}"
            links.connect(cabled, port, host, side)
            cabled.call(routing.set_controller, interface=port, controller=switch(side))


@contextmanager
def joined(cabled: NamespaceNode, nics: Sequence[str]) -> Iterator[None]:
    """Have the NICs to the tester be ports of the switches while this is entered."""
    with ExitStack() as stack:
        for nic, side in zip(nics, SIDES, strict=True):
            stack.callback(cabled.call, routing.set_controller, interface=nic, controller="")
            cabled.call(routing.set_controller, interface=nic, controller=switch(side))
        yield


def switch(side: str) -> str:
    """Return the name of a side's switch."""
    return f"bmwg-{side}"

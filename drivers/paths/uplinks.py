"""How a node's NIC joins the plugin's host side, for each `uplink` that a network option may name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from bmwg.drivers.api.protocols import Attached, Missing, NetworkDriver, Node, PlacedNode, UndoLog
from bmwg.drivers.nodes import links
from bmwg.drivers.ports import interfaces as hosting_interfaces
from bmwg.drivers.ports import routing
from bmwg.drivers.testbed.file import TESTER, Testbed
from bmwg.methodology.errors import TestbedError

BRIDGE_PORT, ROUTED, MASTER, NONE = "bridge_port", "routed", "master", "none"


def lacking(driver: NetworkDriver, node: Node, testbed: Testbed) -> Missing | None:
    """Return what a node lacks for a network option: what its probe says, then that of the NICs it takes.

    It is asked of the NICs that are cabled to the tester; those of a guest, which no link names, are not
    known before.
    """
    if found := driver.probe(node):
        return found
    ends = [(link.a, link.b) for link in testbed.links] + [(link.b, link.a) for link in testbed.links]
    nics = [mine.interface for mine, other in ends if mine.node == node.name and other.node == TESTER]
    return next((lack for nic in sorted(nics) if (lack := driver.probe_uplink(node, nic))), None)


@contextmanager
def cleared(node: Node, uplink: str, *, nic: str | None, bridge: str) -> Iterator[None]:
    """Enter before ADD: on leaving, after DEL, bring the node back to what it was before.

    Plugins leave their bridge, and one that took the NIC gives it back down. A program that drove the NIC
    and was killed leaves its XDP program there, which the next deployment's frames would pass.
    """
    try:
        yield
    finally:
        if uplink in (MASTER, NONE) and nic is not None:
            node.call(hosting_interfaces.release, interface=nic)
        if uplink == BRIDGE_PORT:
            node.call(hosting_interfaces.delete, interface=bridge)
        elif uplink == MASTER and nic is not None:
            node.call(links.raise_end, interface=nic)


@contextmanager
def bridged(node: Node, *, interfaces: tuple[str, ...], bridge: str) -> Iterator[None]:
    """Enter after ADD: make the interfaces ports of the plugin's bridge, silence it; release them on leaving.

    Raises TestbedError PATH-05 when the plugins have made no bridge of that name.
    """
    try:
        node.call(routing.quiet_bridge, bridge=bridge)
    except TestbedError as error:
        raise TestbedError(
            "PATH-05",
            f"node {node.name}: the plugins made no bridge {bridge}",
            expected="a bridge of that name after ADD, as `uplink: bridge_port` says",
            found=error.found or error.what,
            hint="use ${bridge} in the configuration list, or another uplink",
        ) from error
    try:
        for interface in interfaces:
            node.call(routing.set_controller, interface=interface, controller=bridge)
        yield
    finally:
        for interface in interfaces:
            node.call(routing.set_controller, interface=interface, controller="")


@contextmanager
def own_bridge(node: PlacedNode, undo: UndoLog, *, bridge: str, nic: str) -> Iterator[None]:
    """Have a bridge of ours stand with the NIC as its port; remove it on leaving, whatever its ports."""
    entry = undo.before("interface", node.place, interface=bridge)
    try:
        node.call(routing.add_bridge, bridge=bridge)
        node.call(routing.set_controller, interface=nic, controller=bridge)
        yield
    finally:
        node.call(routing.set_controller, interface=nic, controller="")
        node.call(hosting_interfaces.delete, interface=bridge)
        undo.done(entry)


def host_side(node: Node, attached: Attached) -> str:
    """Return the attachment's end on the node; TestbedError PATH-05 when the plugins have made none."""
    if attached.host_interface is None:
        raise TestbedError(
            "PATH-05",
            f"node {node.name}: the plugins left no end of {attached.attachment.interface} on the node",
            expected="a veth pair, as `uplink: routed` says",
            found=f"an interface of kind {attached.link_kind}",
            hint="use another uplink for this network option",
        )
    return attached.host_interface

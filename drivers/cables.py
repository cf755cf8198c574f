"""Cables that are there: interfaces of this machine that a run borrows for its nodes, and gives back.

Only what `lab_ports` of the testbed file names is borrowed, and only where nothing uses it (RFC 6815). Ids:
PORT-05 the interface is no lab port.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator

from bmwg.drivers.api import JsonValue, UndoLog
from bmwg.drivers.hosting import interfaces, lab_port
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.methodology.errors import ConfigError, ToolkitError

UNDO_KIND = "lab_port"
_LINK_S = 20.0  # choice: negotiation of a NIC takes seconds
End = tuple[NamespaceNode, str]


@contextlib.contextmanager
def borrowed(
    ends: tuple[End, End], *, lab_ports: Collection[str], undo: UndoLog
) -> Iterator[dict[str, JsonValue]]:
    """Put both ends of a cable into their nodes, up and silent; back in the machine's own namespace after.

    Yields evidence. Raises ConfigError PORT-05, TestbedError PORT-01 to PORT-03; both ends are looked at
    before one is moved.
    """
    for _, name in ends:
        if name not in lab_ports:
            raise ConfigError(
                "PORT-05",
                f"interface {name} is an end of a cable and no lab port",
                expected=f"one of lab_ports ({', '.join(sorted(lab_ports)) or 'there is none'})",
                found=name,
                hint="name it there only if test traffic may flood what is plugged into it",
            )
    found = [lab_port.require_bare(interface=name) for _, name in ends]
    with contextlib.ExitStack() as stack:
        for (node, name), told in zip(ends, found, strict=True):
            stack.enter_context(_moved(node, name, up=bool(told["up"]), undo=undo))
        for node, name in ends:
            node.call(
                "bmwg.drivers.hosting.lab_port:wait_for_link",
                interface=name,
                within_s=_LINK_S,
                deadline_s=30.0,
            )
        told_ends = [
            {"node": node.name, "interface": name, "mac": told["mac"], "driver": told["driver"]}
            for (node, name), told in zip(ends, found, strict=True)
        ]
        yield {"kind": "cable", "a": told_ends[0], "b": told_ends[1], "mtu_octets": found[0]["mtu_octets"]}


@contextlib.contextmanager
def _moved(node: NamespaceNode, interface: str, *, up: bool, undo: UndoLog) -> Iterator[None]:
    entry = undo.before(UNDO_KIND, interface=interface, up=up)
    interfaces.move(interface=interface, pid=node.pid)
    try:
        node.call("bmwg.drivers.links:raise_end", interface=interface)
        yield
    finally:
        # a node that is gone has given its device back already
        with contextlib.suppress(ToolkitError):
            node.call("bmwg.drivers.hosting.interfaces:move", interface=interface, pid=os.getpid())
        lab_port.require_returned(interface=interface, up=up)
        undo.done(entry)

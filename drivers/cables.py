"""Interfaces of this machine that links of kind `cable` name: borrowed for a run, and given back.

As on the hosts of a row (docs/adr/0220): one that anything else uses is refused (PORT-01), what was borrowed
stands in the ledger before it is moved, and a run that is killed leaves it to `bmwg cleanup`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bmwg.drivers import links
from bmwg.drivers.api import JsonValue, UndoLog
from bmwg.drivers.hosting import interfaces, lab_port
from bmwg.drivers.hosting.namespace import NamespaceNode
from bmwg.methodology.errors import ConfigError, ToolkitError

LINK_DEADLINE_S = 20.0  # choice: what a NIC and a switch take to agree, and twice that
End = tuple[NamespaceNode, str]  # a node and the name of an interface


@contextmanager
def cabled(a: End, b: End, undo: UndoLog, *, mtu_octets: int) -> Iterator[dict[str, JsonValue]]:
    """Move both ends of a cable into their nodes and wait for the link; give them back on leaving.

    Gives the evidence of the link. Raises TestbedError PORT-01, PORT-02, ConfigError LINK-04 for an
    interface whose MTU is less than the run's frames need.
    """
    with ExitStack() as stack:
        told = [stack.enter_context(_borrowed(*end, undo, mtu_octets=mtu_octets)) for end in (a, b)]
        for (node, interface), facts in zip((a, b), told, strict=True):
            node.call_within(
                LINK_DEADLINE_S + 10, lab_port.wait_for_link, interface=interface, within_s=LINK_DEADLINE_S
            )
            facts["line_rate_bps"] = node.call(lab_port.line_rate_bps, interface=interface)
        yield {"kind": "cable", "a": told[0], "b": told[1], "mtu_octets": mtu_octets}


@contextmanager
def _borrowed(
    node: NamespaceNode, interface: str, undo: UndoLog, *, mtu_octets: int
) -> Iterator[dict[str, JsonValue]]:
    found = lab_port.require_bare(interface=interface)
    if int(found["mtu_octets"]) < mtu_octets:
        raise ConfigError(
            "LINK-04",
            f"MTU of interface {interface}, which a link names",
            expected=f"{mtu_octets} octets or more, for the frames of this run",
            found=str(found["mtu_octets"]),
            hint=f"ip link set {interface} mtu {mtu_octets}",
        )
    number = undo.before("lab_port", interface=interface, up=found["up"])
    try:
        interfaces.move(interface=interface, pid=node.pid)
        node.call(links.raise_end, interface=interface)
        yield {"node": node.name, **{key: value for key, value in found.items() if key != "up"}}
    finally:
        with contextlib.suppress(ToolkitError):  # where the node is gone its end gives it back
            node.call(interfaces.move, interface=interface, pid=os.getpid())
        lab_port.require_returned(interface=interface, up=bool(found["up"]))
        undo.done(number)

"""Has the programs that a deployment stands on be looked at after each trial: one that ended is a fault.

Frames that find no switch, or no machine behind it, are lost as they are in a slow one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bmwg.drivers.api.machines import SocketMachine
from bmwg.drivers.api.protocols import NetworkDriver, Node
from bmwg.drivers.nodes import process

if TYPE_CHECKING:
    from bmwg.drivers.paths.bed import Bed


@contextmanager
def standing_programs(
    bed: Bed, node: Node, network: NetworkDriver, *machines: SocketMachine
) -> Iterator[None]:
    """Have the bed know the processes of a network and of machines on a node while they are to stand."""
    pids = {part: told["pid"] for part, told in network.uses(node).items() if "pid" in told}
    found = {
        f"{part} of network {network.spec.name} (process {pid} of {node.name})": (
            node.name,
            pid,
            node.call(process.start_ticks, pid=pid),
        )
        for part, pid in pids.items()
    }
    for machine in machines:
        of = machine.process
        found[f"machine {machine.name}"] = (node.name, of["pid"], of["start_ticks"])
    bed.programs.update(found)
    try:
        yield
    finally:
        for name in found:
            bed.programs.pop(name, None)

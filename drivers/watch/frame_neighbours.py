"""Has a neighbour work beside the trials of frames on a deployment, and counts its work in each of them.

It works from before the first trial to after the last one, so each trial meets one that is under way, in a
cgroup of its own on the CPUs that its name says. Ids: those of `drivers.nodes.counted_neighbour`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.nodes import counted_neighbour
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.watch.neighbours import cpus_of, placed
from bmwg.methodology.cells import neighbours
from bmwg.methodology.records import Cell

BUFFER_OCTETS = 1 << 27  # choice: each of two for each CPU, beyond any cache
_ALONE_S = 1.0  # choice: as beside other kinds of load
_CALL_S = 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """A neighbour that works. `alone` is what it did before any frame was sent."""

    node: BedNode
    words: dict[str, JsonValue]
    cpus: int
    alone: dict[str, int]

    def read(self) -> dict[str, int]:
        """Return its totals so far. Raises DriverError NEIGH-03 where it has ended."""
        found: dict[str, int] = self.node.call_within(_CALL_S, counted_neighbour.read, **self.words)
        return found

    def beside(self, before: dict[str, int]) -> dict[str, int]:
        """Return the counts of a trial, from what was read before it and what is read now."""
        now = self.read()
        return {
            **self.alone,
            neighbours.WORK: now["operations"] - before["operations"],
            neighbours.WORK_NS: now["at_ns"] - before["at_ns"],
            neighbours.CPU_NS: now["cpu_ns"] - before["cpu_ns"],
            neighbours.CPUS: self.cpus,
        }


def lacking(bed: Bed, cell: Cell) -> Missing | None:
    """Return what is missing for the neighbour of a cell of frames; None without one."""
    name = neighbours.of(cell)
    if name == neighbours.ALONE:
        return None
    if not bed.nodes:
        return Missing(
            what=f"neighbour {name}",
            reason="nothing of this testbed runs on a machine",
            mend="a testbed with nodes",
        )
    _, place = neighbours.of_frames(name)
    if _cpus(bed, place):
        return None
    reason, mend = f"the testbed file names no CPUs of {place}", f"`cpus` of {place} in the testbed file"
    if place == neighbours.OTHERS:
        reason = "each CPU on the NUMA node of the DUT's is the tester's, the DUT's or the pods'"
        mend = "a machine with more CPUs"
    return Missing(what=f"neighbour {name}", reason=reason, mend=mend)


def described(bed: Bed, cell: Cell) -> dict[str, JsonValue]:
    """Return what is to work beside a cell; empty without a neighbour."""
    if (name := neighbours.of(cell)) == neighbours.ALONE:
        return {}
    what, place = neighbours.of_frames(name)
    octets = BUFFER_OCTETS if what == "memory" else 0
    program = "drivers/nodes/neighbour_load.py"
    return {"name": name, "program": program, "cpus": _cpus(bed, place), "buffer_octets": octets}


@contextmanager
def working(bed: Bed, cell: Cell, cpu_limit: float = 0.0) -> Iterator[Working | None]:
    """Have the neighbour of a cell work; None without one. `cpu_limit` is its quota of CPU time, 0: none.

    Raises DriverError NEIGH-02, NEIGH-03, HOST-01.
    """
    if (name := neighbours.of(cell)) == neighbours.ALONE:
        yield None
        return
    what, place = neighbours.of_frames(name)
    node, cpus = _node(bed), _cpus(bed, place)
    with placed(bed, node, cpus, cpu_limit=cpu_limit) as (cgroup, folder):
        own = node.call_within(
            _CALL_S,
            counted_neighbour.begin,
            what=what,
            octets=BUFFER_OCTETS if what == "memory" else 0,
            cpus=cpus,
            cgroup=cgroup,
            folder=folder,
        )
        words = {"what": what, "cpus": len(cpus), "cgroup": cgroup, "folder": folder, **own}
        one = Working(node=node, words=words, cpus=len(cpus), alone={})
        before = one.read()
        time.sleep(_ALONE_S)
        counts = one.beside(before)
        alone = {neighbours.BEFORE: counts[neighbours.WORK], neighbours.BEFORE_NS: counts[neighbours.WORK_NS]}
        yield Working(node=node, words=words, cpus=len(cpus), alone=alone)


def _cpus(bed: Bed, place: str) -> list[int]:
    if place != neighbours.OTHERS:
        return list(cpus_of(bed, place))
    testbed = bed.testbed
    used = [*testbed.dut.cpus, *testbed.pods.cpus]
    if _node(bed).machine is bed.tester.machine:
        used += testbed.tester.cpus
    found: list[int] = _node(bed).call(
        counted_neighbour.others, used=sorted(set(used)), near=list(testbed.dut.cpus)
    )
    return found


def _node(bed: Bed) -> BedNode:
    return bed.node(bed.testbed.nodes[0].name)

"""Runs a declared neighbour beside an execution, and alone right before it, whatever is measured but frames.

It has a cgroup of its own on the CPUs that its name says, so its share of these is that of a pod; its work is
counted by itself, alone and beside. Ids: those of `drivers.nodes.neighbour`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.containers import native_cgroup
from bmwg.drivers.nodes import neighbour, programs
from bmwg.drivers.nodes.hosts import BedNode
from bmwg.drivers.paths.bed import Bed
from bmwg.drivers.places.native import UNDO_KIND
from bmwg.drivers.testbed.file import TESTER
from bmwg.methodology.cells import neighbours
from bmwg.methodology.cells.neighbours import Neighbour

_MEMORY_OCTETS = 1 << 29  # choice, for each CPU: STREAM's vectors are 384 MiB, two buffers 256
_ALONE_S = 1.0  # choice: as long as the shortest executions
_CALL_S = 30.0


def cpus_of(bed: Bed, place: str) -> Sequence[int]:
    """Return the CPUs of the testbed file that a neighbour's name means."""
    testbed = bed.testbed
    return {"pods": testbed.pods.cpus, "dut": testbed.dut.cpus, "tester": testbed.tester.cpus}[place]


def lacking(bed: Bed, name: str) -> Missing | None:
    """Return what is missing for a neighbour here; None for `none`."""
    if name == neighbours.ALONE:
        return None
    _, place = neighbours.parts(name)
    if not cpus_of(bed, place):
        return Missing(
            what=f"neighbour {name}",
            reason=f"the testbed file names no CPUs of {place}",
            mend=f"`cpus` of {place} in the testbed file",
        )
    if place == TESTER and _node(bed).machine is not bed.tester.machine:
        return Missing(
            what=f"neighbour {name}",
            reason="the tester's CPUs are of another machine than the one that is measured",
            mend="a neighbour on the CPUs of pods or dut",
        )
    return Missing.told(_node(bed).call(neighbour.probe))


@contextmanager
def beside(bed: Bed, name: str) -> Iterator[dict[str, int]]:
    """Have the neighbour work while this is entered; the counts of its work are there after leaving.

    It is entered for one execution. Raises DriverError NEIGH-02, NEIGH-03, TestbedError NEIGH-01.
    """
    counts: dict[str, int] = {}
    if name == neighbours.ALONE:
        yield counts
        return
    one, place = neighbours.parts(name)
    node, cpus = _node(bed), cpus_of(bed, place)
    node.call(neighbour.version)
    with placed(bed, node, cpus) as (cgroup, folder):
        begun = _begun(bed, one, cgroup, len(cpus), folder)
        time.sleep(_ALONE_S)
        counts |= _ended(bed, one, begun, folder, neighbours.BEFORE, neighbours.BEFORE_NS)
        begun = _begun(bed, one, cgroup, len(cpus), folder)
        yield counts
        counts |= _ended(bed, one, begun, folder, neighbours.WORK, neighbours.WORK_NS)
        counts[f"{neighbours.NAMED}{name}"] = len(cpus)


@contextmanager
def placed(
    bed: Bed, node: BedNode, cpus: Sequence[int], *, cpu_limit: float = 0.0
) -> Iterator[tuple[str, str]]:
    """Have a cgroup on these CPUs and a folder for a neighbour; yields both, ends what runs in it on leaving.

    `cpu_limit` is its quota of CPU time, 0: none. Raises DriverError HOST-01.
    """
    name = f"bmwg-{bed.next_id()}-beside"
    folder = str(bed.state_dir / "neighbour")
    of_folder = bed.undo.before("folder", node.machine.place, folder=folder)
    of_cgroup = bed.undo.before(UNDO_KIND, node.place, cgroup=f"/{name}")
    try:
        cgroup = node.call(
            native_cgroup.make,
            name=name,
            cpus=",".join(map(str, cpus)),
            memory_octets=_MEMORY_OCTETS * len(cpus),
            cpu_limit=cpu_limit,
        )
        yield cgroup, folder
    finally:
        node.call(native_cgroup.remove, cgroup=f"/{name}")  # with what still runs in it
        node.call(programs.remove_folder, folder=folder)
        bed.undo.done(of_cgroup)
        bed.undo.done(of_folder)


def _begun(bed: Bed, one: Neighbour, cgroup: str, instances: int, folder: str) -> JsonValue:
    return _node(bed).call_within(
        _CALL_S,
        neighbour.begin,
        stressor=one.stressor,
        instances=instances,
        words=list(one.words),
        cgroup=cgroup,
        folder=folder,
    )


def _ended(
    bed: Bed, one: Neighbour, begun: JsonValue, folder: str, work: str, elapsed: str
) -> dict[str, int]:
    told = _node(bed).call_within(_CALL_S, neighbour.end, **begun, folder=folder, stressor=one.stressor)
    return {work: told["operations"], elapsed: told["elapsed_ns"]}


def _node(bed: Bed) -> BedNode:
    return bed.node(bed.testbed.nodes[0].name)

"""Neighbours: what runs beside a measurement on the same host, declared, and as an axis of its cells. Pure.

RFC 8172 section 3.3 asks for a test beside noisy neighbours, section 3.4 for the baseline without. The
draft's section 5.2.4 has CPUs and memory of a pod as parameters: whose CPUs a neighbour uses is part of its
name. A profile lists them under `neighbours`; each cell is then measured once for each of them, `none` being
alone. Cells of frames have them as axis `neighbour` of a line of the plan. A neighbour is
`<what>-on-<whose CPUs>`: what it uses up, and which CPUs it may use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.records import Cell

AXIS = "neighbour"
ALONE = "none"
PROGRAM = "stress-ng"
PLACES = ("pods", "dut", "tester")  # whose CPUs, as the testbed file names them
WORK, WORK_NS = "host.neighbour_operations", "host.neighbour_ns"  # beside the measurement
BEFORE, BEFORE_NS = "host.neighbour_alone_operations", "host.neighbour_alone_ns"  # the same, alone
COUNTS = (WORK, WORK_NS, BEFORE, BEFORE_NS)
NAMED = "host.neighbour."  # a count whose name ends with the neighbour's: on how many CPUs it worked
# Beside frames the program of ours works, for whose CPUs the tester's are none (docs/adr/0585): `others` are
# those that neither tester nor DUT has, on the NUMA nodes of the DUT's.
OTHERS = "others"
FRAMES_PLACES = ("dut", "pods", OTHERS)
FRAMES_KINDS = ("cpu", "memory")
CPU_NS, CPUS = "host.neighbour_cpu_ns", "host.neighbour_cpus"  # CPU time beside a trial, and on how many CPUs
FRAMES_COUNTS = (*COUNTS, CPU_NS, CPUS)
CHUNK_OCTETS = 1 << 20  # choice: of one operation of `memory`, which reads and writes as many


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """What a neighbour uses up: its stressor by stress-ng, one a CPU, with further words of its command."""

    what: str
    stressor: str
    words: tuple[str, ...] = ()
    on_disk: bool = False


KINDS: Mapping[str, Neighbour] = {
    "cpu": Neighbour(what="arithmetic on the CPU", stressor="cpu"),
    "memory": Neighbour(
        what="memory bandwidth, by STREAM's loops",
        stressor="stream",
        words=("--stream-l3-size", "32m"),  # vectors of 384 MiB; by a cache of 260 MiB they would be 3 GiB
    ),
    "disk": Neighbour(
        what="writes to the disk, direct",
        stressor="hdd",
        words=("--hdd-opts", "direct,wr-seq", "--hdd-bytes", "64m", "--hdd-write-size", "1m"),
        on_disk=True,
    ),
}
_NAME = re.compile(rf"({'|'.join(KINDS)})-on-({'|'.join(PLACES)})")


def parts(name: str) -> tuple[Neighbour, str]:
    """Return what a neighbour is and whose CPUs it uses. Raises ValueError for a name that is none."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"neighbour: expected {ALONE}, or {'|'.join(KINDS)} -on- {'|'.join(PLACES)}, found {name!r}"
        )
    return KINDS[found[1]], found[2]


def of_frames(name: object) -> tuple[str, str]:
    """Return what a neighbour of frames uses up and whose CPUs. Raises ValueError for a name that is none."""
    what, _, place = str(name).partition("-on-")
    if what not in FRAMES_KINDS or place not in FRAMES_PLACES:
        raise ValueError(
            f"{ALONE}, or {'|'.join(FRAMES_KINDS)} -on- {'|'.join(FRAMES_PLACES)}, found {name!r}"
        )
    return what, place


def words(name: object) -> str:
    """Return the axis of frames as a reader calls it."""
    return "no neighbour" if name == ALONE else f"beside {name}"


def bandwidth_bps(counts: Mapping[str, int]) -> float | None:
    """Return what `memory` read and wrote beside a trial, bit/s over all of its CPUs; None untold."""
    if not counts.get(WORK_NS):
        return None
    return counts.get(WORK, 0) * 2 * CHUNK_OCTETS * 8 * 1e9 / counts[WORK_NS]


def of(cell: Cell) -> str:
    """Return the neighbour of a cell, `none` without one."""
    return str(dict(cell.axes).get(AXIS, ALONE))


def beside(cell: Cell, name: str) -> Cell:
    """Return the cell beside a neighbour; the same cell for `none`. Raises ValueError."""
    if name == ALONE:
        return cell
    parts(name)
    return replace(cell, axes=(*cell.axes, (AXIS, name)), name=f"{cell.name}/beside-{name}")


def apart(name: str, cell: Cell) -> str:
    """Return a name by which cells beside each neighbour are told from the others: they draw other orders."""
    return name if of(cell) == ALONE else f"{name}/beside-{of(cell)}"


def alone(cell: Cell) -> Cell:
    """Return the cell without its neighbour."""
    if (name := of(cell)) == ALONE:
        return cell
    return replace(
        cell,
        axes=tuple(axis for axis in cell.axes if axis[0] != AXIS),
        name=cell.name.removesuffix(f"/beside-{name}"),
    )


def split(axes: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return a cell of a run's files without its neighbour, and that."""
    told = dict(axes["axes"])
    name = told.pop(AXIS, ALONE)
    if name == ALONE:
        return dict(axes), ALONE
    return {**axes, "axes": told, "cell_id": str(axes["cell_id"]).removesuffix(f"/beside-{name}")}, str(name)


def listed(profile: Mapping[str, Any]) -> Sequence[str]:
    """Return the neighbours that a profile lists: none at all is `none` alone."""
    found: Sequence[str] = profile.get("neighbours", (ALONE,))
    return found


def share(counts: Mapping[str, int]) -> float | None:
    """Return a neighbour's operations per second beside a measurement over those alone; None untold."""
    if not all(counts.get(name) for name in COUNTS):
        return None
    return (counts[WORK] / counts[WORK_NS]) / (counts[BEFORE] / counts[BEFORE_NS])

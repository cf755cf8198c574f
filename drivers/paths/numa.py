"""Where pods lie against the DUT's CPUs, on a machine of several NUMA nodes (CINF08-5.2.2-06): an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bmwg.drivers.api.protocols import Missing
from bmwg.methodology.cells.axes import NUMA, SAME
from bmwg.methodology.trial.cpu_lists import cpu_list

_NODES = Path("/sys/devices/system/node")


def node_of_cpus(root: Path = _NODES) -> dict[int, int]:
    """Node function: the NUMA node of each CPU of this machine; a kernel without NUMA tells none."""
    found = {}
    for folder in root.glob("node[0-9]*"):
        for cpu in cpu_list((folder / "cpulist").read_text().strip()):
            found[cpu] = int(folder.name.removeprefix("node"))
    return found


def placed(
    wanted: str, *, pod_cpus: Sequence[int], dut_cpus: Sequence[int], nodes: Mapping[int, int]
) -> tuple[int, ...] | Missing:
    """Return those of the pods' CPUs that lie as wanted to the DUT's, or what is missing for it."""
    what = f"{NUMA} {wanted}"
    there = sorted(set(nodes.values()))
    if len(there) < 2:
        return Missing(
            what=what,
            reason=f"this machine has {len(there)} NUMA node{'' if len(there) == 1 else 's'}",
            mend="a machine, or a guest, with two NUMA nodes; without the axis cells run on one",
        )
    of_dut = {nodes.get(cpu) for cpu in dut_cpus}
    if len(of_dut) != 1:
        return Missing(
            what=what,
            reason=f"the DUT's CPUs {list(dut_cpus)} lie on {len(of_dut)} nodes",
            mend="dut.cpus of one NUMA node",
        )
    chosen = tuple(cpu for cpu in pod_cpus if (nodes.get(cpu) in of_dut) is (wanted == SAME))
    if chosen:
        return chosen
    return Missing(
        what=what,
        reason=f"none of the pods' CPUs {list(pod_cpus)} lies so to the DUT's {list(dut_cpus)}",
        mend="pods.cpus with CPUs of both NUMA nodes",
    )

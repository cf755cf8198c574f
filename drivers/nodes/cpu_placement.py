"""On which CPUs the threads of a cgroup may run, as the kernel has them; a place for other programs.

An affinity that a program inherits outlives its move into a cpuset: a pod whose cpuset is CPU 1 then runs on
CPU 0, and every figure is of the wrong CPU. So what is told is read from each thread, not from the cpuset.
Ids: POD-08 threads on CPUs that are not the pod's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import cgroups
from bmwg.methodology.errors import DriverError


def threads(*, cgroup: str) -> list[dict[str, JsonValue]]:
    """Node function: the threads of a cgroup and of those below it: `name`, `cpus`, how many are alike."""
    found: dict[tuple[str, tuple[int, ...]], int] = {}
    for pid in cgroups.members(cgroup):
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):  # a thread may end meanwhile
                    name = Path(f"/proc/{pid}/task/{task}/comm").read_text().strip()
                    key = (name, tuple(sorted(os.sched_getaffinity(int(task)))))
                    found[key] = found.get(key, 0) + 1
    return [
        {"name": name, "cpus": list(cpus), "threads": number}
        for (name, cpus), number in sorted(found.items())
    ]


def require_on(what: str, found: Sequence[Mapping[str, JsonValue]], cpus: Collection[int]) -> None:
    """DriverError POD-08 when a thread may run elsewhere than on `cpus`, or when there is none at all."""
    strayed = [one for one in found if not set(one["cpus"]) <= set(cpus)]
    if strayed or not found:
        told = ", ".join(f"{one['name']} on {','.join(map(str, one['cpus']))}" for one in strayed[:8])
        raise DriverError(
            "POD-08",
            f"CPUs of {what}",
            expected=f"threads that run on {','.join(map(str, sorted(cpus)))} alone",
            found=told or "no thread",
            hint="an affinity of the process that started the run is inherited: start it without taskset",
        )


def set_apart(*, cgroup: str, cpus: str, mems: str) -> None:
    """Node function: make a cpuset for programs beside a device. Nothing in it yet; the parent is there.

    A process that enters has these CPUs, and so have its children, until they enter a cpuset of their own.
    """
    for folder in _cpuset_folders(cgroup):
        folder.mkdir(exist_ok=True)
        (folder / "cpuset.mems").write_text(mems)
        (folder / "cpuset.cpus").write_text(cpus)


def enter(cgroup: str) -> None:
    """Put the calling process into a cgroup that `set_apart` made, with all CPUs that this leaves it.

    An affinity that it inherited is forgotten, for its children would keep that in a cpuset of their own.
    """
    os.sched_setaffinity(0, range(os.sysconf("SC_NPROCESSORS_CONF")))
    for folder in _cpuset_folders(cgroup):
        (folder / "cgroup.procs").write_text("0")


def _cpuset_folders(cgroup: str) -> list[Path]:
    """Return the folder of a cgroup where cpusets are kept; none where the machine has no cpusets."""
    if not cgroups.has_controller("cpuset"):
        return []
    return [cgroups.root_of("cpuset") / cgroup.lstrip("/")]

"""A neighbour beside frames on a node: `neighbour_load.py` in a cgroup, whose work is read at any time.

Node functions. Ids: NEIGH-02 it told no work in time, NEIGH-03 it ended by itself.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from bmwg.drivers.nodes import cgroups, neighbour_load, process, programs
from bmwg.drivers.nodes.neighbour import JOIN
from bmwg.methodology.errors import DriverError
from bmwg.methodology.trial.cpu_lists import cpu_list

_COUNTS = "work"
_READY_S, _POLL_S = 20.0, 0.02
_LOOKS, _AT_ONCE_NS = 20, 1_000_000  # choice: a millisecond is 1 % of the shortest trials of a profile
_NUMA = Path("/sys/devices/system/node")


def others(*, used: list[int], near: list[int]) -> list[int]:
    """Node function: CPUs of this machine that are none of the used, on the NUMA nodes of those `near`."""
    nodes = [_cpus((folder / "cpulist").read_text()) for folder in _NUMA.glob("node[0-9]*")]
    mine = [node for node in nodes if node & set(near)] or [_cpus(cgroups.default_cpus())]
    return sorted(set().union(*mine) & _cpus(cgroups.default_cpus()) - set(used))


def _cpus(text: str) -> set[int]:
    return set(cpu_list(text.strip())) if text.strip() else set()


def begin(*, what: str, octets: int, cpus: list[int], cgroup: str, folder: str) -> dict[str, int]:
    """Node function: start the program in its cgroup; it works on return. Gives pid and start time (ticks).

    Raises DriverError NEIGH-02, NEIGH-03.
    """
    programs.write_files(folder=folder, files={})
    words = [what, f"{folder}/{_COUNTS}", str(octets), *map(str, cpus)]
    command = [sys.executable, str(Path(neighbour_load.__file__).resolve()), *words]
    places = [str(place) for place in cgroups.folders(cgroup)]
    started = programs.start(
        command=["sh", "-c", JOIN, "sh", *places, "--", *command], folder=folder, packages=[]
    )
    end_s = time.monotonic() + _READY_S
    while not all(row[0] for row in _rows(folder, len(cpus))):
        if time.monotonic() > end_s:
            programs.stop(folder=folder, **started)
            raise DriverError(
                "NEIGH-02", f"neighbour {what}", expected=f"work within {_READY_S:g} s", found="none"
            )
        _require(what, folder, **started)
        time.sleep(_POLL_S)
    return started


def read(*, what: str, cpus: int, cgroup: str, folder: str, pid: int, start_ticks: int) -> dict[str, int]:
    """Node function: operations on all of its CPUs so far, its CPU time (ns), and when that was (ns).

    Raises DriverError NEIGH-03 where any of it has ended.
    """
    _require(what, folder, pid=pid, start_ticks=start_ticks)
    members = cgroups.members(cgroup)
    if len(members) <= cpus:  # the leader and one for each CPU
        raise DriverError("NEIGH-03", f"neighbour {what}", expected=f"{cpus} that work", found="fewer")
    for _ in range(_LOOKS):  # both are of one moment, unless this process is kept off its CPU each time
        began_ns = time.monotonic_ns()
        try:
            cpu_ns = sum(_cpu_ns(pid) for pid in members)
        except OSError as error:
            raise DriverError(
                "NEIGH-03", f"neighbour {what}", expected=f"{cpus} that work", found=str(error)
            ) from error
        at_ns = time.monotonic_ns()
        if at_ns - began_ns < _AT_ONCE_NS:
            break
    return {"operations": sum(row[1] for row in _rows(folder, cpus)), "cpu_ns": cpu_ns, "at_ns": at_ns}


def _cpu_ns(pid: int) -> int:
    """Return the CPU time of a process of one thread, ns, as of the kernel's last tick on its CPU."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def _rows(folder: str, cpus: int) -> list[tuple[int, int]]:
    try:
        told = Path(folder, _COUNTS).read_bytes()
    except FileNotFoundError:
        told = b""
    size = neighbour_load.ROW.size
    if len(told) < size * cpus:
        return [(0, 0)]
    return [neighbour_load.ROW.unpack_from(told, number * size) for number in range(cpus)]


def _require(what: str, folder: str, *, pid: int, start_ticks: int) -> None:
    if not process.same(pid, start_ticks):
        raise DriverError(
            "NEIGH-03", f"neighbour {what}", expected="work until it is ended", found=programs.said(folder)
        )

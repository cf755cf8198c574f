"""CPU time (ns, user and system) that has been used, by threads and processes that ended as well.

Of what runs now it is as of the kernel's last tick on its CPU.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

_SCHEDULED = 2  # CPUCLOCK_SCHED of the kernel: of clock_getcpuclockid(3), which Python does not have
_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_LOOKS = 5  # choice: hardly ever does a program wait for a child in each of so many moments


def of_process(pid: int) -> int:
    """CPU time of all threads that a process has or had. Raises OSError where there is no such process."""
    return time.clock_gettime_ns(~pid << 3 | _SCHEDULED)


def of_processes(pids: Iterable[int]) -> int:
    """CPU time of processes together, with that of the children that ended and that one of them waited for.

    Of such children it is in whole ticks. A process that nobody here waited for is lost with its end, and so
    is one that has gone and is named no more: where that may be, ask its cgroup.
    """
    each = list(pids)
    own_ns = waited_ns = 0
    for _ in range(_LOOKS):  # a child that is waited for meanwhile goes from one sum to the other
        waited_ns, own_ns = _sum(_of_children, each), _sum(of_process, each)
        if _sum(_of_children, each) == waited_ns:
            break
    return own_ns + waited_ns


def of_cgroups(folders: Iterable[Path]) -> int | None:
    """CPU time of all that ever ran in cgroups and below; None where none that counts it holds a process.

    Time that a process used before it was put there is not in it. A cgroup counts once, also where its
    hierarchy is mounted at two places.
    """
    apart = {_inode(folder): folder for folder in folders}
    told = [used for folder in apart.values() if (used := _of_cgroup(folder)) is not None]
    return sum(told) if told else None


def _inode(folder: Path) -> tuple[int, int]:
    with contextlib.suppress(OSError):  # it may go meanwhile
        told = folder.stat()
        return told.st_dev, told.st_ino
    return 0, 0


def _of_cgroup(folder: Path) -> int | None:
    if not any(map(_held, folder.rglob("cgroup.procs"))):  # what it would count runs elsewhere
        return None
    with contextlib.suppress(OSError):  # version 1
        return int((folder / "cpuacct.usage").read_text())
    with contextlib.suppress(OSError):  # version 2; a file of that name is in version 1 as well
        for line in (folder / "cpu.stat").read_text().splitlines():
            name, _, used = line.partition(" ")
            if name == "usage_usec":
                return int(used) * 1000
    return None


def _held(procs: Path) -> bool:
    with contextlib.suppress(OSError):  # it may go meanwhile
        return bool(procs.read_text().strip())
    return False


def _of_children(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) * _TICK_NS


def _sum(used: Callable[[int], int], pids: Iterable[int]) -> int:
    found_ns = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # it may end meanwhile
            found_ns += used(pid)
    return found_ns

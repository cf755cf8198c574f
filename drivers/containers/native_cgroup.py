"""A cgroup for native programs with the limits of a pod, so that a form differs by its form alone.

A pod's cgroup has a share of the CPU that programs outside of it cannot take; a native program without one
shares its CPU with all else on the machine. Node functions. Ids: HOST-01 the kernel did not take the limits.
"""

from __future__ import annotations

import contextlib
import time

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers import bundle
from bmwg.drivers.nodes import cgroups, process
from bmwg.methodology.errors import DriverError

_UNLIMITED = {1: "-1", 2: "max"}


def make(*, name: str, cpus: str, memory_octets: int, hugepages_2mi: int = 0, cpu_limit: float = 0.0) -> str:
    """Node function: make the cgroup in every hierarchy, as a runtime does for a pod; returns its name.

    `cpu_limit` is CPU time per time on all of its CPUs together, 0: no quota. Raises DriverError HOST-01,
    with nothing left.
    """
    cgroup = f"/{name}"
    if cgroups.version() == 2:
        cgroups.hand_down()
    period = bundle.PERIOD_US
    quota = str(round(cpu_limit * period)) if cpu_limit else _UNLIMITED.get(cgroups.version(), "")
    limits = {
        1: {
            "cpuset/{}/cpuset.mems": cgroups.default_mems(),
            "cpuset/{}/cpuset.cpus": cpus,
            "cpu/{}/cpu.cfs_period_us": str(period),
            "cpu/{}/cpu.cfs_quota_us": quota,
            "memory/{}/memory.limit_in_bytes": str(memory_octets),
            "hugetlb/{}/hugetlb.2MB.limit_in_bytes": str(hugepages_2mi * bundle.HUGEPAGE_OCTETS),
        },
        2: {
            "{}/cpuset.mems": cgroups.default_mems(),
            "{}/cpuset.cpus": cpus,
            "{}/cpu.max": f"{quota} {period}",
            "{}/memory.max": str(memory_octets),
            "{}/hugetlb.2MB.max": str(hugepages_2mi * bundle.HUGEPAGE_OCTETS),
        },
    }.get(cgroups.version(), {})
    try:
        for root in cgroups.roots():
            (root / name).mkdir()
        for pattern, value in limits.items():
            file = cgroups.ROOT / pattern.format(name)
            if file.exists() or "hugetlb" not in pattern:  # which a kernel may lack, as it may for pods
                file.write_text(value)
    except OSError as error:
        remove(cgroup=cgroup)
        raise DriverError(
            "HOST-01",
            f"cgroup {cgroup} for native programs: {error.filename}",
            expected="the limits of a pod",
            found=error.strerror or str(error),
        ) from error
    return cgroup


def described(*, cgroup: str) -> dict[str, JsonValue]:
    """Node function: what the kernel enforces for what runs in it."""
    return cgroups.read_limits(cgroup)


def remove(*, cgroup: str, within_s: float = 5.0) -> bool:
    """Node function: end what runs in the cgroup and remove it; `False` when there was none. Idempotent.

    Raises DriverError HOST-01 when it stays.
    """
    end_s = time.monotonic() + within_s
    there = bool(cgroups.folders(cgroup))
    for folder in cgroups.folders(cgroup):
        with contextlib.suppress(OSError):
            (folder / "pids.max").write_text("0")  # or a member forks between its listing and its end
    while True:  # a program that was started a moment ago may join only now
        for pid in cgroups.members(cgroup):
            process.kill(pid)
            process.reap(pid, deadline_s=0.1)
        left = cgroups.remove(cgroup, deadline_s=0.1)
        if not left or time.monotonic() > end_s:
            break
    if left:
        raise DriverError("HOST-01", f"cgroup {cgroup}", expected="nothing left", found=", ".join(left))
    return there

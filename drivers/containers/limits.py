"""The limits of what runs as a process, as its cgroup has them, and what was used of them: node functions.

Both versions of cgroups. A limit that was not set is 0.
"""

from __future__ import annotations

import time
from pathlib import Path

from bmwg.drivers.containers import bundle
from bmwg.drivers.nodes import cgroups

_NO_LIMIT = 1 << 60  # version 1 tells the largest number of pages there is


def held(*, pid: int) -> dict[str, int]:
    """Node function: `quota_us` of each period of 100 ms, and `octets` of memory. Raises OSError."""
    if cgroups.version() == 2:
        quota, period = _file(pid, "", "cpu.max").split()
        octets = _file(pid, "", "memory.max")
    else:
        quota, period = (_file(pid, "cpu", f"cpu.cfs_{name}_us") for name in ("quota", "period"))
        octets = _file(pid, "memory", "memory.limit_in_bytes")
    bare = quota in ("-1", "max")
    unlimited = octets == "max" or int(octets) >= _NO_LIMIT
    return {
        "quota_us": 0 if bare else int(quota) * bundle.PERIOD_US // int(period),
        "octets": 0 if unlimited else int(octets),
    }


def used(*, pid: int) -> dict[str, int]:
    """Node function: what all in its cgroup have used until `at_ns` of the monotonic clock. Raises OSError.

    CPU time `cpu_us`; `throttled_periods` in which the quota held them back, for `throttled_us` in all;
    `octets` of memory, of which `kept_octets` are in no file that could be read again.
    """
    at_ns = time.monotonic_ns()
    if cgroups.version() == 2:
        stat, memory = (_table(pid, "", f"{name}.stat") for name in ("cpu", "memory"))
        cpu_us, throttled_us, kept = stat["usage_usec"], stat["throttled_usec"], memory["anon"]
        octets = int(_file(pid, "", "memory.current"))
    else:
        stat, memory = (_table(pid, name, f"{name}.stat") for name in ("cpu", "memory"))
        cpu_us = int(_file(pid, "cpuacct", "cpuacct.usage")) // 1000
        throttled_us, kept = stat["throttled_time"] // 1000, memory["rss"]
        octets = int(_file(pid, "memory", "memory.usage_in_bytes"))
    return {
        "at_ns": at_ns,
        "cpu_us": cpu_us,
        "throttled_periods": stat["nr_throttled"],
        "throttled_us": throttled_us,
        "octets": octets,
        "kept_octets": kept,
    }


def _table(pid: int, controller: str, name: str) -> dict[str, int]:
    lines = _file(pid, controller, name).splitlines()
    return {key: int(number) for key, number in (line.split() for line in lines)}


def _file(pid: int, controller: str, name: str) -> str:
    """Read a file of the process's cgroup in the hierarchy of that controller (empty: of version 2)."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, cgroup = line.split(":", 2)
        if controller in controllers.split(","):
            return (cgroups.ROOT / controller / cgroup.lstrip("/") / name).read_text().strip()
    raise OSError(f"process {pid}: no cgroup of controller {controller or 'any'}")

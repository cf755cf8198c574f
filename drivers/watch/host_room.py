"""What a host has left, by counters of its kernel; runs on the host."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO, _STAT = Path("/proc/meminfo"), Path("/proc/stat")
_BUSY = (0, 1, 2, 5, 6)  # user, nice, system, irq, softirq; what was stolen the host has not had


def host_room() -> dict[str, int]:
    """Return memory that is available, swap in use (octets), and CPU time used since boot (ns, all CPUs)."""
    told = dict(line.split(":", 1) for line in _MEMINFO.read_text(encoding="ascii").splitlines())
    octets = {name: int(told[name].split()[0]) * 1024 for name in ("MemAvailable", "SwapTotal", "SwapFree")}
    ticks = [int(one) for one in _STAT.read_text(encoding="ascii").splitlines()[0].split()[1:]]
    busy = sum(ticks[at] for at in _BUSY)
    return {
        "memory_available_octets": octets["MemAvailable"],
        "swap_used_octets": octets["SwapTotal"] - octets["SwapFree"],
        "cpu_used_ns": busy * 1_000_000_000 // os.sysconf("SC_CLK_TCK"),
    }

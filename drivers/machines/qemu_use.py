"""What a process of QEMU uses of its host."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import cpu_time


def use_of(pid: int) -> dict[str, JsonValue]:
    """CPU time and resident memory of a QEMU process, all its threads: fields of `instance.Sample`.

    The kernel's threads that carry its frames (vhost) are in its time. Raises OSError, KeyError when it has
    ended.
    """
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    resident, peak = (int(status[key].split()[0]) << 10 for key in ("VmRSS", "VmHWM"))
    return {
        "at_ns": time.monotonic_ns(),
        "cpu_ns": cpu_time.of_process(pid) + _vhost_ns(pid),
        "memory_octets": resident,
        "memory_peak_octets": peak,
    }


def _vhost_ns(pid: int) -> int:
    """CPU time of the kernel's threads that carry frames for a process, where they are processes themselves.

    They are before Linux 6.4, have its number in their name, and last as long as its NIC; later ones are
    threads of the process.
    """
    found_ns = 0
    for other in os.listdir("/proc"):
        if other.isdigit():
            with contextlib.suppress(OSError):
                if Path("/proc", other, "comm").read_text().strip() == f"vhost-{pid}":
                    found_ns += int(Path("/proc", other, "schedstat").read_text().split()[0])
    return found_ns

"""What stands in the way of an Open vSwitch of the run's own on a node; node functions. Nothing is made."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from bmwg.drivers.nodes import pages, process

POLLER = re.compile(r"pmd-c\d+")


def obstacle(
    *, cpus: list[int], hugepages_2mi: int, owner: str, hugepages_1gi: int = 0
) -> dict[str, str] | None:
    """Node function: return why a switch cannot be started here (fields of `Missing`), or None.

    Too few hugepages, or a switch that is none of this run's polls one of these CPUs. Nothing is made.
    """
    if lack := pages.lacking(hugepages_2mi=hugepages_2mi, hugepages_1gi=hugepages_1gi):
        return lack
    for pid, thread, cpu in _pollers():
        if cpu in cpus and pid not in process.owned_pids(owner):
            return {
                "what": f"CPU {cpu} for the vSwitch",
                "reason": f"a vSwitch of somebody else polls it (process {pid}, thread {thread})",
                "mend": "end that vSwitch, or give pmd_cpus and dut.cpus other CPUs",
            }
    return None


def _pollers() -> Iterable[tuple[int, str, int]]:
    """Yield process, thread name and CPU of each polling thread of an Open vSwitch on this machine."""
    for name in (name for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError):
            if not Path(f"/proc/{name}/comm").read_text().startswith("ovs-vswitchd"):
                continue
            for task in os.listdir(f"/proc/{name}/task"):
                thread = Path(f"/proc/{name}/task/{task}/comm").read_text().strip()
                if POLLER.match(thread):
                    for cpu in os.sched_getaffinity(int(task)):
                        yield int(name), thread, cpu

"""What processes hold to keep CPUs awake: other requests of this machine do not count."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from bmwg.drivers.watch import awake


def requests_of(pid: int) -> int:
    """How many requests to keep CPUs awake a process holds; none when it is gone."""
    found = 0
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found += os.readlink(entry) == str(awake.DEVICE)
    return found


def spinners_of(pid: int) -> list[int]:
    """The processes that an agent started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pids: list[int], within_s: float = 10.0) -> bool:
    """Whether processes end, each, in a time; one that nobody waits for has ended."""
    end_s = time.monotonic() + within_s
    while time.monotonic() < end_s:
        states = []
        for pid in pids:
            with contextlib.suppress(OSError):
                states.append(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0])
        if set(states) <= {"Z"}:
            return True
        time.sleep(0.02)
    return False

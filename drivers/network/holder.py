"""Whose network namespace a path under /proc names: a process id may be used again, its start time is not."""

from __future__ import annotations

import re
from pathlib import Path

from bmwg.drivers.nodes import process

_OF_PROCESS = re.compile(r"/proc/(\d+)/ns/net")


def start_ticks(netns: str) -> int:
    """Start time (ticks since boot) of the process whose namespace a path names; 0 for any other path."""
    match = _OF_PROCESS.fullmatch(netns)
    return process.start_ticks(int(match[1])) if match else 0


def stands(netns: str, began_ticks: int) -> bool:
    """Whether a namespace is there and, where `began_ticks` is known (not 0), of the process it was of."""
    return Path(netns).exists() and (began_ticks == 0 or start_ticks(netns) == began_ticks)

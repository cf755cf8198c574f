"""Waiting in tests for what another process or the kernel does in its own time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

FoundT = TypeVar("FoundT")


def eventually(condition: Callable[[], FoundT], within_s: float = 10.0) -> FoundT:
    """Ask again until something holds or the time is over, and return what was said last."""
    end_s = time.monotonic() + within_s
    while not (found := condition()) and time.monotonic() < end_s:
        time.sleep(0.02)
    return found

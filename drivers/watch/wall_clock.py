"""How far the wall clock is ahead of the monotonic one: for stamps of others by the wall clock."""

from __future__ import annotations

import time

_READS = 9  # choice: a CPU may be taken away between two reads, hardly each time


def ahead_ns() -> int:
    """Return the difference, of several reads the one whose two monotonic times lie closest together."""
    best = None
    for _ in range(_READS):
        before_ns = time.monotonic_ns()
        wall_ns = time.time_ns()
        after_ns = time.monotonic_ns()
        if best is None or after_ns - before_ns < best[0]:
            best = (after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2)
    assert best is not None
    return best[1]

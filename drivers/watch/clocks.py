"""The monotonic clock of another machine against this one's: how far it is off, and how sure that is.

No time of one clock is compared with a time of another without such a bound. A probe asks the far clock
between two looks at the near one, so its answer lies between them: the offset is known to half the time that
the question took. Of several probes the quickest one bounds best.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from bmwg.drivers.api.calls import Calls
from bmwg.drivers.nodes import probe

_PROBES = 9  # choice: the quickest of them is seldom held up


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockBound:
    """What to add to a time of the far clock, ns, for the near one's; it is off by `bound_ns` at most."""

    offset_ns: int
    bound_ns: int


def between(near: Calls, far: Calls) -> ClockBound:
    """Bound the clock of one machine by that of another, both asked from here; raises as `bound` does.

    Neither is asked by the other, so what is not known of each adds up.
    """
    mine, its = bound(near), bound(far)
    return ClockBound(offset_ns=its.offset_ns - mine.offset_ns, bound_ns=its.bound_ns + mine.bound_ns)


def bound(far: Calls) -> ClockBound:
    """Ask a far clock several times; raises what a call there raises."""
    found = []
    for _ in range(_PROBES):
        before_ns = time.monotonic_ns()
        there_ns = far.call(probe.monotonic_ns)
        after_ns = time.monotonic_ns()
        half_ns = (after_ns - before_ns + 1) // 2
        found.append(ClockBound(offset_ns=before_ns + half_ns - there_ns, bound_ns=half_ns))
    return min(found, key=lambda one: one.bound_ns)

"""Whether a guest's clock runs at its host's rate: whatever is measured inside is by that clock.

A guest whose instructions are translated may miss ticks of its timer. No two clocks are compared: a reading
of the guest's lies between two of the host's, and only what these bounds exclude is wrong.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from bmwg.drivers.api import Node

MAX_ERROR = 0.001  # choice: the share by which a rate may be off
_DEADLINE_S = 120.0  # a guest under load answers late


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The guest's clock (ns) with its source's name, between two readings of the host's (s)."""

    source: str
    inside_ns: int
    before_s: float
    after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """What the guest's clock counted between two readings (s), and what it could have."""

    source: str
    counted_s: float
    shortest_s: float
    longest_s: float


def read(node: Node) -> Reading:
    """Read the guest's clock between two readings of the host's."""
    before_s = time.monotonic()
    found = node.call("bmwg.drivers.hosting.probe:clock", deadline_s=_DEADLINE_S)
    return Reading(
        source=str(found["source"]),
        inside_ns=int(found["monotonic_ns"]),
        before_s=before_s,
        after_s=time.monotonic(),
    )


def wrong(began: Reading, ended: Reading) -> Wrong | None:
    """Return by what the guest's clock was surely off between two readings; None when it may be right."""
    counted_s = (ended.inside_ns - began.inside_ns) / 1e9
    shortest_s, longest_s = ended.before_s - began.after_s, ended.after_s - began.before_s
    if shortest_s * (1 - MAX_ERROR) <= counted_s <= longest_s * (1 + MAX_ERROR):
        return None
    return Wrong(source=ended.source, counted_s=counted_s, shortest_s=shortest_s, longest_s=longest_s)

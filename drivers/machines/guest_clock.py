"""Whether a guest's clock runs at its host's rate: whatever is measured inside is by that clock.

A guest whose instructions are translated may miss ticks of its timer. No two clocks are compared: a reading
of the guest's lies between two of the host's, and only what these bounds exclude is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bmwg.drivers.api.protocols import NestedNode, Node
from bmwg.drivers.nodes import probe

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


@contextmanager
def held(nodes: Sequence[Node]) -> Iterator[list[str]]:
    """Hold the clocks of those nodes that are guests against their hosts' while this is entered.

    The list that it gives says on leaving, in a sentence for each, which of them were surely wrong.
    """
    guests = [node for node in nodes if isinstance(node, NestedNode)]
    began = [read(guest) for guest in guests]
    off: list[str] = []
    yield off
    for guest, first in zip(guests, began, strict=True):
        if found := wrong(first, read(guest)):
            bounds = f"{found.shortest_s:.3f} to {found.longest_s:.3f} s"
            counted = f"counted {found.counted_s:.3f} s, its host {bounds}"
            off.append(f"the clock of {guest.name} ({found.source}) {counted}")


def read(node: Node) -> Reading:
    """Read the guest's clock between two readings of the host's."""
    before_s = time.monotonic()
    found = node.call_within(_DEADLINE_S, probe.clock)
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

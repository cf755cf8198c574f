"""What the client of transactions counts: of its connections, and of time by intervals; no own clock."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from bmwg.drivers.workload.transaction_load import INTERVAL_NS, Load

_SHARES = (50, 90, 99)
_MOST_TOLD = 40  # choice: different failures that are told by name


@dataclass(slots=True, kw_only=True)
class Counts:
    """What is counted of the connections of the sustain phase."""

    opened: int = 0
    tried: int = 0
    resets: int = 0
    body_octets: int = 0
    resumed: int = 0
    unsent: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    negotiated: Counter[str] = field(default_factory=Counter)
    why_unsent: Counter[str] = field(default_factory=Counter)
    first_ns: list[int] = field(default_factory=list)
    last_ns: list[int] = field(default_factory=list)

    def unsent_for(self, why: str) -> None:
        """Count a connection that was not offered as asked."""
        self.unsent += 1
        self.why_unsent[why] += 1

    def failed_by(self, why: str) -> None:
        """Count a transaction that failed."""
        self.failures[why if why in self.failures or len(self.failures) < _MOST_TOLD else "other"] += 1

    def told(self, load: Load, due: int, phase: Phase) -> dict[str, Any]:
        """Return the fields of a sustain phase."""
        return {
            "interval_ns": INTERVAL_NS,
            "requests_per_connection": 1 if load.held else load.per_connection,
            "due_connections": due,
            "opened": self.opened,
            "tried": self.tried,
            "failures": dict(self.failures),
            "resets": self.resets,
            "body_octets": self.body_octets,
            "completed": list(phase.completed),
            "open_ns": list(phase.open_ns),
            "least_open": phase.least_open or 0,
            "first_octet_ns": spread(self.first_ns),
            "last_octet_ns": spread(self.last_ns),
            "negotiated": dict(self.negotiated),
            "resumed": self.resumed,
            "held_connections": load.held,
        }


class Phase:
    """The sustain phase by intervals, from one time of the monotonic clock to another."""

    def __init__(self, from_ns: int, to_ns: int) -> None:
        self.from_ns = from_ns
        self.to_ns = to_ns
        intervals = (to_ns - from_ns) // INTERVAL_NS
        self.completed = [0] * intervals
        self.open_ns = [0] * intervals
        self.least_open: int | None = None
        self._open = 0
        self._looked_ns = 0

    def moved(self, from_ns: int, to_ns: int) -> Phase:
        """Return a phase at another time with what is open; nothing of this one counts."""
        made = Phase(from_ns, to_ns)
        made._open, made._looked_ns = self._open, from_ns
        return made

    def complete(self, now_ns: int) -> None:
        """Count a right answer."""
        if self.from_ns <= now_ns < self.to_ns:
            self.completed[(now_ns - self.from_ns) // INTERVAL_NS] += 1

    def open(self, now_ns: int, more: int) -> None:
        """Count a connection that opened (1) or closed (-1)."""
        self.advance(now_ns)
        self._open += more

    def advance(self, now_ns: int) -> None:
        """Count the time that connections were open since the last look, by intervals."""
        at_ns, end_ns = max(self._looked_ns, self.from_ns), min(now_ns, self.to_ns)
        if end_ns > at_ns:
            least = self.least_open
            self.least_open = self._open if least is None else min(least, self._open)
        while at_ns < end_ns:
            interval = (at_ns - self.from_ns) // INTERVAL_NS
            until_ns = min(end_ns, self.from_ns + (interval + 1) * INTERVAL_NS)
            self.open_ns[interval] += self._open * (until_ns - at_ns)
            at_ns = until_ns
        self._looked_ns = now_ns


def read_head(head: bytes) -> tuple[str, int]:
    """Read status and length of an answer; returns what is wrong with it, and the length."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        return "no answer of HTTP", 0
    if words[1] != b"200":
        return f"status {words[1].decode()}", 0
    for line in lines[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and value.strip().isdigit():
            return "", int(value)
    return "an answer without a length", 0


def spread(values: list[int]) -> dict[str, int]:
    """Return least, mean, most and percentiles; nothing of none."""
    if not values:
        return {}
    values.sort()
    shares = {f"p{share}": values[-(-share * len(values) // 100) - 1] for share in _SHARES}
    return {"min": values[0], "mean": sum(values) // len(values), "max": values[-1], **shares}

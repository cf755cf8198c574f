"""What the sustain phase of a trial of transactions was, as counts (RFC 9411 4.3.4 and 6.3). Pure.

Connections that were due in the phase are its own, with all their transactions, whenever these ended. Held
ones open and ask from the beginning of the ramp up on: what they tried and what failed is of all that time,
answers and their times are those of the phase. What is told by intervals is what happened in them, whoever's
it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sustained:
    """One sustain phase of `interval_ns` times the number of `completed`.

    `due_connections` were due in it, of which the client opened `opened` and tried `tried` transactions
    there; `failures` are those that failed, by what became of them. `resets` of them ended by an RST
    that the client did not ask for. `completed` are right answers by interval, `open_ns` the time that
    connections were open in it, all of them together, and `least_open` the fewest at any time of the phase.
    `first_octet_ns` and `last_octet_ns` (min, mean, max, percentiles) run from the SYN for the first
    transaction of a connection, from the request for others. `negotiated` counts connections by TLS version,
    cipher and group; `resumed` of them reused a session. `held_connections` were to be held (0: a rate was
    asked for). `client_ns` is the CPU time of the client's busiest thread in the phase. `objects` are the
    sizes that were asked for, each with its right answers.
    """

    interval_ns: int
    requests_per_connection: int
    due_connections: int
    opened: int
    tried: int
    failures: Mapping[str, int] = field(default_factory=dict)
    resets: int = 0
    body_octets: int = 0
    completed: tuple[int, ...] = ()
    open_ns: tuple[int, ...] = ()
    least_open: int = 0
    first_octet_ns: Mapping[str, int] = field(default_factory=dict)
    last_octet_ns: Mapping[str, int] = field(default_factory=dict)
    negotiated: Mapping[str, int] = field(default_factory=dict)
    resumed: int = 0
    held_connections: int = 0
    client_ns: int = 0
    objects: tuple[tuple[int, int], ...] = ()

    @property
    def failed(self) -> int:
        """Transactions that failed."""
        return sum(self.failures.values())

    @property
    def length_s(self) -> float:
        """How long the phase was."""
        return self.interval_ns * len(self.completed) / 1e9

    @property
    def client_share(self) -> float:
        """The part of the phase for which the client's busiest thread had a CPU, 0..1."""
        return self.client_ns / (self.interval_ns * max(1, len(self.completed)))

    @property
    def open_mean(self) -> float:
        """Connections that were open, on average."""
        return sum(self.open_ns) / (self.interval_ns * len(self.open_ns)) if self.open_ns else 0.0

    @property
    def opened_per_s(self) -> float | None:
        """Connections that were opened in a second of the phase; None of held ones, which open before it."""
        return None if self.held_connections else self.opened / self.length_s

    @property
    def body_bps(self) -> float:
        """Bodies in a second of the phase, bit/s."""
        return self.body_octets * 8 / self.length_s

    @property
    def transactions_per_s(self) -> float:
        """Right answers in a second of the phase."""
        return sum(self.completed) / self.length_s if self.completed else 0.0

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds of it."""
        told = asdict(self)
        lists = {"completed": list(self.completed), "open_ns": list(self.open_ns)}
        return {**told, **lists, "objects": [list(one) for one in self.objects]}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> Sustained:
        """Read what `as_builtins` gave."""
        lists = {"completed": tuple(data["completed"]), "open_ns": tuple(data["open_ns"])}
        return cls(
            **{**data, **lists, "objects": tuple((octets, right) for octets, right in data["objects"])}
        )

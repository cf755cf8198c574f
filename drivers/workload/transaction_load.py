"""A load of transactions as its client offers it: which connection opens when. Pure.

Ids: TRANS-01 a load that makes no phase.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from bmwg.drivers.workload.tls_client import Trust
from bmwg.methodology.errors import ConfigError

INTERVAL_NS = 1_000_000_000  # rfc9411-4.3.4: below 2 s
LATE_NS = 100_000_000  # choice: a connection that is later than that by the client's fault is not opened
HELD_TRANSACTIONS = 10  # rfc9411-7.5.3.2: GET requests of a connection that is held


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is offered: transactions per second, or `held` connections, in phases.

    `rate` opens `rate / per_connection` connections a second in the sustain phase, and rises to that over
    `ramp_s`. `held` connections open over `ramp_s` and each asks ten times until the phase ends.
    """

    address: str
    port: int
    target: str  # of the request line
    host: str
    octets: int
    ramp_s: float
    sustain_s: float
    timeout_s: float
    rate: int = 0
    per_connection: int = 1
    held: int = 0
    late_ns: int = LATE_NS
    trust: Trust | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no phase."""
        wrong = self.sustain_s * 1e9 < INTERVAL_NS or bool(self.rate) == bool(self.held) or self.ramp_s < 0
        if wrong or (self.held and not self.ramp_s):
            raise ConfigError(
                "TRANS-01",
                "a load of transactions",
                expected="a rate or held connections, a sustain phase of 1 s at least, a ramp to hold",
                found=f"rate {self.rate}, held {self.held}, ramp {self.ramp_s} s, sustain {self.sustain_s} s",
            )

    @property
    def sustain_ns(self) -> int:
        """The sustain phase, in whole intervals."""
        return int(self.sustain_s * 1e9) // INTERVAL_NS * INTERVAL_NS

    @property
    def ramp_ns(self) -> int:
        """The ramp up, which the init phase is before and the ramp down as long after."""
        return round(self.ramp_s * 1e9)

    @property
    def connections(self) -> int:
        """All connections of ramp up and sustain phase."""
        if self.held:
            return self.held
        by_second = self.rate / self.per_connection
        return max(1, round(by_second * (self.ramp_s / 2 + self.sustain_ns / 1e9)))

    def due_ns(self, number: int) -> int:
        """When connection `number` (0, 1, ...) is to open, after the begin of the ramp."""
        if self.held:  # choice: in the last quarter of the ramp all of them stand, and no more are opened
            return self.ramp_ns * 3 // 4 * number // self.held
        by_second = self.rate / self.per_connection
        of_ramp = by_second * self.ramp_s / 2
        if number < of_ramp:
            return round(math.sqrt(2 * number * self.ramp_s / by_second) * 1e9)
        return self.ramp_ns + round((number - of_ramp) / by_second * 1e9)

    @property
    def pause_ns(self) -> int:
        """Between two requests of a held connection (rfc9411-7.5.3.2)."""
        return (self.ramp_ns + self.sustain_ns) // HELD_TRANSACTIONS

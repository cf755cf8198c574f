"""A load of transactions as its client is told of it; which connection opens when is the client's own. Pure.

Ids: TRANS-01 a load that makes no phase.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bmwg.drivers.workload.tls_client import Trust
from bmwg.methodology.errors import ConfigError

INTERVAL_NS = 1_000_000_000  # rfc9411-4.3.4: below 2 s
MOST_OBJECTS = 64  # as `src/transactions/load.h` has it
LATE_NS = 100_000_000  # choice: a connection that is later than that by the client's fault is not opened
HELD_TRANSACTIONS = 10  # rfc9411-7.5.3.2: GET requests of a connection that is held


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is offered: transactions per second, or `held` connections, in phases.

    `rate` opens `rate / per_connection` connections a second in the sustain phase, and rises to that over
    `ramp_s`. `held` connections open over `ramp_s` and each asks ten times until the phase ends. All of
    them are dealt out to `threads`.
    """

    address: str
    port: int
    objects: Sequence[Sequence[Any]]  # octets, and the target of the request line; asked for by turns
    turns: Sequence[Sequence[int]] = ()  # first object, count, 1 with TLS: of each connection, by turns
    plain_port: int = 0  # of connections without TLS among others
    host: str
    ramp_s: float
    sustain_s: float
    timeout_s: float
    rate: int = 0
    per_connection: int = 1
    held: int = 0
    threads: int = 1
    late_ns: int = LATE_NS
    http2: bool = False  # of connections with TLS
    trust: Trust | None = None

    def __post_init__(self) -> None:
        """Refuse what makes no phase."""
        wrong = self.sustain_s * 1e9 < INTERVAL_NS or bool(self.rate) == bool(self.held) or self.ramp_s < 0
        wrong |= not 1 <= len(self.objects) <= MOST_OBJECTS
        if wrong or self.threads < 1 or (self.held and not self.ramp_s):
            raise ConfigError(
                "TRANS-01",
                "a load of transactions",
                expected="a rate or held connections, a sustain phase of 1 s at least, a ramp to hold,"
                f" 1 to {MOST_OBJECTS} objects",
                found=f"rate {self.rate}, held {self.held}, ramp {self.ramp_s} s, sustain {self.sustain_s} s,"
                f" {len(self.objects)} objects",
            )

    @property
    def sustain_ns(self) -> int:
        """The sustain phase, in whole intervals."""
        return int(self.sustain_s * 1e9) // INTERVAL_NS * INTERVAL_NS

    def words(self) -> list[str]:
        """The words of the command line, as `src/transactions/load.c` reads them."""
        ramp_ns = round(self.ramp_s * 1e9)
        told = {
            "address": self.address,
            "port": self.port,
            "plain_port": self.plain_port,
            "host": self.host,
            "ramp_ns": ramp_ns,
            "sustain_ns": self.sustain_ns,
            "interval_ns": INTERVAL_NS,
            "timeout_ns": round(self.timeout_s * 1e9),
            "late_ns": self.late_ns,
            "rate": self.rate,
            "per_connection": self.per_connection,
            "threads": self.threads,
            "http2": int(self.http2),
            "held": self.held,
            "held_transactions": HELD_TRANSACTIONS,
            "pause_ns": (ramp_ns + self.sustain_ns) // HELD_TRANSACTIONS,  # rfc9411-7.5.3.2
        }
        if self.trust:
            told |= {
                key: value for key, value in self.trust.as_builtins().items() if value and key != "authority"
            }
        objects = [f"object={octets} {target}" for octets, target in self.objects]
        turns = [f"turn={' '.join(map(str, turn))}" for turn in self.turns]
        return [*(f"{key}={value}" for key, value in told.items()), *objects, *turns]

"""From what TRex counts of its own TCP to what was asked, sent and answered over HTTP.

A counter that is missing, NaN, negative or no whole number is a contradiction, as are counts that cannot be
of one load; the repetition then carries a `fault`. TRex's client does not look at a status: that answers are
right is seen from their number and from the octets, which are those of so many right answers or are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bmwg.drivers.traffic.trex.astf_load import HttpLoad
from bmwg.drivers.traffic.trex.counts import ContradictionError, whole

_PLAIN = frozenset(  # what every connection moves; any other counter above zero is told by its name
    f"tcps_{name}"
    for names in (
        "connattempt accepts connects closed segstimed rttupdated delack sndtotal sndpack sndbyte sndbyte_ok",
        "sndctrl sndacks sndwinup rcvtotal rcvpack rcvbyte rcvackpack rcvackbyte rcvackbyte_of rcvoffloads",
        "preddat predack",
    )
    for name in names.split()
)
_FAMILIES = ("tcps_", "udps_", "err_", "rss_")
OWN_LIMITS = (  # TRex itself could not: memory, addresses, its own throttle
    "tcps_nombuf",
    "err_no_memory",
    "err_dct",
    "err_c_nf_throttled",
    "err_c_tuple_err",
    "err_s_nf_throttled",
    "err_flow_overflow",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCounts:
    """What TRex counted on one side. Octets are TCP payload; `errors` every counter that ought to be zero."""

    begun: int  # SYN sent (clients)
    accepted: int  # SYN answered (servers)
    established: int
    closed: int
    sent_octets: int
    acknowledged_octets: int
    received_octets: int
    received_segments: int
    complete: int  # answers (clients; 0 on servers)
    late: int
    answer_ticks: int  # sum over answers, until the last octet
    first_octet_ticks: int
    errors: Mapping[str, int] = field(default_factory=dict)

    @property
    def strangers(self) -> int:
        """Segments that came and belong to no connection of TRex."""
        return sum(count for name, count in self.errors.items() if name.startswith("err_"))

    @property
    def still(self) -> tuple[int, ...]:
        """The counts that must stand still before they are believed."""
        return (
            self.begun,
            self.accepted,
            self.established,
            self.closed,
            self.sent_octets,
            self.acknowledged_octets,
            self.received_octets,
            self.received_segments,
            self.complete,
            self.late,
            self.answer_ticks,
            self.first_octet_ticks,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReading:
    """Both sides at one moment; the servers' counts are zero where a real server answers."""

    clients: SideCounts
    servers: SideCounts

    @property
    def still(self) -> tuple[int, ...]:
        """The counts that must stand still on both sides."""
        return self.clients.still + self.servers.still


def read(stats: Any) -> HttpReading:
    """One reading of `get_traffic_stats`; ContradictionError for what cannot be a count."""
    if not isinstance(stats, Mapping):
        raise ContradictionError(f"TRex's counters are {type(stats).__name__}, no table")
    return HttpReading(clients=_side(stats, "client"), servers=_side(stats, "server"))


def _side(stats: Mapping[str, Any], side: str) -> SideCounts:
    def tcp(name: str) -> int:
        return whole(stats, side, f"tcps_{name}")

    table = stats.get(side)
    names = sorted(map(str, table)) if isinstance(table, Mapping) else []
    doubtful = [name for name in names if name.startswith(_FAMILIES) and name not in _PLAIN]
    errors = {name: count for name in doubtful if (count := whole(stats, side, name))}
    return SideCounts(
        begun=tcp("connattempt"),
        accepted=tcp("accepts"),
        established=tcp("connects"),
        closed=tcp("closed"),
        sent_octets=tcp("sndbyte"),
        acknowledged_octets=tcp("rcvackbyte"),
        received_octets=tcp("rcvbyte"),
        received_segments=tcp("rcvtotal"),
        complete=whole(stats, side, "user_counter_A"),
        late=whole(stats, side, "user_counter_B"),
        answer_ticks=whole(stats, side, "user_counter_C"),
        first_octet_ticks=whole(stats, side, "user_counter_D"),
        errors=errors,
    )


def backwards(before: HttpReading, after: HttpReading) -> str:
    """Say that a counter went back; empty when none did."""
    if any(later < earlier for earlier, later in zip(before.still, after.still, strict=True)):
        return f"counters of TRex went back: {before.still}, then {after.still}"
    return ""


def contradictions(load: HttpLoad, found: HttpReading, *, own_servers: bool) -> str:
    """Say which counts cannot be of one load; empty when they agree.

    `own_servers`: TRex answered its own requests, so both sides must tell the same of a load without loss.
    """
    clients, servers = found.clients, found.servers
    bounds = (
        ("connections begun", clients.begun, load.connections),
        ("connections established", clients.established, clients.begun),
        ("connections closed", clients.closed, clients.begun),
        ("answers", clients.complete, clients.established * load.requests_per_connection),
        ("late answers", clients.late, clients.complete),
        ("connections accepted", servers.accepted, clients.begun if own_servers else 0),
    )
    for what, count, most in bounds:
        if count > most:
            return f"{what}: {count}, of {most} at most"
    if own_servers and clients.complete == load.requests and not (clients.errors or servers.errors):
        pairs = (
            ("connections accepted", servers.accepted, clients.established),
            (
                "octets received by the servers",
                servers.received_octets,
                load.connections * load.request_octets,
            ),
            ("octets sent by the servers", servers.sent_octets, load.connections * load.response_octets),
            ("octets received by the clients", clients.received_octets, servers.sent_octets),
        )
        for what, count, expected in pairs:
            if count != expected:
                return f"{what}: {count}, of {expected} that the other counts say"
    return ""


def wrong_answers(load: HttpLoad, clients: SideCounts) -> int:
    """How many answers are at least not right, by their octets; 0 when the octets can be right ones.

    Unfinished answers may have brought any part of theirs. A status is not looked at: a page that tells an
    error is found by its length.
    """
    unfinished = clients.established * load.requests_per_connection - clients.complete
    if unfinished == 0:
        return 0 if clients.received_octets == clients.established * load.response_octets else 1
    sizes = [exchange.response_octets for exchange in load.exchanges]
    least = clients.complete * min(sizes)
    most = clients.complete * max(sizes) + unfinished * (max(sizes) - 1)
    return 0 if least <= clients.received_octets <= most else 1

"""Clients with a load generator of their own each: whether all began together, and what they add up to. Pure.

Each stands in a pod of its own and waits at a gate; the gate lets all of them go at one instant, once the
last one stands. Times of a client run from that instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

MOST_CLIENTS = 200  # choice: each has an address of one network of 254
LATEST_SHARE = 0.05  # choice: of the time until the first client ends; before, not all ask together
EXACT_NS = 5_000_000  # choice: clients tell whole milliseconds, by clocks that follow the machine's


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRan:
    """What one client did, by its number. None of it is another one's.

    `began_ns` and `ended_ns` are the start of its first request and the end of its last one, from the instant
    at which all were let go (None: it sent none). `busy_ns` is the time of its requests together.
    """

    number: int
    requests: int = 0
    failed: int = 0
    non_2xx: int = 0
    body_octets: int = 0
    busy_ns: int = 0
    warm_up_requests: int = 0
    began_ns: int | None = None
    ended_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnClients:
    """All clients of one repetition.

    `stood_ns` is how long it took from the start of the first program until the last one waited at the gate
    (0: not all came), `memory_octets` what all programs held then, what they share counted once.
    """

    each: tuple[ClientRan, ...]
    stood_ns: int = 0
    memory_octets: int = 0

    @property
    def last_began_ns(self) -> int:
        """How long after the instant the last client began."""
        return max((one.began_ns for one in self.each if one.began_ns is not None), default=0)

    @property
    def first_ended_ns(self) -> int:
        """How long after the instant the first client ended: until then all of them ask."""
        return min((one.ended_ns for one in self.each if one.ended_ns is not None), default=0)

    def as_builtins(self) -> dict[str, Any]:
        """Return what the journal holds of it."""
        return {**asdict(self), "each": [asdict(one) for one in self.each]}

    @classmethod
    def from_builtins(cls, data: Mapping[str, Any]) -> OwnClients:
        """Read what `as_builtins` gave."""
        return cls(**{**data, "each": tuple(ClientRan(**one) for one in data["each"])})


def shortcomings(found: OwnClients | None, *, clients: int, requests: int) -> Iterator[str]:
    """Say which of `clients` did not begin with the others, or not send its share of `requests`.

    Nothing where all of them did.
    """
    if found is None:
        yield "no client of its own was recorded"
        return
    if [one.number for one in found.each] != list(range(1, clients + 1)):
        yield f"{len(found.each)} of {clients} clients were recorded"
    latest_ns = max(EXACT_NS, LATEST_SHARE * found.first_ended_ns)
    due = requests // clients
    for one in found.each:
        name = f"client {one.number} of {clients}"
        if one.began_ns is None:
            yield f"{name} did not begin"
            continue
        if one.began_ns < -EXACT_NS:
            yield f"{name} began {-one.began_ns / 1e6:.0f} ms before all were let go"
        if one.began_ns > latest_ns:
            first = f"the first one ended after {found.first_ended_ns / 1e6:.0f} ms"
            yield f"{name} began {one.began_ns / 1e6:.0f} ms after all were let go; {first}"
        if one.requests != due:
            yield f"{name} completed {one.requests} of {due} requests"


def wrong_numbers(*, clients: int, proxies: int, requests: int, warm_up_requests: int) -> str:
    """Say why clients with a generator of their own cannot share these equally; empty where they can."""
    if clients > MOST_CLIENTS:
        return f"at most {MOST_CLIENTS} clients in pods of their own"
    shared = {"proxies": clients % proxies, "requests": requests % clients}
    shared["warm_up_requests"] = warm_up_requests % clients
    left = [name for name, rest in shared.items() if rest]
    return f"{' and '.join(left)} that {clients} clients share equally" if left else ""


def means_ns(found: Sequence[OwnClients]) -> tuple[float, float] | None:
    """Return the least and the largest mean time of a request that a client had; None where none had one."""
    means = [one.busy_ns / one.requests for each in found for one in each.each if one.requests]
    return (min(means), max(means)) if means else None

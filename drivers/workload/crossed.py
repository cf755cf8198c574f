"""The functions that requests cross on their way to the origin: a kernel with a table of nftables.

Found by their names among `bmwg.drivers.proxy`, as those that answer in place of the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from bmwg.drivers.api.instance import Crossing, Program
from bmwg.drivers.function import request_rules
from bmwg.drivers.workload.row_addresses import RowAddresses
from bmwg.methodology.kinds.requests import ip
from bmwg.methodology.kinds.requests.profile import DIRECT

_EITHER = frozenset({ip.V4, ip.V6})
FIRST_PORT, LAST_PORT = 1024, 65535  # choice: all that a client may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What is done where requests cross: a node function with its arguments, and what it is in words.

    `undo` takes it back, where it does not go with what it was done for.
    """

    run: Callable[..., dict[str, Any]]
    arguments: Mapping[str, Any]
    words: str
    undo: Callable[..., None] | None = None
    undo_arguments: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class CrossedFunction(Protocol):
    """One kind of function that forwards, as data. The class is made without arguments.

    `ips` names the versions of IP between which it stands (`methodology.kinds.requests.ip`).
    """

    name: ClassVar[str]
    ips: ClassVar[frozenset[str]]

    def table(self, place: Crossing, origin: str, ports: list[int]) -> Step:
        """Return its table in a place, for connections to these ports of the origin."""

    def asked_for(self, origin: str) -> str:
        """Return the address by which clients ask for the origin."""

    def networks(self, addresses: RowAddresses) -> tuple[str, str]:
        """Return what clients, and what the origin, route through the place."""


@runtime_checkable
class CarriedByProgram(Protocol):
    """A function that forwards by a program in its place. `executable` is it in PATH, `mend` installs it."""

    mend: ClassVar[str]
    executable: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]

    def program(self, place: Crossing) -> Program:
        """Return it as it is started, before the table is loaded."""

    def carries(self, place: Crossing) -> Step:
        """Return what has packets reach it, once it was started."""

    def counts(self, folder: str) -> Step | None:
        """Return what reads its own counters, since its start, in its folder; None of one without."""


class OfOneVersion:
    """What functions have in common that leave the version of IP and the origin's address as they are."""

    def asked_for(self, origin: str) -> str:
        """Return the origin's own address."""
        return origin

    def networks(self, addresses: RowAddresses) -> tuple[str, str]:
        """Return the origin's network and that of the clients."""
        return addresses.servers.network, addresses.clients.network


class _Firewall(OfOneVersion):
    """A firewall with state: a new connection is held against so many rules; the last lets it through."""

    name: ClassVar[str]
    ips: ClassVar[frozenset[str]] = _EITHER
    rules: ClassVar[int]

    def table(self, place: Crossing, origin: str, ports: list[int]) -> Step:
        """Return its rules."""
        return Step(
            run=request_rules.load_firewall,
            arguments={"rules": self.rules, "origin": origin, "ports": ports, "sides": list(place.sides)},
            words=f"{self.rules} rules, of which the last lets a new connection through; state is kept",
        )


class Firewall10(_Firewall):
    """Ten rules."""

    name = "firewall-10"
    rules = 10


class Firewall1000(_Firewall):
    """A thousand rules."""

    name = "firewall-1000"
    rules = 1_000


class Firewall100000(_Firewall):
    """A hundred thousand rules."""

    name = "firewall-100000"
    rules = 100_000


class RequestsNat44(OfOneVersion):
    """A NAT44: each connection gets the outer address of its place and a port that is drawn."""

    name: ClassVar[str] = "nat44"
    ips: ClassVar[frozenset[str]] = frozenset({ip.V4})

    def table(self, place: Crossing, origin: str, ports: list[int]) -> Step:
        """Return its rules."""
        return Step(
            run=request_rules.load_nat44,
            arguments={
                "address": place.addresses[1],
                "origin": origin,
                "ports": ports,
                "drawn": [FIRST_PORT, LAST_PORT],
                "sides": list(place.sides),
            },
            words=f"sources translated to {place.addresses[1]}, ports {FIRST_PORT}-{LAST_PORT}",
        )


class Direct(OfOneVersion):
    """No function: clients and origin alone, with a kernel that routes and counts between them."""

    name: ClassVar[str] = DIRECT
    ips: ClassVar[frozenset[str]] = _EITHER

    def table(self, place: Crossing, origin: str, ports: list[int]) -> Step:
        """Return counters alone."""
        return Step(
            run=request_rules.load_counted,
            arguments={"origin": origin, "sides": list(place.sides)},
            words="no function: the kernel routes; no rule, no state",
        )


_: tuple[type[CrossedFunction], ...] = (Firewall10, Firewall1000, Firewall100000, RequestsNat44, Direct)

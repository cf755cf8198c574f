"""Routes for the networks behind the tester's ports, where a path routes (RFC 2544 12).

They are set, read back and removed. Each of 256 networks has a route of its own in each router that frames
pass; no route here covers two of them.
Ids: PATH-07 routes do not stand as they were set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.drivers.paths.addresses import BEHIND, consecutive
from bmwg.drivers.ports import routing
from bmwg.methodology.errors import TestbedError
from bmwg.methodology.records import Cell
from bmwg.methodology.trial.trial_limits import FLOWS_OF_ONE_PORT

_MAIN = 254  # the kernel's main table
_VERSIONS = (0, 1)  # IPv4 and IPv6
Call = Callable[..., JsonValue]  # of a node, or of what is inside a pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One router's way to the networks behind a side: next hops of both IP versions, and interface.

    `numbers` are those of the networks that it is for; None: all of them.
    """

    side: int
    via: Sequence[str]
    interface: str
    table: int = _MAIN
    on_link: bool = False
    numbers: tuple[int, ...] | None = None


def unroutable(cell: Cell, why: str) -> Missing | None:
    """Return that no router on the path could look at 256 networks, where the cell asks for them."""
    if cell.destination_networks == 1:
        return None
    return Missing(
        what=f"{cell.destination_networks} destination networks on path {cell.path}",
        reason=f"{why}; random MAC addresses (RFC 2544 12, for bridges) are not built",
        mend="path node, or pvp with function kernel-l3",
    )


def other_ports(cell: Cell, why: str) -> Missing | None:
    """Return that what is on the path knows test frames by one destination port, where flows go to more."""
    if cell.flows <= FLOWS_OF_ONE_PORT:
        return None
    return Missing(
        what=f"{cell.flows} flows on path {cell.path}, function {cell.function}",
        reason=f"flows beyond {FLOWS_OF_ONE_PORT} go to other destination ports; {why}",
        mend=f"at most {FLOWS_OF_ONE_PORT} flows",
    )


def set_routes(call: Call, at: str, hops: Sequence[Hop], networks: int) -> list[JsonValue]:
    """Set the routes of each hop at one place and read them back; return the evidence.

    `call` runs a node function there, `at` names it. Nothing is done for one network: the connected routes
    lead there. The routes in a pod go with its network namespace. Raises TestbedError PATH-07.
    """
    ways = _ways(hops, networks)
    if not ways:
        return []
    standing = call(routing.set_networks, ways=ways)
    evidence: list[JsonValue] = []
    for way, found in zip(ways, standing, strict=True):
        names = way["networks"]
        if found != len(names):
            raise TestbedError(
                "PATH-07",
                f"{at}: routes to the networks {names[0]} to {names[-1]}",
                expected=f"{len(names)} by {way['via']} on {way['interface']}",
                found=str(found),
            )
        said = {key: way[key] for key in ("via", "interface", "table")}
        evidence.append({"at": at, "first": names[0], "last": names[-1], "standing": found, **said})
    return evidence


@contextmanager
def routed(call: Call, at: str, hops: Sequence[Hop], networks: int) -> Iterator[list[JsonValue]]:
    """Set the routes as `set_routes` does, for what outlives the deployment; remove them on leaving."""
    try:
        yield set_routes(call, at, hops, networks)
    finally:
        if ways := _ways(hops, networks):
            call(routing.clear_networks, ways=ways)


def _ways(hops: Sequence[Hop], networks: int) -> list[dict[str, JsonValue]]:
    if networks == 1:
        return []
    return [
        {
            "networks": _prefixes(hop, version, networks),
            "via": hop.via[version],
            "interface": hop.interface,
            "table": hop.table,
            "on_link": hop.on_link,
        }
        for hop in hops
        for version in _VERSIONS
    ]


def behind(side: int, numbers: Iterable[int], networks: int) -> tuple[str, ...]:
    """Return the prefixes of both IP versions of these networks behind the port of a side."""
    every = [consecutive(BEHIND[side][version], networks) for version in _VERSIONS]
    return tuple(prefixes[number] for number in numbers for prefixes in every)


def _prefixes(hop: Hop, version: int, networks: int) -> list[str]:
    every = consecutive(BEHIND[hop.side][version], networks)
    return [every[number] for number in (range(networks) if hop.numbers is None else hop.numbers)]

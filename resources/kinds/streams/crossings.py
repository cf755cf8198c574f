"""What the interfaces of a path counted while a load went over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bmwg.drivers.api.protocols import Crossed, Pod
from bmwg.drivers.ports import interfaces
from bmwg.methodology.kinds.streams.records import Crossing, Way

_OTHER = {"tx": "rx", "rx": "tx"}
Look = list[dict[str, int]]


def look(crossed: Sequence[Crossed]) -> Look:
    """Read the counters of all interfaces, in their order. Raises what a node's call raises."""
    return [
        one.place.inside(interfaces.counters, interface=one.interface)
        if isinstance(one.place, Pod)
        else one.place.call(interfaces.counters, interface=one.interface)
        for one in crossed
    ]


def between(crossed: Sequence[Crossed], ways: Sequence[Way], first: Look, last: Look) -> tuple[Crossing, ...]:
    """Return what went in the data's directions between two looks; the second way's stand there as "back"."""
    return tuple(
        replace(crossing, at=f"{crossing.at}, back") if number else crossing
        for number, way in enumerate(ways)
        for crossing in _one_way(crossed, way, first, last)
    )


def _one_way(crossed: Sequence[Crossed], way: Way, first: Look, last: Look) -> tuple[Crossing, ...]:
    found = []
    for one, before, after in zip(crossed, first, last, strict=True):
        counter = one.forward if way is Way.FORWARD else _OTHER[one.forward]
        octets, frames = f"{counter}_bytes", f"{counter}_packets"
        found.append(
            Crossing(at=one.at, octets=after[octets] - before[octets], frames=after[frames] - before[frames])
        )
    return tuple(found)

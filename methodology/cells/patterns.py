"""How a cell's pattern of ports is written down: `full-mesh-4`, `many-to-one-4` (RFC 2889). Pure.

The last number is how many tester ports take part; the words before it say who sends to whom.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from bmwg.methodology.trial.pattern import LEAST_PORTS, MOST_PORTS, Pattern, between, full_mesh

AXIS: Final = "pattern"  # of a cell, and of a line of a profile's plan
_WRITTEN = re.compile(r"([a-z-]+)-([0-9])")


def _one_to_many(ports: int) -> Pattern:
    return Pattern(to=between([0], range(ports), ports=ports))


def _many_to_one(ports: int) -> Pattern:
    return Pattern(to=between(range(1, ports), [0], ports=ports))


def _one_way(ports: int) -> Pattern:
    half = ports // 2
    return Pattern(to=between(range(half), range(half, ports), ports=ports))


def _broadcast(ports: int) -> Pattern:
    return Pattern(to=between([0], range(ports), ports=ports), broadcast=True)


KINDS: Mapping[str, tuple[Callable[[int], Pattern], str]] = {
    "full-mesh": (full_mesh, "each of {} ports to all others in turn"),  # rfc2889-5.1
    "one-to-many": (_one_to_many, "one of {} ports to all others in turn"),  # rfc2889-5.2
    "many-to-one": (_many_to_one, "all but one of {} ports to that one"),  # rfc2889-5.2
    "one-way-mesh": (_one_way, "each of one half of {} ports to all of the other half"),  # rfc2889-5.4
    "broadcast": (_broadcast, "one of {} ports to all others at once"),  # rfc2889-5.10
}
_EVEN = ("one-way-mesh",)  # halves


def _parts(text: object) -> tuple[str, int]:
    found = _WRITTEN.fullmatch(text) if isinstance(text, str) else None
    kind, ports = (found[1], int(found[2])) if found else ("", 0)
    if kind not in KINDS or not LEAST_PORTS <= ports <= MOST_PORTS:
        known = ", ".join(KINDS)
        raise ValueError(f"one of {known} and {LEAST_PORTS} to {MOST_PORTS} ports, found {text!r}")
    if kind in _EVEN and ports % 2:
        raise ValueError(f"an even number of ports for {kind}, found {text!r}")
    return kind, ports


def pattern(text: object) -> Pattern:
    """Return the pattern that is written so. Raises ValueError that says what is wrong with it."""
    kind, ports = _parts(text)
    return KINDS[kind][0](ports)


def wrong(text: object) -> str:
    """Say what is wrong with a pattern; empty when it can be sent."""
    try:
        pattern(text)
    except ValueError as error:
        return str(error)
    return ""


def words(text: object) -> str:
    """Return a pattern as a reader would call it."""
    kind, ports = _parts(text)
    return KINDS[kind][1].format(ports)


def of(axes: Iterable[tuple[str, int | str]]) -> Pattern | None:
    """Return the pattern of a cell by its axes; None where frames go between two ports."""
    text = dict(axes).get(AXIS)
    return None if text is None else pattern(text)


def share_of_tester(axes: Iterable[tuple[str, int | str]]) -> int:
    """Return how many frames the tester carries for one of a port's load, where a pair carries one.

    Its qualification is of one frame sent and received; it sends all senders' frames, and receives each copy.
    """
    found = of(axes)
    if found is None:
        return 1
    copies = [len(found.to[sender]) if found.broadcast else 1 for sender in found.senders]
    return sum(copies)

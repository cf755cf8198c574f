"""What the draft says a factor does, as data, to be held against what was found. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from bmwg.methodology.factors.design import Design
from bmwg.methodology.factors.effects import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One effect: of which row, on which factor (a pattern of its place), and if the throughput moves."""

    requirement: str
    place: str
    words: str
    moves: bool


STATED = (
    Stated(
        requirement="CINF08-5.2.4-03",
        place=r"pods\.(cpus|memory)",
        words="a pod's CPUs and memory change its throughput",
        moves=True,
    ),
    Stated(
        requirement="CINF08-5.2.4-05",
        place=r"networks\..*\.options\.pmd_cpus",
        words="more cores for OVS-DPDK bring no throughput",
        moves=False,
    ),
    Stated(
        requirement="CINF08-5.2.4-06",
        place=r"networks\..*\.options\.rx_queues",
        words="cores of their own for receive queues matter",
        moves=True,
    ),
)


def against(design: Design, effect: Effect) -> tuple[Stated, bool | None] | None:
    """Return what is stated of a main effect's factor and whether it was found so; None: nothing is stated.

    Found is None where the effect was not told apart from none. That the figure did not move is never shown
    by an interval that holds 1; it is only not contradicted, which is None as well. That more cores bring
    nothing is contradicted where they bring something, and not where they cost.
    """
    places = [place for factor in effect.term for place in design.factors[factor].places]
    one = next((stated for stated in STATED for place in places if re.fullmatch(stated.place, place)), None)
    if one is None:
        return None
    if not effect.moved or not (one.moves or _gained(effect)):
        return one, None
    return one, one.moves


def _gained(effect: Effect) -> bool:
    """Whether more cores carried more; levels that are no lists of cores, or of as many, show nothing."""
    more, less = (_cores(one[0]) for one in (effect.levels, effect.against))
    return None not in (more, less) and more != less and (effect.ratio > 1) is ((more or 0) > (less or 0))


def _cores(level: str) -> int | None:
    try:
        found = json.loads(level)
    except ValueError:
        return None
    return len(found) if isinstance(found, list) else None

"""The documents' order of the hosting forms and what a cache saves, as a run's repetitions show it. Pure.

Each claim is a difference with its 95 % interval (Welch), held by itself: nothing is corrected for many
claims beside each other, so of twenty that show something one may be chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bmwg.methodology.answers.student import Difference, contrast, difference
from bmwg.methodology.kinds.requests.profile import EXPERIMENTS
from bmwg.methodology.kinds.requests.records import SLOW_FORMS, RequestsSpec, Workload

_CONTAINERS = ("docker_routed", "docker_nat")
_FASTER_FIRST = (  # documents 000 and 001: who needs less time
    ("native", "docker_routed"),
    ("docker_routed", "docker_nat"),
    *((container, machine) for container in _CONTAINERS for machine in sorted(SLOW_FORMS)),
    ("vm_para", "vm_full"),  # document 001
)
CACHED = {"one_client_cached": "one_client", "ten_clients_cached": "ten_clients"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The mean time of a request (ns) in each valid repetition of a measured cell."""

    cell: RequestsSpec
    values: Sequence[float]


class Shown(StrEnum):
    """What an interval says of a claim."""

    HOLDS = "as in the documents"
    OPEN = "no difference shown"
    CONTRADICTED = "the other way"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A claim that `first` needs less time than `second`. `gap` is second less first, ns, None: not told."""

    cell: RequestsSpec
    first: str
    second: str
    gap: Difference | None

    @property
    def shown(self) -> Shown | None:
        """What the repetitions say; None when they are too few or do not vary."""
        return None if self.gap is None else _SHOWN[self.gap.sign]


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What a cache saves for one object on one form: time with it per time without it (geometric means).

    `log_ratio` is the logarithm of that with its interval. `beyond_smallest` is that of this object less that
    of the experiment's smallest one (None for the smallest itself): above zero, the smallest gains more.
    """

    cell: RequestsSpec
    log_ratio: Difference
    beyond_smallest: Difference | None

    @property
    def ratio(self) -> float:
        """Time with the cache per time without it."""
        return math.exp(self.log_ratio.difference)

    @property
    def shown(self) -> Shown | None:
        """Whether the smallest object gains more; None for the smallest itself."""
        return None if self.beyond_smallest is None else _SHOWN[self.beyond_smallest.sign]


_SHOWN = {1: Shown.HOLDS, 0: Shown.OPEN, -1: Shown.CONTRADICTED}


def orders(measured: Sequence[Times]) -> tuple[Order, ...]:
    """Return every claim on the order of the forms for which both cells have a time."""
    timed = [one for one in _sorted(measured) if one.cell.workload is not Workload.START]
    by_place = {(_place(one.cell), one.cell.form): one for one in timed}
    found = []
    for place in dict.fromkeys(_place(times.cell) for times in timed):
        for first, second in _FASTER_FIRST:
            a, b = by_place.get((place, first)), by_place.get((place, second))
            if a is not None and b is not None:
                found.append(
                    Order(cell=a.cell, first=first, second=second, gap=difference(b.values, a.values))
                )
    return tuple(found)


def savings(measured: Sequence[Times]) -> tuple[Saving, ...]:
    """Return what the cache saved for each cell that was measured with and without it."""
    timed = _sorted(measured)
    logs = {(*_place(one.cell), one.cell.form): [math.log(value) for value in one.values] for one in timed}
    found = []
    smallest: dict[tuple[str, int, str], int] = {}
    for times in timed:
        cell = times.cell
        plain = logs.get((CACHED.get(cell.experiment, ""), cell.proxies, cell.object_octets, cell.form))
        if plain is None:
            continue
        cached = logs[(*_place(cell), cell.form)]
        log_ratio = difference(cached, plain)
        if log_ratio is None:
            continue
        key = (cell.experiment, cell.proxies, cell.form)
        least = smallest.setdefault(key, cell.object_octets)
        beyond = None
        if least != cell.object_octets:  # a profile lists its objects from the smallest on
            base = logs[(cell.experiment, cell.proxies, least, cell.form)]
            base_plain = logs[(CACHED[cell.experiment], cell.proxies, least, cell.form)]
            beyond = contrast([(1, cached), (-1, plain), (-1, base), (1, base_plain)])
        found.append(Saving(cell=cell, log_ratio=log_ratio, beyond_smallest=beyond))
    return tuple(found)


def _sorted(measured: Sequence[Times]) -> list[Times]:
    """Return what has a time, experiment by experiment and from the smallest object on."""
    known = list(EXPERIMENTS)
    found = [times for times in measured if min(times.values) > 0]
    return sorted(found, key=lambda one: (known.index(one.cell.experiment), one.cell.object_octets))


def _place(cell: RequestsSpec) -> tuple[str, int, int]:
    return cell.experiment, cell.proxies, cell.object_octets

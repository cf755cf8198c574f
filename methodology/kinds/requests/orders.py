"""The documents' claims of forms, a cache and several proxies, as a run's repetitions show them. Pure.

Each claim is a difference with its 95 % interval (Welch), held by itself: nothing is corrected for many
claims beside each other, so of twenty that show something one may be chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from bmwg.methodology.answers.student import Difference, contrast, difference
from bmwg.methodology.kinds.requests.profile import EXPERIMENTS
from bmwg.methodology.kinds.requests.records import FORMS, SLOW_FORMS, RequestsSpec, Workload

_ROUTED, _NAT = _CONTAINERS = ("docker_routed", "docker_nat")
_FASTER_FIRST = (  # documents 000 and 001: who needs less time
    ("native", _ROUTED),
    (_ROUTED, _NAT),
    *((container, machine) for container in _CONTAINERS for machine in sorted(SLOW_FORMS)),
    ("vm_para", "vm_full"),  # document 001
)
_MANY = "many_proxies"  # 64 clients; with several proxies, document 001 found routing slower than NAT
_TEN = ("ten_clients", "ten_clients_cached")
_FIGURES = {("ten_clients", 10, 1_024_000): "about half", (_MANY, 64, 1_024_000): "about 70 ms less"}
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


class Claim(StrEnum):
    """What document 001 says of the time with more proxies, beside that with fewer."""

    LESS = "less"
    NOT_LESS = "not less"
    MORE = "more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A claim on the time with as many proxies as its cell says, beside that with `fewer`.

    `change` is the time with more less that with fewer, ns (None: not told); `ratio` is of their means.
    `figure` is how much less the document says, which no verdict is of; empty where it says none.
    """

    cell: RequestsSpec
    fewer: int
    claim: Claim
    figure: str
    change: Difference | None
    ratio: float

    @property
    def shown(self) -> Shown | None:
        """What the repetitions say; None when they are too few or do not vary."""
        if self.change is None:
            return None
        return _SHOWN[-self.change.sign if self.claim is Claim.LESS else self.change.sign]


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
        for pair in _FASTER_FIRST:
            first, second = (_NAT, _ROUTED) if _routing_last(place, pair) else pair
            a, b = by_place.get((place, first)), by_place.get((place, second))
            if a is not None and b is not None:
                found.append(
                    Order(cell=a.cell, first=first, second=second, gap=difference(b.values, a.values))
                )
    return tuple(found)


def _routing_last(place: tuple[str, int, int], pair: tuple[str, str]) -> bool:
    experiment, proxies, _ = place
    return pair == (_ROUTED, _NAT) and experiment == _MANY and proxies > 1


def steps(measured: Sequence[Times]) -> tuple[Step, ...]:
    """Return each claim of document 001 on several proxies for which both cells have a time."""
    timed = [one for one in _sorted(measured) if one.cell.form in FORMS]
    by_place = {(_place(one.cell), one.cell.form): one.values for one in timed}
    found = []
    for one in timed:
        experiment, _, octets = _place(one.cell)
        for fewer, claim, figure in _claims(one.cell):
            base = by_place.get(((experiment, fewer, octets), one.cell.form))
            if base is not None:
                found.append(
                    Step(
                        cell=one.cell,
                        fewer=fewer,
                        claim=claim,
                        figure=figure,
                        change=difference(one.values, base),
                        ratio=fmean(one.values) / fmean(base),
                    )
                )
    return tuple(found)


def _claims(cell: RequestsSpec) -> Iterator[tuple[int, Claim, str]]:
    """Yield each claim on a cell's number of proxies: the number before, the claim, the document's figure."""
    container = cell.form in _CONTAINERS
    figure = _FIGURES.get((cell.experiment, cell.clients, cell.object_octets), "") if container else ""
    if cell.proxies == 2 and (cell.experiment in _TEN or (cell.experiment == _MANY and container)):
        yield 1, Claim.LESS, figure
    if cell.proxies > 2 and cell.experiment == _MANY and container:
        yield 2, Claim.NOT_LESS, ""
        if cell.proxies > 8:
            yield 8, Claim.MORE, ""


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

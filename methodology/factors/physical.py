"""How many functions, or CPUs of each pod, carry what a named physical device carries. Pure.

RFC 8172 4.1 asks for the number of functions on one host that equal a physical device, RFC 8204 3.1 for the
number of cores. A profile names the device, where its figure comes from, and the figure (`physical_device`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bmwg.methodology.answers.throughput import ends
from bmwg.methodology.cells import parallel
from bmwg.methodology.cells.chains import PVP
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.trial.cpu_lists import cpu_list

KEY = "physical_device"  # of a profile
CPUS = "pods.cpus"  # axis of the cells that vary how many CPUs a pod has
FUNCTIONS, OF_A_POD = "functions beside each other", "CPUs of each pod"
_PROVEN = (
    OutcomeType.MEASURED,
    OutcomeType.AT_CEILING,
    OutcomeType.AT_FLOOR,
    OutcomeType.TESTER_LIMITED,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A physical device: its throughput without loss at one frame size, per port and direction."""

    name: str
    source: str
    frame_octets: int
    throughput_fps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One number of functions or CPUs. `carries` is None where the answer's bounds do not decide it."""

    number: int
    outcome: Outcome
    carries: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Answers alike but for that number, smallest first; `way` says what is counted."""

    way: str
    alike: Cell
    tried: tuple[Tried, ...]

    @property
    def smallest(self) -> Tried | None:
        """The smallest number that carries what the device does."""
        return next((tried for tried in self.tried if tried.carries), None)

    @property
    def open_below(self) -> tuple[int, ...]:
        """Smaller numbers of which it is not decided."""
        end = self.smallest
        return tuple(
            tried.number
            for tried in self.tried
            if tried.carries is None and (not end or tried.number < end.number)
        )

    @property
    def most(self) -> Tried | None:
        """What was seen without loss at the highest load; None where nothing was."""
        seen = [tried for tried in self.tried if tried.outcome.type in _PROVEN and tried.outcome.lower]
        return max(seen, key=lambda one: one.outcome.lower.load_fps if one.outcome.lower else 0, default=None)


def device_of(profile: Mapping[str, Any]) -> Device | None:
    """Return the physical device that a profile names; None where it names none."""
    said = profile.get(KEY)
    return None if said is None else Device(**said)


def against(device: Device, outcomes: Iterable[Outcome]) -> tuple[Series, ...]:
    """Hold throughputs at the device's frame size against it, by what they share."""
    fitting = [
        outcome
        for outcome in outcomes
        if outcome.cell.frame_octets == device.frame_octets
        and not outcome.cell.imix
        and not outcome.cell.qualifies_tester
    ]
    found = [
        *_series(device, fitting, FUNCTIONS, _functions, _beside_others),
        *_series(device, fitting, OF_A_POD, _cpus, _of_all_cpus),
    ]
    return tuple(found)


def _series(
    device: Device,
    outcomes: Sequence[Outcome],
    way: str,
    number_of: Callable[[Cell], int | None],
    shared: Callable[[Cell], Cell],
) -> list[Series]:
    made: dict[Cell, list[Tried]] = {}
    for outcome in outcomes:
        if (number := number_of(outcome.cell)) is not None:
            one = Tried(number=number, outcome=outcome, carries=_carries(outcome, device.throughput_fps))
            made.setdefault(shared(outcome.cell), []).append(one)
    return [
        Series(way=way, alike=alike, tried=tuple(sorted(tried, key=lambda one: one.number)))
        for alike, tried in made.items()
        if way == OF_A_POD or any(parallel.of(one.outcome.cell) for one in tried)
    ]


def _carries(outcome: Outcome, wanted_fps: int) -> bool | None:
    if outcome.type not in _PROVEN:
        return None
    low, high = ends(outcome)
    if low is not None and low >= wanted_fps:
        return True
    if outcome.type is OutcomeType.TESTER_LIMITED or high is None:
        return None
    return False if high <= wanted_fps else None


def _functions(cell: Cell) -> int | None:
    if cell.path == PVP:
        return 1
    beside = parallel.of(cell)
    return len(parallel.functions(beside)) if beside else None


def _beside_others(cell: Cell) -> Cell:
    axes = tuple(axis for axis in cell.axes if axis[0] != parallel.AXIS)
    return replace(cell, path=parallel.PATH, axes=axes, destination_networks=1)


def _cpus(cell: Cell) -> int | None:
    text = dict(cell.axes).get(CPUS)
    if text is None:
        return None
    try:
        return len(cpu_list(str(text)))
    except ValueError:
        return None  # no list of CPU numbers: such a cell was never deployed


def _of_all_cpus(cell: Cell) -> Cell:
    return replace(cell, axes=tuple(axis for axis in cell.axes if axis[0] != CPUS))

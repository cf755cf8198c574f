"""Energy within a time, from what a meter told: samples of power, or of a counter of energy. Pure.

Beside each trial stand `host.power.energy_uj` (microjoules within the window), `window_ns` (from before the
trial to after it), `samples`, `largest_gap_ns`, and `wraps` of a counter that began anew. Where the energy is
not known it is absent, and one of `stopped`, `backwards`, `clock_apart` and `wraps_unknown` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

PREFIX = "host.power."
ENERGY, WINDOW, SAMPLES, LARGEST_GAP, WRAPS = "energy_uj", "window_ns", "samples", "largest_gap_ns", "wraps"


class Lack(StrEnum):
    """Why the energy within a window is not known."""

    STOPPED = "stopped"  # no sample for longer than its meter's period allows, or none at an end
    BACKWARDS = "backwards"  # its times, or a counter of energy, went back, or its power was below 0
    CLOCK_APART = "clock_apart"  # its times are not those of this machine's clock
    WRAPS_UNKNOWN = "wraps_unknown"  # a counter may have begun anew more than once


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a meter told at a time (ns): milliwatts, or microjoules of a counter."""

    at_ns: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy (uJ) within a window (ns); None with a lack. `wraps` of a counter are known and counted."""

    window_ns: int
    energy_uj: int | None = None
    samples: int = 0
    largest_gap_ns: int = 0
    wraps: int = 0
    lack: Lack | None = None

    def counts(self) -> dict[str, int]:
        """Return it as counts beside a trial."""
        told = {WINDOW: self.window_ns, SAMPLES: self.samples, LARGEST_GAP: self.largest_gap_ns}
        if self.wraps:
            told[WRAPS] = self.wraps
        if self.lack is not None:
            told[self.lack.value] = 1
        elif self.energy_uj is not None:
            told[ENERGY] = self.energy_uj
        return {f"{PREFIX}{name}": count for name, count in told.items()}


def of_samples(
    samples: Sequence[Sample], begin_ns: int, end_ns: int, *, longest_gap_ns: int, counter: bool
) -> Energy:
    """Return the energy from begin to end, of power by trapezoids, at both ends between two samples.

    `counter`: the values are energy that was counted, which never becomes less.
    """
    window_ns = end_ns - begin_ns
    back = any(later.at_ns <= earlier.at_ns for earlier, later in pairwise(samples))
    back = back or any(one.value < 0 for one in samples)
    if counter:
        back = back or any(later.value < earlier.value for earlier, later in pairwise(samples))
    if back:
        return Energy(window_ns=window_ns, samples=len(samples), lack=Lack.BACKWARDS)
    spans = [(a, b) for a, b in pairwise(samples) if b.at_ns > begin_ns and a.at_ns < end_ns]
    inside = sum(begin_ns <= sample.at_ns <= end_ns for sample in samples)
    gap_ns = max((b.at_ns - a.at_ns for a, b in spans), default=0)
    whole = bool(spans) and spans[0][0].at_ns <= begin_ns and spans[-1][1].at_ns >= end_ns
    if not whole or gap_ns > longest_gap_ns:
        lack = Lack.STOPPED
        return Energy(window_ns=window_ns, samples=inside, largest_gap_ns=gap_ns, lack=lack)
    energy_uj = sum(_within(a, b, begin_ns, end_ns, counter=counter) for a, b in spans)
    return Energy(window_ns=window_ns, energy_uj=round(energy_uj), samples=inside, largest_gap_ns=gap_ns)


def _within(a: Sample, b: Sample, begin_ns: int, end_ns: int, *, counter: bool) -> float:
    """Return what of the energy between two samples lies within the window, uJ."""
    from_ns, until_ns = max(a.at_ns, begin_ns), min(b.at_ns, end_ns)
    apart_ns = b.at_ns - a.at_ns
    if counter:
        return (b.value - a.value) * (until_ns - from_ns) / apart_ns
    middle_ns = (from_ns + until_ns) / 2
    power_mw = a.value + (b.value - a.value) * (middle_ns - a.at_ns) / apart_ns
    return power_mw * (until_ns - from_ns) / 1e6  # mW times ns is pJ; a million of these are a uJ


def of_counters(
    first: Mapping[str, int], last: Mapping[str, int], span_uj: Mapping[str, int], window_ns: int, most_w: int
) -> Energy:
    """Return the energy of several counters that begin anew behind `span_uj`, read at both ends.

    `most_w` is what one of them cannot exceed: in a longer window it may have begun anew more than once.
    """
    energy_uj = wraps = 0
    if set(first) != set(last) or not first:
        return Energy(window_ns=window_ns, lack=Lack.STOPPED)
    for name, begin in first.items():
        span = span_uj.get(name, 0)
        if span and most_w * window_ns // 1000 > span:
            return Energy(window_ns=window_ns, lack=Lack.WRAPS_UNKNOWN)
        used = last[name] - begin
        if used < 0 and not span:
            return Energy(window_ns=window_ns, lack=Lack.BACKWARDS)
        if used < 0:
            used += span + 1  # from its highest value on to 0
            wraps += 1
        if used * 1000 > most_w * window_ns:  # more than it can: it went back, and not to 0
            return Energy(window_ns=window_ns, lack=Lack.BACKWARDS)
        energy_uj += used
    return Energy(window_ns=window_ns, energy_uj=energy_uj, samples=2, largest_gap_ns=window_ns, wraps=wraps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """Energy of some trials together (uJ, ns), with the units of load that they carried."""

    energy_uj: int
    window_ns: int
    carried: int
    trials: int

    @property
    def power_w(self) -> float:
        """The mean power in all windows."""
        return self.energy_uj * 1e3 / self.window_ns

    @property
    def each_j(self) -> float | None:
        """Energy for each that was carried; None where none was."""
        return self.energy_uj / 1e6 / self.carried if self.carried else None

    def above(self, idle_w: float) -> float | None:
        """Return the energy for each above what the idle host takes in the same windows, J."""
        above_uj = self.energy_uj - idle_w * self.window_ns / 1e3
        return above_uj / 1e6 / self.carried if self.carried else None


def told(counts: Mapping[str, int]) -> tuple[int, int] | None:
    """Return energy and window of a trial's counts; None where the energy is not known."""
    energy, window = counts.get(f"{PREFIX}{ENERGY}"), counts.get(f"{PREFIX}{WINDOW}")
    return None if energy is None or not window else (energy, window)


def lacks(counts: Mapping[str, int]) -> tuple[Lack, ...]:
    """Return why a trial's energy is not known."""
    return tuple(lack for lack in Lack if counts.get(f"{PREFIX}{lack.value}"))


def used(each: Iterable[tuple[Mapping[str, int], int]]) -> Used | None:
    """Sum over trials, each by its counts and what it carried; those without energy are left out."""
    found = [(*both, carried) for counts, carried in each if (both := told(counts))]
    if not found:
        return None
    return Used(
        energy_uj=sum(one[0] for one in found),
        window_ns=sum(one[1] for one in found),
        carried=sum(one[2] for one in found),
        trials=len(found),
    )

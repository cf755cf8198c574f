"""Whether two runs of different parties measured the same: each figure by the width that its own run states.

An answer lies in an interval: a search's between its bounds, a mean's and a percentile's by their stated
intervals. Two answers differ where their intervals lie apart, and agree where they meet. An interval of one
deployment knows nothing of others: two that lie apart by less than deployments may differ tell nothing. Where
one states no interval, or gave no plain number, nothing can be told. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import NormalDist

from bmwg.methodology.answers.latency import HIGH, LOW
from bmwg.methodology.answers.repeated import DEPLOYMENTS
from bmwg.methodology.answers.throughput import interval
from bmwg.methodology.records import FRAMES_PER_S, WIRE, Outcome, OutcomeType
from bmwg.reports.compare.samples import SAME_LOAD_RATIO, headline_of

ALPHA = (
    0.05  # choice: share of pairs of honest runs that chance may part, over all figures with such an interval
)
LEAST_SHARE = 0.5  # choice: of the first run's figures that must be held against one, or nothing is told
DEPLOYED_RATIO = 0.05  # choice, docs/adr/0488: of a figure; other deployments may differ by it
_SAME_TIME_RATIO = 0.01  # choice: of how long trials are to last, as of their loads
_MEAN, _HALF = ".mean", ".half_width_95"
_REPETITIONS = "repetitions"


class Agreement(StrEnum):
    """What is known of one figure, or of all."""

    AGREES = "agrees"
    DIFFERS = "differs"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One answer: the interval that its run states (None: none, `why` says why), in which unit.

    `by_chance` is whether the interval is one of confidence, so that it misses the truth now and then.
    `within` is whether it is of fewer deployments than repetitions, so that it does not know how they differ.
    `duration_s` is how long its longest trial was to last; None where trials have no such time. `mark` is
    what may bound the figure beside the device (`rooms.marks_in`); empty for nothing.
    """

    ends: tuple[float, float] | None
    unit: str = ""
    by_chance: bool = False
    within: bool = False
    load_fps: int | None = None
    duration_s: float | None = None
    mark: str = ""
    why: str = ""

    def deployed(self, factor: float) -> tuple[float, float] | None:
        """Return the interval, widened, and of one deployment at least as wide as others may differ."""
        ends = self.widened(factor)
        if ends is None or not self.within:
            return ends
        middle = sum(ends) / 2
        half = max((ends[1] - ends[0]) / 2, DEPLOYED_RATIO * abs(middle))
        return middle - half, middle + half

    def widened(self, factor: float) -> tuple[float, float] | None:
        """Return the interval, one of confidence `factor` times as wide."""
        if self.ends is None or not self.by_chance:
            return self.ends
        middle, half = sum(self.ends) / 2, (self.ends[1] - self.ends[0]) / 2
        return middle - factor * half, middle + factor * half


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One figure of the first run held against the second's."""

    metric: str
    cell_id: str
    first: Stated
    second: Stated
    agreement: Agreement
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduced:
    """All figures of the first run. `agreement` is that of the pair."""

    held: tuple[Held, ...]
    agreement: Agreement
    why: str


def stated_by(
    outcomes: Sequence[Outcome],
    loads: Mapping[str, int] | None = None,
    durations: Mapping[str, float] | None = None,
    marks: Mapping[str, str] | None = None,
) -> dict[tuple[str, str], Stated]:
    """Return what a run states of devices, by metric and cell id; of the tester alone there is nothing.

    By outcome id, `loads` gives the load of an outcome's latencies, `durations` the time of its longest
    trial, `marks` what stands beside its figures.
    """
    found: dict[tuple[str, str], Stated] = {}
    for outcome in outcomes:
        if outcome.cell.path != WIRE:
            name = outcome.outcome_id
            for metric in headline_of(outcome):
                found[metric, outcome.cell.cell_id] = replace(
                    _stated(outcome, metric, (loads or {}).get(name)),
                    duration_s=(durations or {}).get(name),
                    mark=(marks or {}).get(name, ""),
                )
    return found


def reproduce(
    first: Mapping[tuple[str, str], Stated], second: Mapping[tuple[str, str], Stated]
) -> Reproduced:
    """Hold the first run's figures against the second's."""
    factor = _factor(sum(stated.by_chance for stated in first.values()))
    held = tuple(_held(key, one, second.get(key), factor) for key, one in first.items())
    counts = {kind: sum(one.agreement is kind for one in held) for kind in Agreement}
    told = ", ".join(f"{count} {kind.value}" for kind, count in counts.items())
    agreement = Agreement.AGREES
    plain = sum(one.first.ends is not None for one in held)
    if counts[Agreement.DIFFERS]:
        agreement = Agreement.DIFFERS
    elif not plain or counts[Agreement.AGREES] < LEAST_SHARE * plain:
        agreement = Agreement.CANNOT_TELL
    return Reproduced(held=held, agreement=agreement, why=f"of {len(held)} figures: {told}")


def _held(key: tuple[str, str], first: Stated, second: Stated | None, factor: float) -> Held:
    metric, cell_id = key
    if second is None:
        second = Stated(ends=None, why="not measured")
    agreement, why = Agreement.CANNOT_TELL, ""
    mine, other = first.widened(factor), second.widened(factor)
    if mine is None or other is None:
        why = "; ".join(dict.fromkeys(stated.why for stated in (first, second) if stated.why))
    elif first.unit != second.unit:
        why = f"units {first.unit} and {second.unit}"
    elif _other_times(first, second):
        why = f"by trials of {first.duration_s:g} and {second.duration_s:g} s"
    elif first.load_fps and second.load_fps and abs(second.load_fps / first.load_fps - 1) > SAME_LOAD_RATIO:
        why = f"taken at different loads, {first.load_fps} and {second.load_fps} {FRAMES_PER_S}"
    else:
        agreement = Agreement.DIFFERS if _apart(mine, other) else Agreement.AGREES
        if agreement is Agreement.DIFFERS and not _apart(first.deployed(factor), second.deployed(factor)):
            agreement = Agreement.CANNOT_TELL
            why = f"too few deployments: they may differ by {DEPLOYED_RATIO:.0%} each"
    return Held(metric=metric, cell_id=cell_id, first=first, second=second, agreement=agreement, why=why)


def _other_times(first: Stated, second: Stated) -> bool:
    """Whether the trials lasted so differently that they are of two procedures: short ones forgive more."""
    if first.duration_s is None or second.duration_s is None:
        return False
    short, long = sorted((first.duration_s, second.duration_s))
    return long > short * (1 + _SAME_TIME_RATIO)


def _apart(one: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    return one is not None and other is not None and max(one[0], other[0]) > min(one[1], other[1])


def _factor(count: int) -> float:
    """Return how much wider so many intervals of 95 % have to be to part by chance in ALPHA of pairs."""
    normal = NormalDist()
    return normal.inv_cdf(1 - ALPHA / 2 / max(count, 1)) / normal.inv_cdf(1 - ALPHA / 2)


def _stated(outcome: Outcome, metric: str, load_fps: int | None) -> Stated:
    values = {value.metric: value for value in outcome.values}
    value = values.get(metric)
    if value is None or outcome.type is not OutcomeType.MEASURED:
        return Stated(ends=None, why=outcome.type.value.replace("_", " "))
    if (ends := interval(outcome)) is not None:
        return Stated(ends=(float(ends[0]), float(ends[1])), unit=value.unit)
    ends_of = tuple(
        _ends(metric, float(value.number), {name: float(one.number) for name, one in values.items()})
    )
    if not ends_of:
        return Stated(ends=None, unit=value.unit, why="too few trials to state an interval")
    within = _within(metric, {name: float(one.number) for name, one in values.items()})
    return Stated(ends=ends_of[0], unit=value.unit, by_chance=True, within=within, load_fps=load_fps)


def _within(metric: str, values: Mapping[str, float]) -> bool:
    """Whether a figure is of fewer deployments than repetitions; a percentile of frames is of one."""
    if not metric.endswith(_MEAN):
        return True
    name = metric.removesuffix(_MEAN)
    told = (number for key, number in values.items() if key.endswith(f".{DEPLOYMENTS}"))
    deployments = next(told, None)  # of the whole answer, whichever of its figures is asked for
    return deployments is not None and deployments < values.get(f"{name}.{_REPETITIONS}", 0)


def _ends(metric: str, number: float, values: Mapping[str, float]) -> Iterator[tuple[float, float]]:
    if metric.endswith(_MEAN) and (half := values.get(metric.removesuffix(_MEAN) + _HALF)) is not None:
        yield number - half, number + half
    low, high = values.get(f"{metric}.{LOW}"), values.get(f"{metric}.{HIGH}")
    if low is not None and high is not None:
        yield low, high

"""The kind as journal, store, report and verification see it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any, ClassVar

from bmwg.methodology.answers import repeated
from bmwg.methodology.answers.proportion import proportion
from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.answers.student import interval
from bmwg.methodology.kinds.acts.experiments import THERE_AND_BACK, Answer, experiments, of_cell
from bmwg.methodology.kinds.acts.profile import FORMAT, PROFILES, cell_of_axes
from bmwg.methodology.kinds.acts.proofs import contradictions, shortcomings
from bmwg.methodology.kinds.acts.records import (
    KIND,
    ActsResult,
    ActsSpec,
    Failure,
    Life,
)
from bmwg.methodology.kinds.repeated.kind import RepeatedKind
from bmwg.methodology.kinds.repeated.profile import Planned
from bmwg.methodology.matrix import Place
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, Validity
from bmwg.methodology.trial.judging import Assessment
from bmwg.schemas import load


class _Acts(RepeatedKind[ActsSpec, ActsResult]):
    """Acts among the kinds of load."""

    name = KIND
    unit = "pods"
    schema = load(KIND)
    profile_format = FORMAT
    families = tuple(experiment.metric for experiment in experiments().values())
    places: ClassVar[Mapping[str, tuple[Place, ...]]] = {
        one.metric: one.places for one in experiments().values()
    }
    headline = tuple(
        f"{one.metric}{way}.mean"
        for one in experiments().values()
        if one.headline
        for way in (("", ".back") if one.answer in THERE_AND_BACK else ("",))
    )
    spec_type = ActsSpec
    result_type = ActsResult
    profiles = PROFILES

    def cell(self, axes: Mapping[str, Any]) -> Cell:
        """Return the cell of a run's files. Raises ValueError."""
        return cell_of_axes(axes)

    def judged(self, spec: ActsSpec, result: ActsResult) -> Assessment:
        """Say whether the moments of an execution follow each other, and all of them came and went."""
        if found := contradictions(spec, result):
            return Assessment(validity=Validity.INCONSISTENT, reason="; ".join(found))
        if found := shortcomings(spec, result):
            return Assessment(validity=Validity.INCOMPLETE, reason="; ".join(found))
        return Assessment(validity=Validity.VALID)

    def values(self, planned: Planned[ActsSpec], results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
        """Return times of starts or of outages, or pods a second, with what stands beside them."""
        metric, answer = planned.metric, of_cell(planned.cell).answer
        if answer is Answer.RATE:
            rates = [result.cycles_per_s or 0.0 for result in results]
            found = repeated.quantities(metric, interval(rates), "1/s")
            return (
                *found,
                *repeated.medians(f"{metric}.start", each(results, _start)),
                *_told(metric, results),
            )
        if answer is Answer.EXCHANGES:
            return _exchanged(metric, results)
        if answer in THERE_AND_BACK:
            told = _drained if answer is Answer.OUTAGES else _resized
            return (*_by_way(metric, results, told), *_astray(metric, results))
        if answer is Answer.ATTEMPTS:
            return _attempted(metric, results)
        if answer is Answer.FIT:
            return _fitted(metric, results)
        if answer is Answer.BATCHES:
            batches = [float(result.batch_ns or 0) for result in results]
            found = (
                *repeated.quantities(metric, interval(batches), "ns"),
                *repeated.medians(metric, batches),
            )
            return (
                *found,
                *repeated.medians(f"{metric}.start", each(results, _start)),
                *_told(metric, results),
            )
        starts = each(results, _start)
        return (
            *repeated.quantities(metric, interval(starts), "ns"),
            *repeated.medians(metric, starts),
            *_told(metric, results),
        )

    def answered(self, planned: Planned[ActsSpec], executions: Sequence[Tried[ActsResult]]) -> Outcome:
        """Return what executions answer; where no limit was met, that none is up to so many."""
        found = super().answered(planned, executions)
        if of_cell(planned.cell).answer is not Answer.FIT or found.type is not OutcomeType.MEASURED:
            return found
        valid = [execution.result for execution in executions if not execution.problems]
        limited = sum(result.stood < planned.spec.cycles for result in valid)
        if limited == len(valid):
            return found
        said = f"no limit up to {planned.spec.cycles} {planned.spec.nouns}"
        if not limited:
            return replace(found, type=OutcomeType.AT_CEILING, values=(), statement=said)
        why = f"{limited} of {len(valid)} executions met a limit, the others {said}"
        return replace(found, type=OutcomeType.UNSTABLE, values=(), reason=why)


def _start(life: Life) -> int | None:
    return None if life.failed else life.start_ns


def _failures(metric: str, lives: Sequence[Life]) -> tuple[Quantity, ...]:
    """Return how many starts there were, how many failed, and as what."""
    failed = [life.failed for life in lives if life.failed]
    counts = {"attempts": len(lives), "failed": len(failed)}
    counts |= {f"failed.{kind.value}": failed.count(kind.value) for kind in Failure}
    return tuple(
        Quantity(metric=f"{metric}.{name}", number=count, unit="starts") for name, count in counts.items()
    )


def _attempted(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return the share of starts that came to forward, with its interval, and failures by kind.

    All starts of all executions are one sample. Beside it stand the times of those that did.
    """
    lives = [life for result in results for life in result.lives]
    found = proportion(sum(not life.failed for life in lives), len(lives))
    shares = {"": found.ratio, "_low_95": found.low, "_high_95": found.high}
    return (
        *(Quantity(metric=f"{metric}.success_ratio{e}", number=n, unit="ratio") for e, n in shares.items()),
        *_failures(metric, lives),
        Quantity(metric=f"{metric}.repetitions", number=len(results), unit="repetitions"),
        *repeated.medians(f"{metric}.start", each(results, _start)),
        *repeated.medians(f"{metric}.removal", each(results, lambda life: life.removal_ns)),
    )


def _fitted(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return how many stood together before one failed, and as what it did; what the last ones left free."""
    stood = [float(result.stood) for result in results]
    return (
        *repeated.quantities(metric, interval(stood), "instances"),
        *repeated.medians(metric, stood, "instances"),
        *_failures(metric, [life for result in results for life in result.lives]),
        *repeated.medians(f"{metric}.start", each(results, _start)),
    )


def since_asked(step: str) -> Callable[[Life], int]:
    """Return what tells when a start came to a step, ns since the request."""
    return lambda life: life.steps[step] - life.asked_ns


def since_removal(step: str) -> Callable[[Life], int]:
    """Return what tells when a removal came to a step, ns since the request to remove."""
    return lambda life: life.removal_steps[step] - (life.remove_asked_ns or 0)


def each(results: Sequence[ActsResult], told: Callable[[Life], int | None]) -> list[float]:
    """Return what each execution tells: the median of its lives, which are not independent of each other."""
    by_result = [[value for life in result.lives if (value := told(life)) is not None] for result in results]
    return [float(median(values)) for values in by_result if values]


def _drained(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return outages, the frames that were lost in them, the first frames by the other pod, and the steps."""
    outages = each(results, lambda life: life.outage_ns)
    values = (*repeated.quantities(metric, interval(outages), "ns"), *repeated.medians(metric, outages))
    values += repeated.medians(
        f"{metric}.lost_frames", each(results, lambda life: life.lost_frames), "frames"
    )
    values += repeated.medians(f"{metric}.first_frame", each(results, _start))
    return (*values, *_steps(metric, results), *_figures(metric, results))


def _exchanged(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return the times until frames came by what is new, what was lost, steps and counts."""
    told = (*_steps(metric, results), *_figures(metric, results), *_astray(metric, results))
    return (*_passed(metric, results), *told)


def _resized(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return the times until frames came with what is new, what was lost, steps and counts."""
    return (*_passed(metric, results), *_steps(metric, results), *_figures(metric, results))


def _by_way(
    metric: str,
    results: Sequence[ActsResult],
    told: Callable[[str, Sequence[ActsResult]], tuple[Quantity, ...]],
) -> tuple[Quantity, ...]:
    """Return what acts there tell by the metric, and those back behind a name of their own.

    They are two acts: a mean or a median over both is the time of neither (docs/adr/0601, 0469).
    """
    values: tuple[Quantity, ...] = ()
    for name, first in WAYS.items():
        if mine := one_way(results, first):
            values += told(f"{metric}.{name}" if name else metric, mine)
    return values


BACK = "back"  # behind an answer's metric: of the way back
WAYS = {"": 0, BACK: 1}  # of acts that are done there and back, in turn: which is the first of each


def one_way(results: Sequence[ActsResult], first: int) -> list[ActsResult]:
    """Return executions with every second life alone, from that one on; none that has no such life."""
    return [replace(result, lives=result.lives[first::2]) for result in results if result.lives[first:]]


def _passed(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return the times until frames came by what is new, and what was lost."""
    starts = each(results, _start)
    values = (*repeated.quantities(metric, interval(starts), "ns"), *repeated.medians(metric, starts))
    values += repeated.medians(f"{metric}.outage", each(results, lambda life: life.outage_ns))
    values += repeated.medians(
        f"{metric}.lost_frames", each(results, lambda life: life.lost_frames), "frames"
    )
    return values


def _figures(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return the medians of what makers tell, and of the load beside; a figure's unit ends its name."""
    values: tuple[Quantity, ...] = ()
    for name in figures_of([life for result in results for life in result.lives]):
        found = each(results, figure(name))
        values += repeated.medians(f"{metric}.{name}", found, _UNITS.get(name.rpartition("_")[2], "count"))
    return values


_UNITS = {"ns": "ns", "us": "us", "octets": "octets", "frames": "frames", "fps": "1/s"}


def figure(name: str) -> Callable[[Life], int]:
    """Return what tells a figure of a life."""
    return lambda life: life.told[name]


def figures_of(lives: Sequence[Life]) -> tuple[str, ...]:
    """Return the figures that all lives tell, in the order of their names: a journal keeps no other."""
    first = lives[0].told if lives else {}
    return tuple(name for name in sorted(first) if all(name in one.told for one in lives))


def _steps(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    values: tuple[Quantity, ...] = ()
    for step in steps_of([life for result in results for life in result.lives]):
        values += repeated.medians(f"{metric}.{step}", each(results, since_asked(step)))
    return values


def _told(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return the medians of what stands beside a start: its steps, and the removal."""
    values = _steps(metric, results)
    for step in removal_steps_of([life for result in results for life in result.lives]):
        values += repeated.medians(f"{metric}.removal.{step}", each(results, since_removal(step)))
    values += repeated.medians(f"{metric}.removal", each(results, lambda life: life.removal_ns))
    return (*values, *_figures(metric, results), *_astray(metric, results))


def _astray(metric: str, results: Sequence[ActsResult]) -> tuple[Quantity, ...]:
    """Return how many frames came in all, and how many of them otherwise than by the path and in order."""
    lives = [life for result in results for life in result.lives]
    counts = {
        "received_frames": sum(life.received_frames for life in lives),
        "reordered_frames": sum(life.reordered_frames for life in lives),
        "bypassed_frames": sum(life.bypassed_frames for life in lives),
    }
    return tuple(
        Quantity(metric=f"{metric}.{name}", number=number, unit="frames") for name, number in counts.items()
    )


def steps_of(lives: Sequence[Life]) -> tuple[str, ...]:
    """Return the steps of a start that all lives tell, in the order in which the first came to them."""
    return _shared([life.steps for life in lives])


def removal_steps_of(lives: Sequence[Life]) -> tuple[str, ...]:
    """The same of removals."""
    return _shared([life.removal_steps for life in lives])


def _shared(told: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    if not told:
        return ()
    names = sorted(told[0], key=lambda name: (told[0][name], name))
    return tuple(name for name in names if all(name in one for one in told))


ACTS = _Acts()

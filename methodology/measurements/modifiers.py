"""Throughput beside something else, and so under a modifier of RFC 2544 section 11."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.answers import throughput
from bmwg.methodology.benchmarks import of_n
from bmwg.methodology.matrix import SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, TakeTrial, invalid, wanted_size
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.measurements.throughput import OneBisection, Throughput
from bmwg.methodology.mlrsearch.goal import SearchGoal
from bmwg.methodology.mlrsearch.outcome import RFC2544_METRIC
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import BISECTION, MLRSEARCH
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search import bisection
from bmwg.methodology.trial import directions
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "throughput_modified.rfc2544_11"
ROUTERS, BRIDGES = ("kernel-l3",), ("testpmd",)  # functions; the latter looks at no IP address
BROADCAST_EVERY = 99  # rfc2544-11.1: one in a hundred of all frames


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a search beside something else found: its outcome, all its trials, and what stopped it.

    `goal` is the one that it searched for (RFC 9971); None of a bisection.
    """

    outcome: Outcome
    trials: tuple[JudgedTrial, ...]
    error: Exception | None
    goal: SearchGoal | None = None

    def without(self, seqs: Collection[int]) -> Beside:
        """Return the same with fewer trials."""
        return replace(self, trials=tuple(trial for trial in self.trials if trial.seq not in seqs))


def mean_latency(found: Beside) -> tuple[Quantity, ...]:
    """Return the mean latency of all frames that came in the trials of the bound; nothing without a number.

    That is the average latency that VSPERF's tests report beside a rate (LTP 3.2.5.3.2).
    """
    outcome = found.outcome
    if outcome.type is not OutcomeType.MEASURED or outcome.lower is None:
        return ()
    number = of_n.mean_ns([trial for trial in found.trials if trial.seq in outcome.lower.trials])
    if number is None:
        return ()
    return (Quantity(metric=f"{outcome.metric}.{of_n.LATENCY}", number=number, unit="ns"),)


def named(modifier: str) -> Callable[[TrialSpec], TrialSpec]:
    """Return what has a trial name a modifier."""
    return lambda spec: replace(spec, modifier=modifier)


def search_beside(asked: Asked, changed: Callable[[TrialSpec], TrialSpec], metric: str) -> Beside:
    """Search a throughput, each trial changed so that more goes on beside it.

    A profile that searches by goals (RFC 9971) asks its first one, with all trials that come after such a
    search, and the metric has the goal's code behind it. Any other profile bisects (RFC 2544 26.1).
    """
    by_goal = _by_first_goal(asked.profile)
    if by_goal is None:
        return _bisect_beside(asked, changed, metric)
    take, taken = _changing(asked, changed)
    found = Throughput().measure(replace(asked, profile=by_goal, trial=take))
    (outcome,) = found.outcomes
    outcome = _renamed(outcome, _metric_of(asked.profile, metric))
    (goal,) = by_goal.search.goals
    return Beside(outcome=outcome, trials=tuple(taken), error=found.error, goal=goal)


def _bisect_beside(asked: Asked, changed: Callable[[TrialSpec], TrialSpec], metric: str) -> Beside:
    goal = asked.profile.searching(BISECTION).goal(
        asked.cell,
        max_load_fps=asked.max_load_fps,
        envelope_fps=asked.envelope_fps,
        medium_fps=asked.medium_fps,
    )
    take, taken = _changing(asked, changed)
    found = bisection.search(lambda spec: take(spec, "search"), goal)
    outcome = throughput.outcome(found, asked.cell, outcome_id=asked.outcome_id, metric=metric)
    return Beside(outcome=outcome, trials=tuple(taken), error=found.error)


def _changing(asked: Asked, changed: Callable[[TrialSpec], TrialSpec]) -> tuple[TakeTrial, list[JudgedTrial]]:
    """Return what takes each trial changed and tells the search the one that it asked for, and all taken."""
    taken: list[JudgedTrial] = []

    def take(spec: TrialSpec, phase: str) -> JudgedTrial:
        taken.append(asked.trial(changed(spec), phase))
        return replace(taken[-1], result=replace(taken[-1].result, spec=spec))

    return take, taken


def _by_first_goal(profile: Profile) -> Profile | None:
    """Return a profile that searches by goals as it searches for its first one; None for any other."""
    if profile.search.algorithm != MLRSEARCH:
        return None
    return replace(profile, search=replace(profile.search, goals=profile.search.goals[:1]))


def _metric_of(profile: Profile, metric: str) -> str:
    """Return the metric of a throughput beside something else, with the code of the goal that it is for."""
    by_goal = _by_first_goal(profile)
    return metric if by_goal is None else f"{metric}.{by_goal.search.goals[0].code}"


def _renamed(outcome: Outcome, metric: str) -> Outcome:
    """Return what a goal's search found as the answer of another metric; its other values stand behind that.

    It is no throughput of RFC 2544, whatever the goal: more went on than its trials have.
    """
    values = tuple(
        replace(
            value,
            metric=metric if value.metric == outcome.metric else f"{metric}.{value.metric.partition('.')[0]}",
        )
        for value in outcome.values
        if value.metric != RFC2544_METRIC
    )
    return replace(outcome, metric=metric, values=values)


def answered(
    found: Beside,
    *,
    requirements: tuple[str, ...],
    seen: Sequence[str] = (),
    values: Sequence[Quantity] = (),
    wrong: str = "",
) -> Answered:
    """Answer with what was found, and with what was seen beside it; no number where `wrong` says why."""
    outcome = replace(
        found.outcome,
        values=(*found.outcome.values, *values),
        requirements=requirements,
        quality=(*found.outcome.quality, *seen),
    )
    if wrong and found.error is None and outcome.type is not OutcomeType.INVALID:
        bare = replace(outcome, values=(), lower=None, upper=None, statement="")
        outcome = replace(bare, type=OutcomeType.INVALID, reason=wrong)
    return Answered(outcomes=(outcome,), error=found.error)


class SearchBeside(OneBisection):
    """What a measurement is whose search goes on beside something else, as `search_beside` has it."""

    __slots__ = ()
    reads_latency: bool = True  # the whole record: its counts beside the frames are the evidence

    def metrics(self, profile: Profile, cell: Cell) -> tuple[str, ...]:
        """Its metric, with the code of the goal that the profile searches for."""
        return (_metric_of(profile, self.metric),)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """As a throughput, of one goal where the profile has goals."""
        by_goal = _by_first_goal(profile)
        if by_goal is None:
            return super().cost(profile, cell, max_load_fps)
        return Throughput().cost(by_goal, cell, max_load_fps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Modified(OneBisection):
    """The bisection of RFC 2544 26.1 while something else goes on.

    `modifier` is the name under which the DUT's side of it is known (empty: the tester does it alone).
    `evidence` is the count of each trial that shows it at work: without any, there is no answer. With
    `each_way` every direction of the cell has its own, all of which are needed.
    """

    code: str
    clause_rows: tuple[str, ...]
    evidence: str
    modifier: str = ""
    each_way: bool = False
    functions: tuple[str, ...] = ROUTERS
    needs_throughput: bool = True
    reads_latency: bool = True  # the whole record: its counts beside the frames are the evidence
    places: tuple[Place, ...] = (SPEED,)

    @property
    def name(self) -> str:
        """`modifier_` and its code."""
        return f"modifier_{self.code}"

    @property
    def metric(self) -> str:
        """The metric with the code."""
        return f"{METRIC}.{self.code}"

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Where a router forwards (or a bridge, by `functions`), at the sizes that the profile may list."""
        return cell.function in self.functions and wanted_size(profile, "modifiers", cell)

    def measure(self, asked: Asked) -> Answered:
        """Search with the modifier standing."""
        found = _bisect_beside(asked, self.changed, self.metric)
        taken, outcome = found.trials, found.outcome
        assert asked.throughput is not None
        plain = (_plain(asked.throughput), *load_remark(asked.throughput))
        outcome = replace(
            outcome,
            requirements=self.clause_rows,
            quality=(*outcome.quality, *self._seen(asked.cell, taken), *plain),
        )
        idle = [name for name in self._evidence(asked.cell) if not _count(taken, name)]
        if found.error is None and outcome.type is not OutcomeType.INVALID and idle:
            reason = f"the modifier was not at work: {', '.join(idle)} is 0 in every trial"
            outcome = replace(invalid(asked, self.metric, reason), trials=outcome.trials)
        return Answered(outcomes=(outcome,), error=found.error)

    def changed(self, spec: TrialSpec) -> TrialSpec:
        """Return a trial with the modifier."""
        if self.modifier:
            return replace(spec, modifier=self.modifier)
        return replace(spec, broadcast_every=BROADCAST_EVERY)

    def _evidence(self, cell: Cell) -> tuple[str, ...]:
        if not self.each_way:
            return (self.evidence,)
        return tuple(f"{way}.{self.evidence}" for way in directions.sending(cell.direction))

    def _seen(self, cell: Cell, trials: Sequence[JudgedTrial]) -> tuple[str, ...]:
        named = self._evidence(cell) if trials else ()
        return tuple(f"{name} up to {_count(trials, name)} in one trial" for name in named)


def _count(trials: Sequence[JudgedTrial], name: str) -> int:
    return max((dict(trial.result.auxiliary).get(name, 0) for trial in trials), default=0)


def _plain(found: Outcome) -> str:
    numbers: tuple[Quantity, ...] = found.values
    value = f"{numbers[0].number} {numbers[0].unit}" if numbers else found.statement or found.type.value
    return f"without it: {value}"


MEASUREMENTS = (
    Modified(
        code="broadcast",
        clause_rows=("RFC2544-11.1-01", "RFC2544-11.1-02"),
        evidence="broadcast_sent_frames",
        each_way=True,
    ),
    Modified(
        code="broadcast_bridged",
        clause_rows=("RFC2544-11.1-03",),
        evidence="broadcast_sent_frames",
        each_way=True,
        functions=BRIDGES,
    ),
    Modified(
        code="management",
        clause_rows=("RFC2544-11.2-01", "RFC2544-11.2-03"),
        evidence="modifier.answered_frames",
        modifier="management",
    ),
    Modified(
        code="route_updates",
        clause_rows=("RFC2544-11.3-01", "RFC2544-11.3-02", "RFC2544-11.3-03"),
        evidence="modifier.learnt_routes",
        modifier="route-updates",
    ),
    Modified(
        code="filters_1",
        clause_rows=("RFC2544-11.4-01", "RFC2544-11.4-02"),
        evidence="modifier.matched_frames",
        modifier="filters-1",
    ),
    Modified(
        code="filters_25",
        clause_rows=("RFC2544-11.4-05", "RFC2544-11.4-06", "RFC2544-11.4-07"),
        evidence="modifier.matched_frames",
        modifier="filters-25",
    ),
)

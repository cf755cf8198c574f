"""Throughput of one cell: by the profile's own search, by TST009's or by MLRsearch; the wire qualifies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from bmwg.methodology.answers import throughput, throughput_search
from bmwg.methodology.benchmarks import imix
from bmwg.methodology.cells import patterns
from bmwg.methodology.matrix import ACCURACY, SPEED, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, settings, wanted_size
from bmwg.methodology.mlrsearch import engine
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.mlrsearch.goal import ControllerInput
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import BISECTION, MLRSEARCH, TST009
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.search import bisection, closing, steadiness, sustained, tst009
from bmwg.methodology.search.stepwise import Procedure, Run, reusing
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.judging import JudgedTrial

NAME = "throughput"
IMIX = "imix"
# what the journal calls the trials of each search for a device's throughput
FOUND_BY = (throughput.METRIC, tst009.METRIC, goal_outcomes.METRIC)
_GENOME = "7a4d1g"  # choice: 64, 512 and 1518 octets as 7 to 4 to 1
# what trials after a search can take back; of a limit of the tester or the search only that a buffer held it
_TRIED_AGAIN = (OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED)
_CLOSING_TRIALS = 2  # of a bisection: half of what was found, and a load above it
_ASSUMED_SHARE = 0.7  # choice: of the highest load, what the device of an estimate carries


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """The throughput by one search; without `algorithm` by the one that the profile names.

    With `of_rfc2544` it is the throughput of RFC 2544 26.1: by the profile's own search where that finds it
    (RFC9971-4.10.2-01 says by which goals), else by bisection. The wire's is the tester's own envelope,
    always by bisection (docs/adr/0002).
    """

    name: str = NAME
    settings: str = ""  # whose name in a profile's `benchmarks` has its own; empty: its name
    algorithm: str | None = None
    of_rfc2544: bool = False
    needs_throughput: bool = False
    reads_latency: bool = False
    modifier: str = ""
    places: tuple[Place, ...] = (replace(SPEED, rows=("RFC8204-5.5-01", "LTD-3.2.2.1.1")), ACCURACY)
    families: tuple[str, ...] = (
        throughput.METRIC,
        throughput.ENVELOPE_METRIC,
        tst009.METRIC,
        goal_outcomes.METRIC,
    )

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell that asks for a load, at the sizes that the profile may list for this search."""
        return patterns.has_load(cell.axes) and wanted_size(profile, self.settings or self.name, cell)

    def recorded_as(self, profile: Profile, cell: Cell) -> str:
        """The metric of the search, without a goal."""
        if cell.qualifies_tester:
            return throughput.ENVELOPE_METRIC
        return {TST009: tst009.METRIC, MLRSEARCH: goal_outcomes.METRIC}.get(
            self._searching(profile).search.algorithm, throughput.METRIC
        )

    def metrics(self, profile: Profile, cell: Cell) -> tuple[str, ...]:
        """One metric, or one for each goal of RFC 9971."""
        metric = self.recorded_as(profile, cell)
        if metric != goal_outcomes.METRIC:
            return (metric,)
        return tuple(f"{metric}.{goal.code}" for goal in self._searching(profile).search.goals)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """Trials and seconds of one search, on a device that carries part of the load.

        Goals with trials of one length share those after the search.
        """
        profile = self._searching(profile)
        if cell.qualifies_tester or profile.search.algorithm == BISECTION:
            trials = float(bisection_trials(profile, max_load_fps))
            if cell.qualifies_tester:
                return Cost(trials=trials, traffic_s=trials * profile.trial_duration_s)
            return _with_checks(trials, trials * profile.trial_duration_s, profile)
        if profile.search.algorithm == TST009:
            halvings = math.ceil(math.log2(1 + max_load_fps / profile.search.step_fps))
            trials = halvings * (1 + profile.search.max_trials) / 2  # half of the loads pass at once
            trials += closing.USUAL_TRIALS
            return _with_checks(trials, trials * profile.trial_duration_s, profile)
        limit = int(max_load_fps * _ASSUMED_SHARE)
        searched, searched_s = _of_model(profile.controller_input(cell, max_load_fps=max_load_fps), limit)
        finals = [goal.goal_final_trial_duration_s for goal in profile.search.goals]
        trials = float(searched + closing.USUAL_TRIALS * len(set(finals)))
        traffic_s = searched_s + closing.USUAL_TRIALS * sum(set(finals))
        if any(profile.sustained(cell, limit, number) is not None for number in range(len(finals))):
            trials, traffic_s = trials + 1, traffic_s + sustained.LONG_S
        return _with_checks(trials, traffic_s, profile, sorted(set(finals)))

    def measure(self, asked: Asked) -> Answered:
        """Search the cell."""
        if asked.cell.qualifies_tester:
            return self._qualify(asked)
        answered = throughput_search.search(
            lambda spec: asked.trial(spec, "search"),
            self._searching(asked.profile),
            asked.cell,
            outcome_id=asked.outcome_id,
            max_load_fps=asked.max_load_fps,
            envelope_fps=asked.envelope_fps,
            medium_fps=asked.medium_fps,
        )
        if answered.error is not None:
            return Answered(outcomes=answered.outcomes, error=answered.error)
        return after(asked, self._searching(asked.profile), answered)

    def _qualify(self, asked: Asked) -> Answered:
        goal = asked.profile.goal(asked.cell, max_load_fps=asked.max_load_fps, qualifies_tester=True)
        found = bisection.search(lambda spec: asked.trial(spec, "qualification"), goal)
        outcome = throughput.outcome(
            found, asked.cell, outcome_id=asked.outcome_id, metric=throughput.ENVELOPE_METRIC
        )
        return Answered(outcomes=(outcome,), error=found.error)

    def _searching(self, profile: Profile) -> Profile:
        if self.of_rfc2544 and not profile.finds_rfc2544:
            return profile.searching(BISECTION)
        return profile if self.algorithm is None else profile.searching(self.algorithm)


@cache
def _of_model(wanted: ControllerInput, limit_fps: int) -> tuple[int, float]:
    """Return how many trials a search takes on a model, and their seconds: once for equal traffic."""
    found = engine.search(ModelBench(device=HardLimit(limit_fps=limit_fps), seed=0).measure, wanted)
    return len(found.trials), found.traffic_s


def after(asked: Asked, profile: Profile, answered: throughput_search.Answered) -> Answered:
    """Try again what was found, check that the device is in one state, and bound what a buffer adds.

    docs/adr/0262, 0286, 0461 and 0463. The goals of a search share these trials. Each outcome then names all
    of them. Where the measurer fails meanwhile no goal has an answer: not all of them were tried again.
    """
    sequence = list(answered.outcomes[0].trials) if answered.outcomes else []
    ended: dict[int, Run[closing.Ended]] = {
        number: Run(trials=(), found=closing.Ended())
        for number, one in enumerate(answered.outcomes)
        if one.type in _TRIED_AGAIN and one.lower is not None
    }
    error: Exception | None = None
    for part in (_closing, _checks, _upper_again, _long):
        taken: list[JudgedTrial] = []  # of this part, by the goals before: each goal asks once
        for number, before in ended.items():
            if error is not None or before.found is None or before.found.refused:
                continue
            steps = part(asked, profile, answered, ended, number)
            run = asked.run(reusing(steps, taken))
            taken += run.trials
            sequence += [trial.seq for trial in run.trials]
            error = run.error
            found = None if run.found is None else closing.joined(before.found, run.found)
            ended[number] = replace(run, found=found)
    left = [
        _with_ends(profile, number, closing.closed(one, ended[number]), ended[number].found)
        if number in ended
        else one
        for number, one in enumerate(answered.outcomes)
    ]
    if error is not None:
        broken = next(run for run in ended.values() if run.error is not None)
        left = [closing.closed(outcome, broken) for outcome in answered.outcomes]
    return Answered(outcomes=tuple(replace(one, trials=tuple(sequence)) for one in left), error=error)


Ends = Mapping[int, Run[closing.Ended]]  # what is known so far, by the number of an outcome


def _bounds(answered: throughput_search.Answered, ended: Ends, number: int) -> tuple[int, int | None]:
    """Return the ends of an answer's interval as far as they are known, the upper one None without any."""
    outcome, found = answered.outcomes[number], ended[number].found or closing.Ended()
    assert outcome.lower is not None
    upper = None if outcome.upper is None else outcome.upper.load_fps
    return (
        outcome.lower.load_fps if found.lower is None else found.lower,
        upper if found.upper is None else found.upper,
    )


def _standing(answered: throughput_search.Answered, ended: Ends) -> list[tuple[int, int | None]]:
    """Return the ends of all answers that are measured and not refused so far."""
    return [
        _bounds(answered, ended, number)
        for number, run in ended.items()
        if answered.outcomes[number].type is OutcomeType.MEASURED and run.found and not run.found.refused
    ]


def _closing(
    asked: Asked, profile: Profile, answered: throughput_search.Answered, ended: Ends, number: int
) -> Procedure[closing.Ended]:
    """Return the trials of a bound and beside it, of one outcome by its number among those of the search."""
    if answered.outcomes[number].type is not OutcomeType.MEASURED:
        return closing.Ended()
    wanted = _wanted(asked, profile, answered, number)
    if profile.search.algorithm == BISECTION:  # it verifies its bounds itself
        return (yield from closing.upper_end(wanted))
    return (yield from closing.procedure(wanted))


def _wanted(
    asked: Asked, profile: Profile, answered: throughput_search.Answered, number: int
) -> closing.Closing:
    measured = [one for one in answered.outcomes if one.type is OutcomeType.MEASURED]
    lower, upper = answered.outcomes[number].lower, answered.outcomes[number].upper
    assert lower is not None
    return profile.closing(
        asked.cell,
        lower.load_fps,
        number,
        upper_fps=None if upper is None else upper.load_fps,
        max_load_fps=asked.max_load_fps,
        tried=answered.trials,
        half_fps=max(1, min(outcome.lower.load_fps for outcome in measured if outcome.lower) // 2),
        highest_fps=max((one.upper.load_fps for one in measured if one.upper), default=None),
    )


def _checks(
    asked: Asked, profile: Profile, answered: throughput_search.Answered, ended: Ends, number: int
) -> Procedure[closing.Ended]:
    """Return the checks for states, below the lowest answer and above the highest one of the search.

    Where the load of these checks fell, the lower end is moved below it.
    """
    if answered.outcomes[number].type is not OutcomeType.MEASURED:
        return closing.Ended()
    standing = _standing(answered, ended)
    checks = profile.checks(
        asked.cell,
        min(lower for lower, _ in standing),
        number,
        upper_fps=max((upper for _, upper in standing if upper is not None), default=None),
        max_load_fps=asked.max_load_fps,
    )
    found = yield from steadiness.procedure(checks)
    wanted = _wanted(asked, profile, answered, number)
    if wanted.upper is not None:  # the upper end may have moved: both together move by two fifths at most
        wanted = replace(wanted, upper=_bounds(answered, ended, number)[1])
    return (yield from closing.lower_end(wanted, found))


def _upper_again(
    asked: Asked, profile: Profile, answered: throughput_search.Answered, ended: Ends, number: int
) -> Procedure[closing.Ended]:
    """Return the trials that ask whether the upper end still loses, before the long trial goes by it."""
    if answered.outcomes[number].type is not OutcomeType.MEASURED:
        return closing.Ended()
    lower_fps, upper_fps = _bounds(answered, ended, number)
    wanted = _wanted(asked, profile, answered, number)
    return (yield from closing.upper_end_again(wanted, upper_fps, lower_fps))


def _long(
    asked: Asked, profile: Profile, answered: throughput_search.Answered, ended: Ends, number: int
) -> Procedure[closing.Ended]:
    """Return the long trial, at the highest answer of the search."""
    lower_fps, upper_fps = _bounds(answered, ended, number)
    tried_fps = max([lower_fps, *(lower for lower, _ in _standing(answered, ended))])
    long = profile.sustained(asked.cell, lower_fps, number, upper_fps=upper_fps, tried_fps=tried_fps)
    if long is None:
        return closing.Ended()
    return (yield from sustained.procedure(long))


def _with_ends(profile: Profile, number: int, outcome: Outcome, ended: closing.Ended | None) -> Outcome:
    """Put the ends of its interval beside a number for a goal."""
    if ended is None or not outcome.values or outcome.lower is None:
        return outcome
    ends: list[tuple[str, int]] = []
    lower_fps = outcome.lower.load_fps if ended.lower is None else ended.lower
    if ended.came_through is not None:
        ends.append((throughput.SUSTAINED, int(lower_fps * ended.came_through)))
    elif ended.lower is not None:
        ends.append((throughput.SUSTAINED, lower_fps))
    if ended.upper is not None:
        ends.append((throughput.UPPER_END, ended.upper))
    more = tuple(
        Quantity(
            metric=f"{name}.{profile.search.goals[number].code}", number=load, unit=outcome.values[0].unit
        )
        for name, load in ends
    )
    return replace(outcome, values=(*outcome.values, *more))


def _with_checks(trials: float, traffic_s: float, profile: Profile, trials_s: Sequence[float] = ()) -> Cost:
    """Add the checks; `trials_s` are the different lengths of trials of the goals, else the profile's is."""
    lengths_s = [min(steadiness.CHECK_S, one) for one in trials_s or (profile.trial_duration_s,)]
    checks = profile.search.state_checks
    return Cost(trials=trials + checks * len(lengths_s), traffic_s=traffic_s + checks * sum(lengths_s))


def bisection_trials(profile: Profile, max_load_fps: int) -> int:
    """Return how many valid trials a bisection takes that is not re-opened."""
    search = profile.search
    low = min(search.min_load_fps, max_load_fps)
    span = math.log(max_load_fps / low) if max_load_fps > low else 0.0
    halvings = max(0, math.ceil(math.log2(span / -math.log1p(-search.relative_width)))) if span else 0
    return 1 + halvings + 2 * search.verification_trials + _CLOSING_TRIALS


class OneBisection(OneMetric):
    """What a measurement of one metric is that takes one bisection (RFC 2544 26.1)."""

    __slots__ = ()

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """As a throughput."""
        trials = float(bisection_trials(profile, max_load_fps))
        return Cost(trials=trials, traffic_s=trials * profile.trial_duration_s)


def imix_genome(profile: Profile) -> str:
    """Return the genome of a profile as run lengths (SUP-6985-6.1)."""
    return imix.parse(settings(profile, IMIX).get("genome", _GENOME)).run_lengths


MEASUREMENTS = (
    Throughput(),
    Throughput(name="throughput_rfc2544", settings=NAME, of_rfc2544=True),
    Throughput(name=IMIX, algorithm=BISECTION, families=(throughput.METRIC,)),
    Throughput(name="imix_tst009", settings=IMIX, algorithm=TST009, families=(tst009.METRIC,)),
    Throughput(name="imix_mlrsearch", settings=IMIX, algorithm=MLRSEARCH, families=(goal_outcomes.METRIC,)),
    Throughput(name="tst009", algorithm=TST009, families=(tst009.METRIC,)),
    Throughput(name="mlrsearch", algorithm=MLRSEARCH, families=(goal_outcomes.METRIC,)),
)

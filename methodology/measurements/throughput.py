"""Throughput of one cell: by the profile's own search, by TST009's or by MLRsearch; the wire qualifies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from bmwg.methodology import throughput, throughput_search
from bmwg.methodology.benchmarks import imix
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, settings, wanted_size
from bmwg.methodology.mlr import engine
from bmwg.methodology.mlr import outcome as goal_outcomes
from bmwg.methodology.models.bench import ModelBench
from bmwg.methodology.models.device import HardLimit
from bmwg.methodology.profiles import Profile
from bmwg.methodology.profiles.profile import BISECTION, MLRSEARCH, TST009
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.search import bisection, closing, steadiness, tst009
from bmwg.methodology.search.stepwise import Procedure

NAME = "throughput"
# what the journal calls the trials of each search for a device's throughput
FOUND_BY = (throughput.METRIC, tst009.METRIC, goal_outcomes.METRIC)
_GENOME = "7a4d1g"  # choice: 64, 512 and 1518 octets as 7 to 4 to 1
_CLOSING_TRIALS = 2  # of a bisection: half of what was found, and a load above it
_ASSUMED_SHARE = 0.7  # choice: of the highest load, what the device of an estimate carries


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """The throughput by one search; without `algorithm` by the one that the profile names.

    The wire's is the tester's own envelope, always by bisection (docs/adr/0002).
    """

    name: str = NAME
    algorithm: str | None = None
    needs_throughput: bool = False
    reads_latency: bool = False
    families: tuple[str, ...] = (
        throughput.METRIC,
        throughput.ENVELOPE_METRIC,
        tst009.METRIC,
        goal_outcomes.METRIC,
    )

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell, at the sizes that the profile may list for this search."""
        return wanted_size(profile, self.name, cell)

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
        """Trials and seconds of one search, on a device that carries part of the load."""
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
        bench = ModelBench(device=HardLimit(limit_fps=limit), seed=0)
        found = engine.search(bench.measure, profile.controller_input(cell, max_load_fps=max_load_fps))
        ends = [closing.USUAL_TRIALS * goal.goal_final_trial_duration_s for goal in profile.search.goals]
        trials = float(len(found.trials) + closing.USUAL_TRIALS * len(ends))
        return _with_checks(trials, found.traffic_s + sum(ends), profile, answers=len(ends))

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
        profile, outcomes = self._searching(asked.profile), answered.outcomes
        if profile.search.algorithm != BISECTION:
            tried = closed(asked, profile, outcomes)
            if tried.error is not None:
                return tried
            outcomes = tried.outcomes
        return checked(asked, profile, outcomes)

    def _qualify(self, asked: Asked) -> Answered:
        goal = asked.profile.goal(asked.cell, max_load_fps=asked.max_load_fps, qualifies_tester=True)
        found = bisection.search(lambda spec: asked.trial(spec, "qualification"), goal)
        outcome = throughput.outcome(
            found, asked.cell, outcome_id=asked.outcome_id, metric=throughput.ENVELOPE_METRIC
        )
        return Answered(outcomes=(outcome,), error=found.error)

    def _searching(self, profile: Profile) -> Profile:
        return profile if self.algorithm is None else profile.searching(self.algorithm)


def closed(asked: Asked, profile: Profile, outcomes: tuple[Outcome, ...], *, above: bool = True) -> Answered:
    """Try what was found once more (docs/adr/0262); each outcome then names these trials as well.

    Where the measurer fails meanwhile no goal has an answer: not all of them were tried again. `above` also
    tries a load that has to lose frames (docs/adr/0263).
    """

    def again(number: int, lower_fps: int, upper_fps: int | None) -> Procedure[str]:
        above_fps = None
        if above and upper_fps is not None:
            above_fps = closing.above_fps(upper_fps, asked.max_load_fps)
        return closing.procedure(profile.closing(asked.cell, lower_fps, number, above_fps=above_fps))

    return _after(asked, outcomes, again)


def checked(
    asked: Asked,
    profile: Profile,
    outcomes: tuple[Outcome, ...],
    *,
    by: Callable[[steadiness.Checks], steadiness.Checks] = lambda checks: checks,
) -> Answered:
    """Check that the device is in one state (docs/adr/0286); each outcome then names these trials as well.

    Checks that deviated and do not refuse the answer are a remark. `by` is what a former version
    did otherwise.
    """
    remarks: dict[int, str] = {}

    def check(number: int, lower_fps: int, upper_fps: int | None) -> Procedure[str]:
        wanted = profile.checks(
            asked.cell, lower_fps, number, upper_fps=upper_fps, max_load_fps=asked.max_load_fps
        )
        found = yield from steadiness.procedure(by(wanted))
        remarks[number] = found.remark
        return found.refused

    answered = _after(asked, outcomes, check)
    said = [
        replace(one, quality=(*one.quality, f"checks after the search deviated: {remark}"))
        if (remark := remarks.get(number))
        else one
        for number, one in enumerate(answered.outcomes)
    ]
    return Answered(outcomes=tuple(said), error=answered.error)


def _after(
    asked: Asked,
    outcomes: tuple[Outcome, ...],
    procedure: Callable[[int, int, int | None], Procedure[str]],
) -> Answered:
    """Run a procedure for each plain number, by its place and bounds; what it says takes the number away."""
    left: list[Outcome] = []
    sequence = list(outcomes[0].trials) if outcomes else []
    error: Exception | None = None
    for number, outcome in enumerate(outcomes):
        if outcome.type is not OutcomeType.MEASURED or outcome.lower is None:
            left.append(outcome)
            continue
        upper_fps = outcome.upper.load_fps if outcome.upper is not None else None
        ended = asked.run(procedure(number, outcome.lower.load_fps, upper_fps))
        sequence += [trial.seq for trial in ended.trials]
        left.append(closing.closed(outcome, ended))
        if ended.error is not None:
            error = ended.error
            left = [closing.closed(one, ended) for one in outcomes]
            break
    return Answered(outcomes=tuple(replace(one, trials=tuple(sequence)) for one in left), error=error)


def _with_checks(trials: float, traffic_s: float, profile: Profile, answers: int = 1) -> Cost:
    checks = answers * profile.search.state_checks
    check_s = min(steadiness.CHECK_S, profile.trial_duration_s)
    return Cost(trials=trials + checks, traffic_s=traffic_s + checks * check_s)


def bisection_trials(profile: Profile, max_load_fps: int) -> int:
    """Return how many valid trials a bisection takes that is not re-opened."""
    search = profile.search
    low = min(search.min_load_fps, max_load_fps)
    span = math.log(max_load_fps / low) if max_load_fps > low else 0.0
    halvings = max(0, math.ceil(math.log2(span / -math.log1p(-search.relative_width)))) if span else 0
    return 1 + halvings + 2 * search.verification_trials + _CLOSING_TRIALS


def imix_genome(profile: Profile) -> str:
    """Return the genome of a profile as run lengths (SUP-6985-6.1)."""
    return imix.parse(settings(profile, "imix").get("genome", _GENOME)).run_lengths


MEASUREMENTS = (
    Throughput(),
    Throughput(name="imix", algorithm=BISECTION, families=(throughput.METRIC,)),
    Throughput(name="imix_tst009", algorithm=TST009, families=(tst009.METRIC,)),
    Throughput(name="imix_mlrsearch", algorithm=MLRSEARCH, families=(goal_outcomes.METRIC,)),
    Throughput(name="tst009", algorithm=TST009, families=(tst009.METRIC,)),
    Throughput(name="mlrsearch", algorithm=MLRSEARCH, families=(goal_outcomes.METRIC,)),
)

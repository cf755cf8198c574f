"""Loss and latency at five loads around the throughput of the same cell (RFC 8204 5.6, LTD 3.2.2.1.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks import load_profile
from bmwg.methodology.cells import chains
from bmwg.methodology.matrix import ACCURACY, Criterion, Place, Stage
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, OneMetric, between_two, settings
from bmwg.methodology.measurements.remarks import load_remark, without_plain_load
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell

NAME = "load_profile"
_SCALE = Place(stage=Stage.OPERATION, criterion=Criterion.SCALE, rows=("RFC8204-5.8-03", "LTD-3.2.2.3.4-01"))
_PROFILE = replace(ACCURACY, rows=("RFC8204-5.6-02", "LTD-3.2.2.1.3-01"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProfile(OneMetric):
    """One trial at each load; `chained`: on chains of three functions and more, else on all other paths."""

    name: str = NAME
    metric: str = load_profile.METRIC
    chained: bool = False
    needs_throughput: bool = True
    reads_latency: bool = True
    places: tuple[Place, ...] = (_PROFILE,)

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell between two ports but the wire, at the sizes that are listed."""
        chained = len(chains.of(dict(cell.axes))) >= load_profile.LEAST_CHAINED
        able = not cell.qualifies_tester and chained == self.chained
        return able and between_two(profile, NAME, cell)

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """All loads."""
        loads = len(load_profile.DELTAS_PERCENT)
        return Cost(trials=loads, traffic_s=loads * _trial_s(profile))

    def measure(self, asked: Asked) -> Answered:
        """Offer the loads; none where no plain throughput says what they are around."""
        assert asked.throughput is not None
        if lacks := without_plain_load(asked.cell, asked.throughput, asked.outcome_id, self.metric):
            return Answered(outcomes=(lacks,))
        goal = load_profile.ProfileGoal(
            metric=self.metric,
            cell=asked.cell,
            throughput_fps=asked.load_fps,
            highest_fps=max(asked.load_fps, asked.maximum_fps),
            duration_s=_trial_s(asked.profile),
            max_repeats=asked.profile.policy.max_repeats,
            short_limit=asked.profile.search.short_limit,
        )
        ended = asked.run(load_profile.procedure(goal))
        outcome = load_profile.outcome(
            ended, goal, outcome_id=asked.outcome_id, remarks=load_remark(asked.throughput)
        )
        return Answered(outcomes=(outcome,), error=ended.error)


def _trial_s(profile: Profile) -> float:
    return float(settings(profile, NAME).get("trial_s", load_profile.TRIAL_S))


MEASUREMENTS = (
    LoadProfile(),
    LoadProfile(
        name="load_profile_chain",
        metric=load_profile.CHAIN_METRIC,
        chained=True,
        places=(_SCALE,),
    ),
)

"""Two measurements: what is lost at a load that the profile states, and the reset that `actuator` has."""

from __future__ import annotations

from dataclasses import dataclass

from bmwg.methodology.matrix import RELIABILITY, Place
from bmwg.methodology.measurements.measurement import Answered, Asked, Cost, Measurement, OneMetric, settings
from bmwg.methodology.measurements.recovery import Reset
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial

NAME = "toy"  # of the offer, and so of the settings in a profile's `benchmarks`
METRIC = "toy_loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossAtALoad(OneMetric):
    """One trial at `load_fps`; the answer is a count of frames."""

    name: str = "toy_loss"
    metric: str = METRIC
    places: tuple[Place, ...] = (RELIABILITY,)

    def applies(self, profile: Profile, cell: Cell) -> bool:
        """Every cell but the wire."""
        return not cell.qualifies_tester

    def cost(self, profile: Profile, cell: Cell, max_load_fps: int) -> Cost:
        """One trial."""
        return Cost(trials=1.0, traffic_s=profile.trial_duration_s)

    def measure(self, asked: Asked) -> Answered:
        """Send it until it is valid."""
        ended = asked.run(_procedure(asked.profile, asked.cell))
        found = ended.found
        outcome = Outcome(
            outcome_id=asked.outcome_id,
            metric=METRIC,
            cell=asked.cell,
            type=ended.type if found is None else OutcomeType.MEASURED,
            values=()
            if found is None
            else (Quantity(metric=METRIC, number=found.result.lost_frames, unit="frames"),),
            trials=tuple(trial.seq for trial in ended.trials),
            statement=ended.statement if found is None else "",
            reason=ended.reason if found is None else "",
        )
        return Answered(outcomes=(outcome,), error=ended.error)


def _procedure(profile: Profile, cell: Cell) -> Procedure[JudgedTrial | None]:
    spec = TrialSpec(
        frame_octets=cell.frame_octets,
        load_fps=int(settings(profile, NAME).get("load_fps", 1000)),
        duration_s=profile.trial_duration_s,
        direction=cell.direction,
        frame_format=cell.frame_format,
        flows=cell.flows,
    )
    limit = 1 + profile.policy.max_repeats
    return (yield from valid_trial(spec, "load", max_repeats=limit - 1, short_limit=limit))


MEASUREMENTS: tuple[Measurement, ...] = (LossAtALoad(), Reset(kind="bridge-pause"))

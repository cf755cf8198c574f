"""Frame loss rate and back-to-back frames, version 2: the maximum rate was the tester's qualified load.

Frozen. Commits up to 77e44c9b3248 measured by it; docs/adr/0266 says what version 3 does otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from bmwg.methodology.benchmarks import back_to_back, frame_loss
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked, settings
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.search.stepwise import Run
from bmwg.methodology.search.tst009 import Neighbours


def _frame_loss(asked: Asked) -> Answered:
    profile = asked.profile
    goal = frame_loss.LossGoal(
        cell=asked.cell,
        max_load_fps=asked.max_load_fps,
        duration_s=profile.trial_duration_s,
        step=Fraction(settings(profile, "frame_loss").get("step_percent", 10), 100),
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )
    ended = asked.run(frame_loss.procedure(goal))
    outcome = frame_loss.outcome(ended, goal, outcome_id=asked.outcome_id)
    return Answered(outcomes=(outcome,), error=ended.error)


def _back_to_back(asked: Asked) -> Answered:
    profile, said = asked.profile, settings(asked.profile, "back_to_back")
    longest_s = float(said.get("max_burst_s", back_to_back.LONGEST_BURST_S))
    goal = back_to_back.BurstGoal(
        cell=asked.cell,
        max_rate_fps=asked.max_load_fps,
        step_frames=min(int(said.get("step_frames", 1)), max(1, int(asked.max_load_fps * longest_s))),
        max_burst_s=longest_s,
        repetitions=int(said.get("repetitions", back_to_back.RFC2544_REPETITIONS)),
        max_trials=int(said.get("max_trials", 2)),
        throughput_fps=asked.load_fps,
        max_repeats=profile.policy.max_repeats,
        short_limit=profile.search.short_limit,
    )
    ended: Run[tuple[Neighbours, ...]] = Run(trials=(), found=())
    if goal.applicable:
        ended = asked.run(back_to_back.procedure(goal))
    assert asked.throughput is not None
    outcome = back_to_back.outcome(ended, goal, outcome_id=asked.outcome_id)
    remarks = (*outcome.quality, *load_remark(asked.throughput))
    return Answered(outcomes=(replace(outcome, quality=remarks),), error=ended.error)


RULES = (
    FormerRule(metric="frame_loss_ratio.rfc2544_26_3", version=2, measure=_frame_loss),
    FormerRule(metric="back_to_back.rfc9004", version=2, measure=_back_to_back, needs_throughput=True),
)

"""What the searches for a load without loss share: one load tried until a trial is valid, and the next load.

Trials that are not valid are repeated at the same load within the goal's `max_repeats` and are never a bound.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from math import isqrt

from bmwg.methodology.records import OutcomeType, Validity
from bmwg.methodology.search.goal import ThroughputGoal
from bmwg.methodology.search.stepwise import Step, StopError
from bmwg.methodology.trial.judging import JudgedTrial

Probing = Generator[Step, JudgedTrial, "Finding"]


class Finding(StrEnum):
    """What the trials at one load say."""

    LOSSLESS = "lossless"
    LOSSY = "lossy"
    SHORT = "short"
    DISTURBED = "disturbed"  # no valid trial within the declared repeats: bounds nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """How a procedure ended, before its trials are looked up."""

    type: OutcomeType
    reason: str = ""
    reopenings: int = 0
    lower_fps: int | None = None
    upper_fps: int | None = None


def probe(goal: ThroughputGoal, load: int, phase: str, short_limit: int) -> Probing:
    """Try one load until a trial is valid or the tester fell short `short_limit` times."""
    shorts = 0
    for attempt in range(1 + goal.max_repeats):
        trial = yield Step(spec=goal.spec(load), phase=phase, attempt=attempt)
        match trial.validity:
            case Validity.VALID:
                return Finding.LOSSLESS if trial.lossless else Finding.LOSSY
            case Validity.FAULT | Validity.INCONSISTENT:
                raise StopError(
                    f"trial {trial.seq} at {load} {goal.offer.unit}: {trial.validity}: {trial.reason}"
                )
            case Validity.SENT_SHORT:
                shorts += 1
                if shorts >= short_limit:
                    return Finding.SHORT
            case _:
                pass
    return Finding.DISTURBED


def middle(
    goal: ThroughputGoal, lower: int | None, upper: int | None, relative_width: float | None = None
) -> int | None:
    """Return the load that narrows the interval, or None when it is narrow enough or has no upper end.

    `relative_width` (0..1) is what is narrow enough, without it the goal's.
    """
    wide = goal.relative_width if relative_width is None else relative_width
    if upper is None:
        return None
    bottom = goal.min_load_fps if lower is None else lower
    if lower is None and upper <= goal.min_load_fps:
        return None
    if upper - bottom <= max(1, wide * upper):
        return goal.min_load_fps if lower is None else None
    return min(max(isqrt(bottom * upper), bottom + 1), upper - 1)

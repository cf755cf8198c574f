"""Worst-of-N and best-of-N throughput (LTD 3.2.2.1.13): each load of a binary search is tried N times.

The trial that lost most, or least, decides. Both together say how far a repeated throughput may vary.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from bmwg.methodology.benchmarks.address_table import middle
from bmwg.methodology.benchmarks.concluded import Concluded, quantities
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.search.stepwise import Procedure, Run, Step, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic

WORST, BEST = "throughput_worst_of_n.ltd_3_2_2_1_13", "throughput_best_of_n.ltd_3_2_2_1_13"
TRIALS = 10  # choice: LTD 3.2.2.1.13 names no N
TRIAL_S = 60.0  # rfc2544-24, on which the test is built
WIDTH = 0.01  # choice: of the interval in which the answer lies, as a share of its upper end
FAILED, HELD_LOSSLESS, FAILED_LOSSLESS, LATENCY = "failed", "held_lossless", "failed_lossless", "latency_mean"
REQUIREMENTS = ("LTD-3.2.2.1.13",)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfNGoal:
    """The search from `min_load_fps` to `max_load_fps`, frames/s per port and direction.

    `metric` says which trial decides. `medium_fps` is the medium's rate, None where it has none: a device
    that carries it all has no higher one.
    """

    metric: str
    cell: Cell
    min_load_fps: int
    max_load_fps: int
    trials: int = TRIALS
    duration_s: float = TRIAL_S
    width: float = WIDTH
    medium_fps: int | None = None
    max_repeats: int = 5
    short_limit: int = 2

    def __post_init__(self) -> None:
        """Refuse a search without a way, or of one trial."""
        if not 1 <= self.min_load_fps <= self.max_load_fps:
            raise ValueError(
                f"min_load_fps (LTD 3.2.2.1.13): expected 1..{self.max_load_fps}, found {self.min_load_fps}"
            )
        if self.trials < 2:
            raise ValueError(f"trials (LTD 3.2.2.1.13): expected 2 or more, found {self.trials}")

    @property
    def least_lossless(self) -> int:
        """How many trials of a load must lose nothing, so that its worst, or its best, did."""
        return self.trials if self.metric == WORST else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """The valid trials at a load; fewer than were asked for where the tester could not send it."""

    load_fps: int
    trials: tuple[JudgedTrial, ...]
    short: bool = False

    @property
    def lossless(self) -> int:
        """How many lost nothing."""
        return sum(trial.lossless for trial in self.trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfN:
    """The highest load that held, and the lowest that did not; None: none was found."""

    held: Tries | None
    failed: Tries | None


def procedure(goal: OfNGoal) -> Procedure[OfN]:
    """Try the highest load, the lowest one, and halve what is between."""
    held, failed = None, (yield from _tries(goal, goal.max_load_fps))
    if _holds(goal, failed):
        return OfN(held=failed, failed=None)
    if goal.min_load_fps == goal.max_load_fps:
        return OfN(held=None, failed=failed)
    lowest = yield from _tries(goal, goal.min_load_fps)
    if not _holds(goal, lowest):
        return OfN(held=None, failed=lowest)
    held = lowest
    while failed.load_fps - held.load_fps > max(1, goal.width * failed.load_fps):
        tried = yield from _tries(goal, middle(held.load_fps, failed.load_fps))
        held, failed = (tried, failed) if _holds(goal, tried) else (held, tried)
    return OfN(held=held, failed=failed)


def _tries(goal: OfNGoal, load_fps: int) -> Generator[Step, JudgedTrial, Tries]:
    """Try a load N times, whatever the first trials say: the document records each result."""
    spec = Traffic.of(goal.cell).spec(load_fps, goal.duration_s)
    found: list[JudgedTrial] = []
    for number in range(goal.trials):
        trial = yield from valid_trial(
            spec, f"trial {number + 1}", max_repeats=goal.max_repeats, short_limit=goal.short_limit
        )
        if trial is None:
            return Tries(load_fps=load_fps, trials=tuple(found), short=True)
        found.append(trial)
    return Tries(load_fps=load_fps, trials=tuple(found))


def _holds(goal: OfNGoal, tries: Tries) -> bool:
    return not tries.short and tries.lossless >= goal.least_lossless


def outcome(ended: Run[OfN], goal: OfNGoal, *, outcome_id: str) -> Outcome:
    """Return the load, `tester_limited` where no load failed but for the tester's sake."""
    return _concluded(ended, goal).outcome(
        ended.trials, outcome_id=outcome_id, metric=goal.metric, cell=goal.cell, requirements=REQUIREMENTS
    )


def _concluded(ended: Run[OfN], goal: OfNGoal) -> Concluded:
    decides = "the worst" if goal.metric == WORST else "the best"
    quality = [f"{goal.trials} trials of {goal.duration_s:g} s at each load, of which {decides} decides"]
    found = ended.found
    if found is None:
        return Concluded.without(ended, quality)
    if found.held is None:
        assert found.failed is not None
        if found.failed.short:
            reason = f"the tester could not send {found.failed.load_fps} {FRAMES_PER_S}"
            return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=quality)
        lowest = f"the lowest load, {found.failed.load_fps} {FRAMES_PER_S}"
        reason = f"{decides} of {goal.trials} trials at {lowest}, lost frames"
        return Concluded(type=OutcomeType.AT_FLOOR, reason=reason, quality=quality)
    carries_medium = goal.medium_fps is not None and found.held.load_fps >= goal.medium_fps
    if found.failed is None and not carries_medium:
        held = f"{found.held.load_fps} {FRAMES_PER_S}, the highest load"
        reason = f"{decides} of {goal.trials} trials lost nothing up to {held}"
        return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=quality)
    if found.failed is not None and found.failed.short:
        reason = (
            f"{decides} of {goal.trials} trials lost nothing up to {found.held.load_fps} {FRAMES_PER_S}; the"
            f" tester could not send {found.failed.load_fps}"
        )
        return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=quality)
    values = _values(goal.metric, found.held, found.failed)
    return Concluded(type=OutcomeType.MEASURED, values=values, quality=quality)


def _values(metric: str, held: Tries, failed: Tries | None) -> tuple[Quantity, ...]:
    return quantities(
        (metric, held.load_fps, FRAMES_PER_S),
        (f"{metric}.{FAILED}", None if failed is None else failed.load_fps, FRAMES_PER_S),
        (f"{metric}.{HELD_LOSSLESS}", held.lossless, "trials"),
        (f"{metric}.{FAILED_LOSSLESS}", None if failed is None else failed.lossless, "trials"),
        (f"{metric}.{LATENCY}", mean_ns(held.trials), "ns"),
    )


def mean_ns(trials: Sequence[JudgedTrial]) -> float | None:
    """Return the mean latency of all frames that came in some trials; None where no frame has one."""
    streams = [stream.latency for trial in trials for stream in trial.result.streams]
    frames = sum(one.frames for one in streams)
    return sum(one.sum_ns for one in streams) / frames if frames else None

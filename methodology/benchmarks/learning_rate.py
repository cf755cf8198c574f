"""Address learning rate (RFC 2889 5.8): the highest rate of new addresses at which each is learned."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from bmwg.methodology.benchmarks.address_table import LEAST_TAUGHT_FPS, TAUGHT_FPS, Turn, middle, turn
from bmwg.methodology.benchmarks.concluded import Concluded, numbers
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome, OutcomeType
from bmwg.methodology.search.stepwise import Run, Step
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "address_learning_rate.rfc2889_5_8"
NOT_LEARNED = f"{METRIC}.not_learned"
ADDRESSES = 1000  # choice: at every rate; RFC 2889 5.8.2 wants at most the capacity
WIDTH = 0.05  # choice: of the interval in which the rate lies, as a share of its upper end
TRIES = 2  # choice: turns at a rate; it is too high where in each of them an address was not learned
REQUIREMENTS = ("RFC2889-5.8.3-02",)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningGoal:
    """The search from `least_fps` to `most_fps`, always with as many addresses."""

    cell: Cell
    most_fps: int
    addresses: int = ADDRESSES
    least_fps: int = LEAST_TAUGHT_FPS
    asked_fps: int = TAUGHT_FPS
    width: float = WIDTH
    max_repeats: int = 5

    def __post_init__(self) -> None:
        """Refuse a search without a way."""
        if not 1 <= self.least_fps <= self.most_fps:
            raise ValueError(
                f"learning rates (RFC 2889 5.8.2): expected 1 <= least <= most, found {self.least_fps} and"
                f" {self.most_fps} frames/s"
            )

    def turn(self, taught_fps: int) -> Turn:
        """Return the turn at a rate."""
        return Turn(
            cell=self.cell,
            addresses=self.addresses,
            taught_fps=taught_fps,
            asked_fps=self.asked_fps,
            all_arrived=False,
            max_repeats=self.max_repeats,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """The highest rate tried at which all was learned, and the lowest at which it was not; frames/s."""

    learned_fps: int | None
    not_learned_fps: int | None


def procedure(goal: LearningGoal) -> Generator[Step, JudgedTrial, Learning]:
    """Try the highest rate, the lowest one, and halve what is between."""
    if (yield from _learned(goal, goal.most_fps)):
        return Learning(learned_fps=goal.most_fps, not_learned_fps=None)
    low, high = goal.least_fps, goal.most_fps
    if low == high or not (yield from _learned(goal, low)):
        return Learning(learned_fps=None, not_learned_fps=low)
    while high - low > max(1, goal.width * high):
        rate = middle(low, high)
        if (yield from _learned(goal, rate)):
            low = rate
        else:
            high = rate
    return Learning(learned_fps=low, not_learned_fps=high)


def _learned(goal: LearningGoal, rate: int) -> Generator[Step, JudgedTrial, bool]:
    """Whether one of some turns says that all is learned at a rate."""
    for _ in range(TRIES):
        if (yield from turn(goal.turn(rate))).all:
            return True
    return False


def outcome(ended: Run[Learning], goal: LearningGoal, *, outcome_id: str) -> Outcome:
    """Return the rate; `tester_limited` where all is learned at the highest that the tester sends."""
    return _concluded(ended, goal).outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _concluded(ended: Run[Learning], goal: LearningGoal) -> Concluded:
    quality = [f"{goal.addresses} addresses at every rate, asked for at {goal.asked_fps} frames/s"]
    found = ended.found
    if found is None:
        return Concluded.without(ended, quality)
    if found.not_learned_fps is None:
        reason = f"{goal.addresses} addresses are learned at {found.learned_fps} frames/s, the highest rate"
        return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=quality)
    if found.learned_fps is None:
        reason = f"of {goal.addresses} addresses not all are learned at {found.not_learned_fps} frames/s"
        return Concluded(type=OutcomeType.AT_FLOOR, reason=reason, quality=quality)
    values = numbers({METRIC: found.learned_fps, NOT_LEARNED: found.not_learned_fps}, FRAMES_PER_S)
    return Concluded(type=OutcomeType.MEASURED, values=values, quality=quality)

"""Address caching capacity (RFC 2889 5.7): the most addresses of which a switch knows every one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from bmwg.methodology.benchmarks.address_table import MOST, TAUGHT_FPS, Known, Turn, turn
from bmwg.methodology.benchmarks.concluded import Concluded, numbers
from bmwg.methodology.records import Cell, Outcome, OutcomeType
from bmwg.methodology.search.stepwise import Run, Step
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "address_caching_capacity.rfc2889_5_7"  # the learning port's addresses, and the testing port's one
LEARNED = f"{METRIC}.learning_port"
FLOODED = f"{METRIC}.flooded"  # the least number of the learning port's addresses that were not all known
UNIT = "addresses"
FIRST = 1024  # choice: of the learning port's addresses; doubled until one is not known
REQUIREMENTS = ("RFC2889-5.7.3-02", "RFC2889-5.7.3-04", "RFC2889-5.7.3-05", "RFC2889-5.7.5-02")


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityGoal:
    """The search: begins at `first` addresses, ends at `most`; told and asked for at `taught_fps`."""

    cell: Cell
    first: int = FIRST
    most: int = MOST
    taught_fps: int = TAUGHT_FPS
    max_repeats: int = 5

    def __post_init__(self) -> None:
        """Refuse a search without a way."""
        if not 1 <= self.first <= self.most <= MOST:
            raise ValueError(
                f"addresses (RFC 2889 5.7.2): expected 1 <= first <= most <= {MOST}, found {self.first},"
                f" {self.most}"
            )

    def turn(self, addresses: int) -> Turn:
        """Return the turn with so many addresses."""
        return Turn(
            cell=self.cell,
            addresses=addresses,
            taught_fps=self.taught_fps,
            asked_fps=self.taught_fps,
            all_arrived=True,
            max_repeats=self.max_repeats,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The most addresses that were all known (0: none), and the fewest that were not (None: none tried)."""

    known: int
    flooded: int | None


def procedure(goal: CapacityGoal) -> Generator[Step, JudgedTrial, Capacity]:
    """Double the number until one is not known, then halve the interval until it is one (RFC 2889 5.7.3)."""
    known, flooded, asked = 0, None, goal.first
    while True:
        found: Known = yield from turn(goal.turn(asked))
        if found.all:
            known = asked
        else:
            flooded = asked
        if known == goal.most or (flooded is not None and flooded - known == 1):
            return Capacity(known=known, flooded=flooded)
        asked = min(2 * known, goal.most) if flooded is None else (known + flooded) // 2


def outcome(ended: Run[Capacity], goal: CapacityGoal, *, outcome_id: str) -> Outcome:
    """Return the capacity, exact to one address; `at_ceiling` where all that were tried are known."""
    return _concluded(ended, goal).outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _concluded(ended: Run[Capacity], goal: CapacityGoal) -> Concluded:
    quality = [f"addresses told and asked for at {goal.taught_fps} frames/s, one frame each"]
    found = ended.found
    if found is None:
        return Concluded.without(ended, quality)
    if found.flooded is None:
        reason = f"{found.known + 1} addresses are known, more were not tried"
        return Concluded(type=OutcomeType.AT_CEILING, reason=reason, quality=quality)
    if not found.known:
        reason = "the switch does not know one address of the learning port"
        return Concluded(type=OutcomeType.AT_FLOOR, reason=reason, quality=quality)
    values = numbers({METRIC: found.known + 1, LEARNED: found.known, FLOODED: found.flooded}, UNIT)
    return Concluded(type=OutcomeType.MEASURED, values=values, quality=quality)

"""Binary search of ETSI GS NFV-TST 009 (12.3.2) with loss verification (12.3.3), over loads or bursts.

The candidates are `(m + 1) * step`, the last one cut to the maximum. Repeating a trial *because* it lost
frames is part of this algorithm and of no other: a candidate fails when all of at most `max_trials` trials
lose frames, or one loses more than `threshold_frames`. The search ends when no candidate is left, so the
best one and the failed one above it are neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search.goal import SearchResult
from bmwg.methodology.search.offer import Offer, proven
from bmwg.methodology.search.stepwise import Procedure, Run, Step, replay, run, valid_trial
from bmwg.methodology.trial.judging import JudgedTrial

METRIC = "throughput.tst009_12_3"


class Candidates(Protocol):
    """What the search goes over: `count` candidates, each a trial."""

    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def max_trials(self) -> int: ...  # noqa: D102
    @property
    def threshold_frames(self) -> int | None: ...  # noqa: D102
    @property
    def max_repeats(self) -> int: ...  # noqa: D102
    @property
    def short_limit(self) -> int: ...  # noqa: D102
    def trial(self, index: int) -> Any: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Where a search ended, as indexes: the highest candidate without loss and the failed one above it.

    `short` says that the tester could not send the failed one; `forgiven` counts candidates that passed after
    a lossy trial.
    """

    best: int | None
    failed: int | None
    short: bool = False
    forgiven: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tst009Goal:
    """Loads are in the unit of `offer`; the other fields as in `ThroughputGoal`.

    `max_trials` is TST009's max(r): trials of a lossy load in total (1: no loss verification).
    `threshold_frames` is z: more lost ones than this are no transient (None: any loss may be one).
    """

    offer: Offer
    duration_s: float
    step_fps: int
    max_load_fps: int
    max_trials: int = 2
    threshold_frames: int | None = None
    envelope_fps: int | None = None
    medium_fps: int | None = None
    max_repeats: int = 5
    short_limit: int = 2

    def __post_init__(self) -> None:
        """Refuse a goal that no search can reach."""
        if not 1 <= self.step_fps <= self.max_load_fps:
            raise ValueError(
                f"step_fps (TST009 12.3.2): expected 1..{self.max_load_fps}, found {self.step_fps}"
            )
        if not self.duration_s > 0:
            raise ValueError(f"duration_s (RFC 2544 24): expected above 0, found {self.duration_s}")
        if self.step_fps * self.duration_s < 1:
            raise ValueError(
                f"step_fps (TST009 12.3.2): expected at least one {self.offer.thing} in {self.duration_s} s,"
                f" found {self.step_fps}"
            )
        check_verification(self)
        if self.medium_fps is not None and self.max_load_fps > self.medium_fps:
            raise ValueError(
                f"max_load_fps: expected at most {self.medium_fps} (the medium), found {self.max_load_fps}"
            )
        self.trial(0)

    @property
    def count(self) -> int:
        """How many loads there are to choose from."""
        return -(-self.max_load_fps // self.step_fps)

    def load(self, index: int) -> int:
        """Return a load of the ordered list."""
        return min((index + 1) * self.step_fps, self.max_load_fps)

    def trial(self, index: int) -> Any:
        """Return the trial at a load of the list."""
        return self.offer.spec(self.load(index), self.duration_s)


def check_verification(goal: Candidates) -> None:
    """Refuse numbers that loss verification cannot have (ValueError)."""
    if not 1 <= goal.max_trials <= 100:
        raise ValueError(f"max_trials (TST009 12.3.3): expected 1..100, found {goal.max_trials}")
    if goal.threshold_frames is not None and goal.threshold_frames < 0:
        raise ValueError(
            f"threshold_frames (TST009 12.3.3): expected at least 0, found {goal.threshold_frames}"
        )
    if goal.max_repeats < 0 or not 1 <= goal.short_limit <= 1 + goal.max_repeats:
        raise ValueError(f"short_limit: expected 1..{1 + goal.max_repeats}, found {goal.short_limit}")


def neighbours(goal: Candidates, phase: str = "search") -> Procedure[Neighbours]:
    """Search: halve the list until no candidate is left."""
    left, right = 0, goal.count - 1
    best, failed, failed_short, forgiven = None, None, False, 0
    while left <= right:
        middle = (left + right) // 2
        passed, short, lossy = yield from _tried(goal, middle, phase)
        forgiven += passed and lossy > 0
        if passed:
            best, left = middle, middle + 1
        else:
            failed, failed_short, right = middle, short, middle - 1
    return Neighbours(best=best, failed=failed, short=failed_short, forgiven=forgiven)


def _tried(goal: Candidates, index: int, phase: str) -> Generator[Step, JudgedTrial, tuple[bool, bool, int]]:
    """Return whether a candidate passed, whether the tester was short of it, and how many trials lost."""
    spec = goal.trial(index)
    for lossy in range(goal.max_trials):
        trial = yield from valid_trial(
            spec,
            phase if not lossy else "loss verification",
            max_repeats=goal.max_repeats,
            short_limit=goal.short_limit,
        )
        if trial is None:
            return False, True, lossy
        if trial.lossless:
            return True, False, lossy
        if goal.threshold_frames is not None and trial.lost > goal.threshold_frames:
            return False, False, lossy + 1
    return False, False, goal.max_trials


def search(measure: Callable[[Any], Any], goal: Tst009Goal) -> SearchResult:
    """Find the highest load without loss. `measure` runs, records and judges one trial (`Tried`), once."""
    return _result(run(neighbours(goal), measure), goal)


def legal_next(trials: Sequence[Any], goal: Tst009Goal) -> Step | SearchResult:
    """Replay recorded trials: the trial that must come next, or the result that they prove."""
    found = replay(neighbours(goal), trials)
    return found if isinstance(found, Step) else _result(found, goal)


def parameters(goal: Tst009Goal) -> str:
    """Return the sentence that says the parameters of the search (TST009-12.3.3-04)."""
    unit = goal.offer.unit
    threshold = "unlimited" if goal.threshold_frames is None else str(goal.threshold_frames)
    return (
        f"loss verification: {goal.max_trials} trials, threshold {threshold} {goal.offer.thing}s,"
        f" step {goal.step_fps} {unit}, maximum {goal.max_load_fps} {unit}, {goal.duration_s:g} s a trial"
    )


def _result(ended: Run[Neighbours], goal: Tst009Goal) -> SearchResult:
    sequence = tuple(trial.seq for trial in ended.trials)
    found = ended.found
    if found is None:
        return SearchResult(
            type=ended.type,
            trials=sequence,
            statement=ended.statement,
            reason=ended.reason,
            error=ended.error,
        )
    lower = None if found.best is None else goal.load(found.best)
    upper = None if found.failed is None else goal.load(found.failed)
    kind, reason = _kind(goal, found, lower, upper)
    statement = ""
    if kind is not OutcomeType.MEASURED:
        statement = reason if lower is None else f"no loss up to {lower} {goal.offer.unit}"
    quality = [parameters(goal)]
    if found.forgiven:
        quality.append(f"{found.forgiven} loads passed after at least one lossy trial")
    return SearchResult(
        type=kind,
        trials=sequence,
        lower=proven(ended.trials, lower, lossless=True),
        upper=proven(ended.trials, upper, lossless=False),
        statement=statement,
        reason=reason,
        quality=tuple(quality),
    )


def _kind(
    goal: Tst009Goal, found: Neighbours, lower: int | None, upper: int | None
) -> tuple[OutcomeType, str]:
    envelope, unit = goal.envelope_fps, goal.offer.unit
    if found.short:
        return OutcomeType.TESTER_LIMITED, f"the tester could not send {upper} {unit}"
    if lower is None:
        return OutcomeType.AT_FLOOR, f"loss already at the lowest load, {upper} {unit}"
    if upper is None and goal.medium_fps is not None and lower >= goal.medium_fps:
        return OutcomeType.MEASURED, "the full rate of the medium"
    if envelope is not None and (lower >= envelope or (upper or 0) > envelope):
        return OutcomeType.TESTER_LIMITED, f"the tester itself is qualified up to {envelope} {unit}"
    if upper is None:
        return OutcomeType.AT_CEILING, f"{lower} {unit} is the highest load of the search"
    return OutcomeType.MEASURED, ""

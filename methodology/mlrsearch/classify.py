"""What recorded trials prove for a goal: load classes, bounds, conditional throughput (RFC 9971).

Pure functions of the trials; which engine chose the loads does not matter. The Trial Effective Duration is
always the Trial Duration (RFC9971-4.5.8-03). The Trial Loss Ratio is lost over sent frames, of all
directions together: a valid trial sent nearly all that it intended, and unsent frames are the tester's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from bmwg.methodology.mlrsearch.goal import SearchGoal
from bmwg.methodology.search.offer import Tried

LOSS_DEFINITION = (  # RFC9971-4.5.5-03
    "lost frames over frames sent, all directions together; a trial that sent fewer frames than its profile"
    " asks for takes no part"
)


class LoadClass(StrEnum):
    """How a load is classified for a goal (RFC 9971 4.7.2)."""

    LOWER_BOUND = "lower_bound"
    UPPER_BOUND = "upper_bound"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOutput:
    """What of one trial takes part: its load (frames/s), durations (s) and loss ratio (0..1)."""

    seq: int
    load_fps: int
    duration_s: float
    loss_ratio: float
    effective_duration_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSums:
    """The four duration sums (s) of RFC 9971 appendix A at one load for one goal."""

    full_length_low_loss_s: float = 0.0
    full_length_high_loss_s: float = 0.0
    short_low_loss_s: float = 0.0
    short_high_loss_s: float = 0.0

    def effective_high_loss_s(self, goal: SearchGoal) -> float:
        """High loss that counts: of short trials only what good short ones do not balance."""
        balanced = self.short_low_loss_s * goal.goal_exceed_ratio / (1.0 - goal.goal_exceed_ratio)
        return self.full_length_high_loss_s + max(0.0, self.short_high_loss_s - balanced)

    def exceed_ratios(self, goal: SearchGoal) -> tuple[float, float]:
        """Return the optimistic and the pessimistic exceed ratio (0..1)."""
        high = self.effective_high_loss_s(goal)
        whole = max(self.full_length_low_loss_s + high, goal.goal_duration_sum_s)
        return high / whole, (whole - self.full_length_low_loss_s) / whole

    def classify(self, goal: SearchGoal) -> LoadClass:
        """Classify the load, by comparing sums as appendix A does, not the rounded ratios."""
        high = self.effective_high_loss_s(goal)
        whole = max(self.full_length_low_loss_s + high, goal.goal_duration_sum_s)
        allowed = whole * goal.goal_exceed_ratio
        if whole - self.full_length_low_loss_s <= allowed:
            return LoadClass.LOWER_BOUND
        return LoadClass.UNDECIDED if high <= allowed else LoadClass.UPPER_BOUND


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalResult:
    """The result for one goal (RFC 9971 4.8.4). Loads are frames/s per port and direction.

    `regular` needs both relevant bounds within the goal width. In an irregular result `effective_lower_fps`
    is the largest lower bound where no upper bound stands above it; `reason` says what is missing. The
    conditional throughput is that of either lower bound.
    """

    goal: SearchGoal
    regular: bool
    relevant_lower_bound_fps: int | None = None
    relevant_upper_bound_fps: int | None = None
    conditional_throughput_fps: float | None = None
    effective_lower_fps: int | None = None
    lower_trials: tuple[int, ...] = ()
    upper_trials: tuple[int, ...] = ()
    reason: str = ""


def trial_outputs(trials: Iterable[Tried]) -> list[TrialOutput]:
    """Take what RFC 9971 knows of a trial from each valid one; the others never take part."""
    return [
        TrialOutput(
            seq=trial.seq,
            load_fps=trial.load,
            duration_s=trial.spec.duration_s,
            loss_ratio=trial.loss_ratio,
            effective_duration_s=trial.spec.duration_s,
        )
        for trial in trials
        if trial.valid
    ]


def by_load(outputs: Iterable[TrialOutput]) -> dict[int, list[TrialOutput]]:
    """Group trials by load, ascending."""
    groups: dict[int, list[TrialOutput]] = {}
    for output in outputs:
        groups.setdefault(output.load_fps, []).append(output)
    return dict(sorted(groups.items()))


def sums(outputs: Iterable[TrialOutput], goal: SearchGoal) -> LoadSums:
    """Add up the durations of the trials at one load, by length and loss."""
    totals = [0.0, 0.0, 0.0, 0.0]
    for output in outputs:
        short = output.duration_s < goal.goal_final_trial_duration_s
        totals[2 * short + (output.loss_ratio > goal.goal_loss_ratio)] += output.effective_duration_s
    return LoadSums(
        full_length_low_loss_s=totals[0],
        full_length_high_loss_s=totals[1],
        short_low_loss_s=totals[2],
        short_high_loss_s=totals[3],
    )


def conditional_throughput_fps(outputs: Iterable[TrialOutput], load_fps: int, goal: SearchGoal) -> float:
    """Return the conditional throughput (frames/s) of one load after RFC 9971 appendix B.

    It is the load times the forwarding ratio of the trial at which the good share of the duration is used up,
    in the order of loss; time without any trial counts as lost entirely. Durations are the decimal numbers
    that were asked for: what rounding leaves of them would stand for one trial more.
    """
    full = sorted(
        (output for output in outputs if output.duration_s >= goal.goal_final_trial_duration_s),
        key=lambda output: output.loss_ratio,
    )
    lengths = [Fraction(str(output.effective_duration_s)) for output in full]
    whole = max(Fraction(str(goal.goal_duration_sum_s)), sum(lengths, Fraction()))
    left = whole * (1 - Fraction(str(goal.goal_exceed_ratio)))
    ratio = 1.0
    for position, (output, length) in enumerate(zip(full, lengths, strict=True)):
        if position and left <= 0:
            break
        ratio = output.loss_ratio
        left -= length
    else:
        ratio = 1.0 if left > 0 else ratio
    return load_fps * (1.0 - ratio)


def goal_result(outputs: Iterable[TrialOutput], goal: SearchGoal, *, max_load_fps: int) -> GoalResult:
    """Return what the trials prove for a goal, whatever their order."""
    return grouped_result(by_load(outputs), goal, max_load_fps=max_load_fps)


def grouped_result(
    groups: Mapping[int, list[TrialOutput]], goal: SearchGoal, *, max_load_fps: int
) -> GoalResult:
    """Return what the trials of each load (ascending) prove for a goal."""
    lower, upper = None, None
    for load, outputs in groups.items():
        kind = sums(outputs, goal).classify(goal)
        if kind is LoadClass.UPPER_BOUND:
            upper = load
            break
        if kind is LoadClass.LOWER_BOUND:
            lower = load
    reason = _shortfall(goal, lower, upper, max_load_fps)
    standing = groups[lower] if lower is not None else []
    conditional = conditional_throughput_fps(standing, lower, goal) if lower is not None else None
    return GoalResult(
        goal=goal,
        regular=not reason,
        relevant_lower_bound_fps=lower if upper is not None else None,
        relevant_upper_bound_fps=upper,
        conditional_throughput_fps=conditional,
        effective_lower_fps=lower if upper is None else None,
        lower_trials=tuple(output.seq for output in standing),
        upper_trials=tuple(output.seq for output in groups[upper]) if upper is not None else (),
        reason=reason,
    )


def _shortfall(goal: SearchGoal, lower: int | None, upper: int | None, max_load_fps: int) -> str:
    if upper is None and lower is None:
        return "no load is proven to be a bound"
    if upper is None:
        at = "the highest load of the search" if lower == max_load_fps else "a load below the highest one"
        return f"no upper bound; {at} is a lower bound"
    if lower is None:
        return "no lower bound below the upper bound"
    if upper - lower > goal.goal_width * upper:
        apart = (upper - lower) / upper
        return f"the bounds are {apart:.4g} of the upper one apart, goal width {goal.goal_width}"
    return ""

"""Back-to-back frames (RFC 9004): the longest burst at the maximum rate without loss, and its buffer.

Each repetition is an independent TST009 search over burst lengths. A burst is a trial at the maximum rate
that lasts as long as the burst; what follows it until the next one (at least 2 s, RFC9004-6.2-02) is the
trial policy's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks.concluded import Concluded, quantities, repeated
from bmwg.methodology.benchmarks.statistics import Spread, spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, Run
from bmwg.methodology.search.tst009 import Neighbours, check_verification, neighbours
from bmwg.methodology.trial.traffic import Traffic

METRIC = "back_to_back.rfc9004"
UNIT = "frames"
_CORRECTED = "buffer_time.rfc9004.corrected"
REQUIREMENTS = ("RFC9004-6.2-07", "RFC9004-6.3-01", "RFC9004-6.4-01", "RFC9004-6.4-03")
LONGEST_BURST_S = 30.0  # RFC9004-6.2-04
LEAST_DEPLETION_S = 2.0  # RFC9004-6.2-02
_LISTENING_MARGIN = 0.1  # choice: of the burst; a throughput is known to that much or better
_SLOWEST = 10.0  # choice: a device forwards at a tenth of the maximum rate or faster
RFC2544_REPETITIONS = 50  # RFC2544-26.4-03


def listening_s(spec: TrialSpec, drain_s: float) -> tuple[float, float]:
    """Return how long a tester listens after a burst: since the last frame that came, and at most in all, s.

    `drain_s` is the wait after any trial. A burst, and so what a buffer holds of it, may last longer than
    that (RFC9004-6.2-03); what still comes at the throughput comes before it (RFC9004-6.2-02).
    """
    quiet_s = max(drain_s, spec.duration_s) + _LISTENING_MARGIN * spec.duration_s
    return quiet_s, quiet_s + max(LEAST_DEPLETION_S, _SLOWEST * spec.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstGoal:
    """What to search. `max_rate_fps` is the maximum theoretical frame rate, per port and direction.

    `step_frames` is the least step of the burst length, `max_burst_s` the longest burst. `max_trials` and
    `threshold_frames` are TST009's max(r) and z. `throughput_fps` is the RFC 2544 throughput of the same
    traffic (None: not known, then there is no corrected buffer time).
    """

    cell: Cell
    max_rate_fps: int
    step_frames: int = 1
    max_burst_s: float = LONGEST_BURST_S
    repetitions: int = RFC2544_REPETITIONS
    max_trials: int = 2
    threshold_frames: int | None = None
    throughput_fps: int | None = None
    max_repeats: int = 5
    short_limit: int = 2

    def __post_init__(self) -> None:
        """Refuse what contradicts RFC 9004, naming field and clause (ValueError)."""
        if not 0 < self.max_burst_s <= LONGEST_BURST_S:
            raise ValueError(
                f"max_burst_s (RFC 9004 6.2): expected above 0 and at most {LONGEST_BURST_S:g},"
                f" found {self.max_burst_s}"
            )
        if self.max_rate_fps < 1:
            raise ValueError(f"max_rate_fps (RFC 9004 5): expected at least 1, found {self.max_rate_fps}")
        if not 1 <= self.step_frames <= self.max_burst_frames:
            raise ValueError(
                f"step_frames (RFC 9004 6.2): expected 1..{self.max_burst_frames}, found {self.step_frames}"
            )
        if self.repetitions < 1:
            raise ValueError(f"repetitions (RFC 9004 6.3): expected at least 1, found {self.repetitions}")
        if self.throughput_fps is not None and self.throughput_fps < 1:
            raise ValueError(f"throughput_fps (RFC 9004 5): expected at least 1, found {self.throughput_fps}")
        check_verification(self)
        self.trial(0)

    @property
    def max_burst_frames(self) -> int:
        """The longest burst of the search, frames."""
        return int(self.max_rate_fps * self.max_burst_s)

    @property
    def count(self) -> int:
        """How many burst lengths there are to choose from."""
        return -(-self.max_burst_frames // self.step_frames)

    def frames(self, index: int) -> int:
        """Return a burst length of the list."""
        return min((index + 1) * self.step_frames, self.max_burst_frames)

    def trial(self, index: int) -> TrialSpec:
        """Return the trial with one burst of a length of the list."""
        duration_s = self.frames(index) / self.max_rate_fps
        return replace(Traffic.of(self.cell).spec(self.max_rate_fps, duration_s), burst=True)

    @property
    def applicable(self) -> bool:
        """Whether the benchmark says anything: the throughput is below the maximum rate (RFC9004-6.1)."""
        return self.throughput_fps is None or self.throughput_fps < self.max_rate_fps


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferTimes:
    """Buffer times (s) that an average burst implies; `corrected_s` is less what was forwarded meanwhile."""

    implied_s: float
    corrected_s: float | None


def buffer_times(mean_frames: float, max_rate_fps: int, throughput_fps: int | None) -> BufferTimes:
    """Return implied and corrected buffer time (RFC 9004 6.4)."""
    implied = mean_frames / max_rate_fps
    if throughput_fps is None:
        return BufferTimes(implied_s=implied, corrected_s=None)
    return BufferTimes(implied_s=implied, corrected_s=implied * (1 - throughput_fps / max_rate_fps))


def procedure(goal: BurstGoal) -> Procedure[tuple[Neighbours, ...]]:
    """Repeat the search; each repetition starts anew (RFC9004-6.3-01)."""
    found = []
    for number in range(goal.repetitions):
        found.append((yield from neighbours(goal, f"burst {number + 1}")))
    return tuple(found)


def outcome(ended: Run[tuple[Neighbours, ...]], goal: BurstGoal, *, outcome_id: str) -> Outcome:
    """Return the average burst with its spread, each repetition, and the buffer times."""
    kind, reason, found = OutcomeType.MEASURED, "", ended.found or ()
    bursts = [goal.frames(one.best) for one in found if one.best is not None]
    if not goal.applicable:
        kind = OutcomeType.NOT_ASSESSED
        reason = f"the throughput, {goal.throughput_fps} frames/s, is the maximum rate (RFC 9004 6.1)"
    elif ended.found is None:
        kind, reason = ended.type, ended.reason
    elif any(one.short for one in found):
        kind, reason = OutcomeType.TESTER_LIMITED, f"the tester could not send {goal.max_rate_fps} frames/s"
    elif len(bursts) < len(found):
        kind, reason = OutcomeType.AT_FLOOR, f"loss already in a burst of {goal.frames(0)} frames"
    elif max(bursts) == goal.max_burst_frames:
        kind = OutcomeType.AT_CEILING
        reason = f"no loss in the longest burst, {goal.max_burst_frames} frames; raise max_burst_s"
    values = _values(spread(bursts), goal) if kind is OutcomeType.MEASURED else ()
    return Concluded(type=kind, reason=reason, values=values, quality=_remarks(bursts, goal)).outcome(
        ended.trials, outcome_id=outcome_id, metric=METRIC, cell=goal.cell, requirements=REQUIREMENTS
    )


def _values(bursts: Spread, goal: BurstGoal) -> tuple[Quantity, ...]:
    times = buffer_times(bursts.mean, goal.max_rate_fps, goal.throughput_fps)
    own = (("buffer_time.rfc9004.implied", times.implied_s, "s"), (_CORRECTED, times.corrected_s, "s"))
    return (*repeated(METRIC, bursts, UNIT), *quantities(*own))


def without_correction(outcome: Outcome) -> Outcome:
    """Return an answer without the buffer time that was corrected by a throughput (RFC 9004 6.4)."""
    values = tuple(value for value in outcome.values if value.metric != _CORRECTED)
    return replace(outcome, values=values)


def parameters(goal: BurstGoal) -> str:
    """Return the sentence that says the parameters of the searches (RFC9004-6.2-08, RFC9004-6.2-09)."""
    threshold = "unlimited" if goal.threshold_frames is None else str(goal.threshold_frames)
    return (
        f"{goal.repetitions} searches, step {goal.step_frames} frames, bursts up to {goal.max_burst_frames}"
        f" frames at {goal.max_rate_fps} frames/s, {goal.max_trials} trials, threshold {threshold} frames"
    )


def _remarks(bursts: list[int], goal: BurstGoal) -> tuple[str, ...]:
    remarks = [parameters(goal)]
    if bursts:
        remarks.append(f"each: {', '.join(map(str, bursts))} frames")  # RFC9004-6.3-02
    return tuple(remarks)

"""Throughput profile (LTD 3.2.2.1.3, 3.2.2.3.4): loss and latency at five loads around the throughput.

A delta is percent: below 0 of the throughput, above 0 of the way from the throughput to the highest load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from bmwg.methodology.answers.latency import percentile_ns
from bmwg.methodology.answers.stream_percentiles import merged
from bmwg.methodology.benchmarks.concluded import Concluded
from bmwg.methodology.benchmarks.forwarding_rate import per_second
from bmwg.methodology.records import FRAMES_PER_S, Cell, Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search.stepwise import (
    NoValidTrialError,
    Procedure,
    Run,
    StopError,
    TesterShortError,
    valid_trial,
)
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.traffic import Traffic

METRIC = "load_profile.ltd_3_2_2_1_3"  # its own number is the loss ratio at the highest load with a trial
CHAIN_METRIC = "load_profile.ltd_3_2_2_3_4"
DELTAS_PERCENT = (-50, -10, 0, 10, 50)  # ltd-3.2.2.1.3
LEAST_CHAINED = 3  # ltd-3.2.2.3.4: functions of a chain
TRIAL_S = 60.0  # rfc2544-24, on which the test is built
LOAD, LOSS, FORWARDED, MEAN, P99 = "load", "loss_ratio", "forwarded", "latency_mean", "latency_p99"
REQUIREMENTS = {METRIC: ("LTD-3.2.2.1.3-01",), CHAIN_METRIC: ("LTD-3.2.2.3.4-01",)}
_P99 = Fraction(99, 100)


def name_of(delta_percent: int) -> str:
    """Return the part of a metric's name that says the delta: `plus_10`."""
    sign = "minus" if delta_percent < 0 else "plus" if delta_percent else "at"
    return f"{sign}_{abs(delta_percent)}"


def words_of(delta_percent: int) -> str:
    """Return the delta as the document writes it."""
    return f"{delta_percent:+d} %" if delta_percent else "0 %"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileGoal:
    """The throughput and the highest load, frames/s per port and direction, and how long each trial is."""

    metric: str
    cell: Cell
    throughput_fps: int
    highest_fps: int
    duration_s: float = TRIAL_S
    max_repeats: int = 5
    short_limit: int = 2

    def __post_init__(self) -> None:
        """Refuse what has no loads around it."""
        if not 1 <= self.throughput_fps <= self.highest_fps:
            raise ValueError(
                f"throughput_fps (LTD 3.2.2.1.3): expected 1..{self.highest_fps} frames/s,"
                f" found {self.throughput_fps}"
            )

    def load_fps(self, delta_percent: int) -> int:
        """Return the load at a delta, rounded down."""
        above = self.highest_fps - self.throughput_fps
        base = above if delta_percent > 0 else self.throughput_fps
        return max(1, self.throughput_fps + base * delta_percent // 100)

    def deltas(self) -> tuple[int, ...]:
        """Return the deltas, rising; those above 0 only where there is a load above the throughput."""
        return tuple(
            delta for delta in DELTAS_PERCENT if delta <= 0 or self.load_fps(delta) > self.throughput_fps
        )

    def spec(self, delta_percent: int) -> TrialSpec:
        """Return the trial at a delta."""
        return Traffic.of(self.cell).spec(self.load_fps(delta_percent), self.duration_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileFound:
    """The valid trial at each delta that has one; what is to be said of each that has none."""

    trials: dict[int, JudgedTrial] = field(default_factory=dict)
    missed: dict[int, str] = field(default_factory=dict)
    short: tuple[int, ...] = ()


def procedure(goal: ProfileGoal) -> Procedure[ProfileFound]:
    """Take one valid trial at each load, the lowest first: a device that fails above ends the series.

    What failed at a load above the throughput is kept and told (LTD-3.2.2.1.3-02).
    """
    trials: dict[int, JudgedTrial] = {}
    missed: dict[int, str] = {}
    short: list[int] = []
    for delta in goal.deltas():
        spec = goal.spec(delta)
        try:
            trial = yield from valid_trial(
                spec,
                f"load {name_of(delta)}".replace("_", " "),
                max_repeats=goal.max_repeats,
                short_limit=goal.short_limit,
            )
        except NoValidTrialError:
            missed[delta] = f"no trial at {spec.load_fps} {FRAMES_PER_S} was valid"
            continue
        except StopError as stop:
            if delta <= 0:
                raise
            missed[delta] = f"failure: {stop}; no higher load was tried"
            break
        if trial is None:
            missed[delta] = f"the tester could not send {spec.load_fps} {FRAMES_PER_S}"
            short.append(delta)
            continue
        trials[delta] = trial
    if not trials and len(short) == len(missed):
        raise TesterShortError(f"the tester could not send {goal.load_fps(min(short))} {FRAMES_PER_S}")
    return ProfileFound(trials=trials, missed=missed, short=tuple(short))


def outcome(
    ended: Run[ProfileFound], goal: ProfileGoal, *, outcome_id: str, remarks: Sequence[str] = ()
) -> Outcome:
    """Return load, loss, rate and latency at each delta that has a valid trial."""
    return _concluded(ended, goal, remarks).outcome(
        ended.trials,
        outcome_id=outcome_id,
        metric=goal.metric,
        cell=goal.cell,
        requirements=REQUIREMENTS[goal.metric],
    )


def _concluded(ended: Run[ProfileFound], goal: ProfileGoal, remarks: Sequence[str]) -> Concluded:
    quality = [
        f"0 % is {goal.throughput_fps} {FRAMES_PER_S} per port and direction; above it percent are of the way"
        f" to {goal.highest_fps}, trials of {goal.duration_s:g} s",
        *remarks,
    ]
    if ended.found is None:
        return Concluded.without(ended, quality)
    if left := [words_of(delta) for delta in DELTAS_PERCENT if delta not in goal.deltas()]:
        quality.append(f"no load above the throughput is there to try, so nothing at {', '.join(left)}")
    quality += [f"{words_of(delta)}: {why}" for delta, why in ended.found.missed.items()]
    if not ended.found.trials:
        return Concluded(type=OutcomeType.UNSTABLE, reason="no trial was valid at any load", quality=quality)
    lossy = [delta for delta, trial in ended.found.trials.items() if delta <= 0 and not trial.lossless]
    if lossy:
        quality.append(
            f"frames were lost at {', '.join(map(words_of, lossy))} as well, no more than the throughput: it"
            f" does not hold for {goal.duration_s:g} s, or the machine took a CPU away"
        )
    silent = [delta for delta, trial in ended.found.trials.items() if not trial.result.received_frames]
    quality += [f"{words_of(delta)}: failure: no frame came" for delta in silent]
    most_ratio = list(ended.found.trials.values())[-1].loss_ratio
    values = (
        Quantity(metric=goal.metric, number=most_ratio, unit="1"),
        *(value for delta, trial in ended.found.trials.items() for value in _values(goal, delta, trial)),
    )
    return Concluded(type=OutcomeType.MEASURED, values=values, quality=quality)


def _values(goal: ProfileGoal, delta: int, trial: JudgedTrial) -> tuple[Quantity, ...]:
    result = trial.result
    latency = merged([stream.latency for stream in result.streams])
    told: list[tuple[str, float | int, str]] = [
        (LOAD, trial.load, FRAMES_PER_S),
        (LOSS, result.loss_ratio, "1"),
        (FORWARDED, per_second(result.received_frames, result.spec) // len(result.streams), FRAMES_PER_S),
    ]
    if latency.frames:
        told.append((MEAN, latency.sum_ns / latency.frames, "ns"))
        told.append((P99, percentile_ns(latency, _P99), "ns"))
    return tuple(
        Quantity(metric=f"{goal.metric}.{name_of(delta)}.{part}", number=number, unit=unit)
        for part, number, unit in told
    )

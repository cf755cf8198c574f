"""System recovery as VSPERF has it (LTD 3.2.2.1.4): 150 % of the throughput, then 75 %, with latency.

After the last lost frame the mean latency of every 10,000 frames is held against that before the overload. Of
these frames evenly spaced ones are stamped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks.concluded import repeated
from bmwg.methodology.benchmarks.recovery import UNIT, RecoveryMethod, recovery_ms, recovery_trial
from bmwg.methodology.benchmarks.statistics import spread
from bmwg.methodology.records import Outcome, OutcomeType, Quantity, StreamCounts, TrialSpec
from bmwg.methodology.trial.judging import JudgedTrial
from bmwg.methodology.trial.trial_limits import MAX_TAGS

LTD = RecoveryMethod(
    metric="system_recovery.ltd_3_2_2_1_4",
    clause="LTD 3.2.2.1.4",
    requirements=("LTD-3.2.2.1.4",),
    overload_percent=150,  # ltd-3.2.2.1.4
    reduced_percent=75,  # ltd-3.2.2.1.4
)
LATENCY = f"{LTD.metric}.latency"
BEFORE = f"{LTD.metric}.latency_before"
WINDOW_FRAMES = 10_000  # ltd-3.2.2.1.4
WITHIN_PERCENT = 10  # ltd-3.2.2.1.4
_LEAST_STAMPED = 8  # choice: a mean of fewer is that of single frames


def stamped(spec: TrialSpec) -> TrialSpec:
    """Return a trial with two loads that stamps frames of its second load, as many as a trial can."""
    return replace(spec, tag_after_s=spec.duration_s, tags=MAX_TAGS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How the frames of a second load fall into windows: `stamped` frames of each, `frames` long."""

    step: int
    stamped: int
    load_fps: int

    @property
    def frames(self) -> int:
        """The length of a window."""
        return self.stamped * self.step

    def due_ms(self, place: int) -> float:
        """Return when a stamped frame (from 0) was due, ms after the load was reduced."""
        return 1e3 * place * self.step / self.load_fps


def windows(spec: TrialSpec) -> Windows:
    """Return the windows of a stamped trial: 10,000 frames, more where too few of these are stamped."""
    frames = spec.tag_frames
    step = frames[1] - frames[0] if len(frames) > 1 else 1
    return Windows(
        step=step,
        stamped=max(_LEAST_STAMPED, -(-WINDOW_FRAMES // step)),
        load_fps=spec.then_load_fps or 1,
    )


def latency_back_ms(trial: JudgedTrial, control: JudgedTrial) -> float | None:
    """Return when latency was back, ms after the load was reduced: the end of the first window that shows it.

    A window shows it where all its stamped frames came and their mean is at most a tenth above that of the
    same direction before. None: no window of the trial does, in one of the directions.
    """
    lost_ms = recovery_ms(recovery_trial(trial))
    found = [
        _back_ms(stream, windows(trial.result.spec), lost_ms, before)
        for stream, before in zip(trial.result.streams, map(_mean_ns, control.result.streams), strict=True)
    ]
    known = [one for one in found if one is not None]
    return max(known) if len(known) == len(found) else None


def _back_ms(stream: StreamCounts, at: Windows, lost_ms: float, before_ns: float | None) -> float | None:
    if before_ns is None:
        return None
    most_ns = before_ns * (100 + WITHIN_PERCENT) / 100
    places = range(len(stream.tagged_ns))
    after = (place for place in places if not lost_ms or at.due_ms(place) > lost_ms)
    start = next(after, len(stream.tagged_ns))
    for first in range(start, len(stream.tagged_ns) - at.stamped + 1, at.stamped):
        window = stream.tagged_ns[first : first + at.stamped]
        arrived = [one for one in window if one is not None]
        if len(arrived) == at.stamped and sum(arrived) <= most_ns * at.stamped:
            return at.due_ms(first + at.stamped)
    return None


def _mean_ns(stream: StreamCounts) -> float | None:
    frames = stream.latency.frames
    return stream.latency.sum_ns / frames if frames else None


def paired(trials: Sequence[JudgedTrial]) -> list[tuple[JudgedTrial, JudgedTrial]]:
    """Return each overload with the trial of the reduced load alone that came before it, in order."""
    found: list[tuple[JudgedTrial, JudgedTrial]] = []
    before: JudgedTrial | None = None
    for trial in trials:
        if trial.spec.then_load_fps is None:
            before = trial
        elif before is not None:
            found.append((trial, before))
            before = None
    return found


def with_latency(outcome: Outcome, trials: Sequence[JudgedTrial]) -> Outcome:
    """Put beside a recovery time when latency was back; without a number where some trial did not show it.

    `trials` are the valid ones, each overload behind its control.
    """
    pairs = paired(trials)
    if outcome.type is not OutcomeType.MEASURED or not pairs:
        return outcome
    times = [(trial.seq, latency_back_ms(trial, control)) for trial, control in pairs]
    at = windows(pairs[0][0].result.spec)
    quality = [
        *outcome.quality,
        f"latency: means of {at.frames} frames, {at.stamped} of them stamped, against the mean of"
        f" {pairs[0][1].load} frames/s before the overload; told to {at.due_ms(at.stamped):.3g} ms",
    ]
    if still := [seq for seq, time_ms in times if time_ms is None]:
        quality.append(
            f"latency was not back to within {WITHIN_PERCENT} % at the end of trials {still}: no time is told"
        )
        return replace(outcome, quality=tuple(quality))
    found = spread([time_ms for _, time_ms in times if time_ms is not None])
    means = [
        mean for _, control in pairs for mean in map(_mean_ns, control.result.streams) if mean is not None
    ]
    values = (
        *outcome.values,
        *repeated(LATENCY, found, UNIT),
        Quantity(metric=BEFORE, number=sum(means) / len(means), unit="ns"),
    )
    return replace(outcome, values=values, quality=tuple(quality))

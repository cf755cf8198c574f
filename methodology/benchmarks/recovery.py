"""System recovery (RFC 2544 26.5) and reset (RFC 2544 26.6 as updated by RFC 6201): loads and arithmetic.

A constant-load trial cannot hold the change of load or the interruption, so both take what a driver observed
as records of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bmwg.methodology.benchmarks.concluded import Concluded, repeated
from bmwg.methodology.benchmarks.statistics import Spread, spread
from bmwg.methodology.records import Cell, Outcome, OutcomeType, StreamCounts, TrialSpec
from bmwg.methodology.trial.frame_times import LossTimes
from bmwg.methodology.trial.judging import JudgedTrial

RECOVERY_METRIC = "system_recovery.rfc2544_26_5"
RESET_METRIC = "reset.rfc6201"
RECOVERY_REQUIREMENTS = ("RFC2544-26.5-01", "RFC2544-26.5-02", "RFC2544-26.5-03", "RFC2544-26.5-04")
RESET_REQUIREMENTS = ("RFC2544-26.6-01", "RFC2544-26.6-04", "SUP-6201-1.3-01")
UNIT = "ms"  # SUP-6201-1.4-01
OVERLOAD_S = 60.0  # rfc2544-26.5
OVERLOAD_PERCENT = 110  # rfc2544-26.5: of the throughput, or the medium's rate where that is lower
FORWARDING_BEFORE_S = 15.0  # SUP-6201-4
FORWARDING_AFTER_S = 0.1  # choice: what a link needs to pass frames again after the call that sets it up
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryMethod:
    """How a document overloads a device, and what it then asks for.

    `overload_percent` is of the throughput, or the medium's rate where that is lower; `reduced_percent` of
    the throughput, None for half of the overload.
    """

    metric: str
    clause: str
    requirements: tuple[str, ...]
    overload_percent: int
    reduced_percent: int | None = None


RFC2544 = RecoveryMethod(
    metric=RECOVERY_METRIC,
    clause="RFC 2544 26.5",
    requirements=RECOVERY_REQUIREMENTS,
    overload_percent=OVERLOAD_PERCENT,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryLoads:
    """The two loads of one recovery trial, frames/s per port and direction."""

    overload_fps: int
    reduced_fps: int


def recovery_loads(
    throughput_fps: int, max_load_fps: int | None, method: RecoveryMethod = RFC2544
) -> RecoveryLoads:
    """Return the overload, or the highest load where that is lower, and the load that follows.

    Rounded up: 110 % of 1,001 frames/s are 1,102.
    """
    if throughput_fps < 1:
        raise ValueError(f"throughput_fps ({method.clause}): expected at least 1, found {throughput_fps}")
    overload = -(-throughput_fps * method.overload_percent // 100)
    if max_load_fps is not None:
        overload = min(overload, max_load_fps)
    reduced = overload // 2
    if method.reduced_percent is not None:
        reduced = throughput_fps * method.reduced_percent // 100
    return RecoveryLoads(overload_fps=overload, reduced_fps=max(1, reduced))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryTrial:
    """One observed recovery. Times are ns of one clock; `last_lost_ns` None: no frame was lost after A.

    `overload_lost_frames` are those lost before the load was reduced: without any there was no overload.
    `recovered` says that frames came after the last lost one: else the time is longer than the trial.
    """

    seq: int
    overload_s: float
    overload_lost_frames: int
    reduced_at_ns: int
    last_lost_ns: int | None
    recovered: bool = True


def recovery_ms(trial: RecoveryTrial) -> float:
    """Return B - A in ms: from the reduction of the load to the last lost frame, 0 when none was lost."""
    if trial.last_lost_ns is None:
        return 0.0
    return max(0, trial.last_lost_ns - trial.reduced_at_ns) / _NS_PER_MS


def recovery_trial(trial: JudgedTrial) -> RecoveryTrial:
    """Read a recovery off a trial with two loads; ValueError without the times of losses."""
    spec = trial.result.spec
    streams = [(stream, _times(trial, stream)) for stream in trial.result.streams]
    overload_lost = sum(
        min(stream.sent_frames, spec.first_frames) - losses.first_received_frames
        for stream, losses in streams
    )
    last = [losses.last_lost_ns for _, losses in streams if losses.last_lost_ns is not None]
    reduced_at_ns = streams[0][1].reduced_at_ns
    if reduced_at_ns is None:
        raise ValueError(f"trial {trial.seq} (RFC 2544 26.5): expected two loads, found one")
    return RecoveryTrial(
        seq=trial.seq,
        overload_s=spec.duration_s,
        overload_lost_frames=overload_lost,
        reduced_at_ns=reduced_at_ns,
        last_lost_ns=max(last, default=None),
        recovered=max(last, default=0) < _last_due_ns(spec, reduced_at_ns),
    )


def _last_due_ns(spec: TrialSpec, reduced_at_ns: int) -> int:
    """Return when the last frame of a trial with two loads is due, half an interval less."""
    frames = spec.intended_frames - spec.first_frames
    return reduced_at_ns + int((frames - 1.5) * _NS_PER_S / (spec.then_load_fps or 1))


def _times(trial: JudgedTrial, stream: StreamCounts) -> LossTimes:
    if stream.losses is None:
        raise ValueError(
            f"trial {trial.seq} (RFC 2544 26.5, RFC 6201): expected the times of losses, found none"
        )
    return stream.losses


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetTrial:
    """One observed reset at a constant load (frames/s). Times are ns of one clock.

    `power_interruption_s` is what the power was off (0 for any other kind), `last_before_ns` and
    `first_after_ns` are when the last frame before and the first after the outage arrived, None where the
    tester does not tell. `ended` says that frames came after the outage: else it was longer than the trial.
    `within` says that by the actuator's clock the act lay within the trial's traffic, with time after it.
    """

    seq: int
    offered_fps: float
    lost_frames: int
    power_interruption_s: float = 0.0
    last_before_ns: int | None = None
    first_after_ns: int | None = None
    ended: bool = True
    within: bool = True


def reset_trial(trial: JudgedTrial) -> ResetTrial:
    """Read an outage off a trial at a constant load; ValueError without times of losses.

    Time stamps are those around the longest run of missing frames of the first stream. Frames are those of
    all directions, over the rate of one: half of them where both were sent. The outage has ended where frames
    came again in each of them.
    """
    result = trial.result
    losses = [_times(trial, stream) for stream in result.streams]
    longest = max(losses[0].longest, key=lambda run: run.frames, default=None)
    return ResetTrial(
        seq=trial.seq,
        offered_fps=float(result.spec.load_fps),
        lost_frames=result.lost_frames // len(result.streams),
        last_before_ns=longest.before_ns if longest else None,
        first_after_ns=longest.after_ns if longest else None,
        ended=all(run.after_ns is not None for times in losses for run in times.longest),
        within=_within(trial),
    )


def _within(trial: JudgedTrial) -> bool:
    """Whether an act began after the first frame and ended well before the last; yes where nobody tells."""
    told = dict(trial.result.auxiliary)
    names = ("started_ns", "act.began_ns", "act.ended_ns")
    if any(name not in told for name in names):
        return True
    started_ns, began_ns, ended_ns = (told[name] for name in names)
    last_ns = started_ns + int((trial.result.spec.total_s - FORWARDING_AFTER_S) * _NS_PER_S)
    return started_ns <= began_ns and ended_ns <= last_ns


def reset_by_loss_ms(trial: ResetTrial) -> float:
    """Return the reset time by frame loss (RFC 6201 1.3): lost frames over offered rate, less the power's."""
    if not trial.offered_fps > 0:
        raise ValueError(f"offered_fps (RFC 6201 1.3): expected above 0, found {trial.offered_fps}")
    return 1e3 * (trial.lost_frames / trial.offered_fps - trial.power_interruption_s)


def reset_by_time_ms(trial: ResetTrial) -> float | None:
    """Return the reset time by time stamps (RFC 6201 1.3), None where one is missing."""
    if trial.last_before_ns is None or trial.first_after_ns is None:
        return None
    return (trial.first_after_ns - trial.last_before_ns) / _NS_PER_MS - 1e3 * trial.power_interruption_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """The overload of a series beside the throughput, frames/s; `medium_fps` None: the medium has no rate."""

    throughput_fps: int
    overload_fps: int
    medium_fps: int | None = None
    method: RecoveryMethod = RFC2544

    @property
    def full(self) -> bool:
        """Whether it is what the document asks for: its share of the throughput, or all of the medium."""
        wanted = recovery_loads(self.throughput_fps, self.medium_fps, self.method).overload_fps
        return self.overload_fps >= wanted

    @property
    def of_medium(self) -> bool:
        """Whether the medium ends it below that share."""
        wanted = recovery_loads(self.throughput_fps, None, self.method).overload_fps
        return self.full and self.overload_fps < wanted

    @property
    def text(self) -> str:
        """Say how much of the throughput it is; never rounded up to what it does not reach."""
        tenths = 1000 * self.overload_fps // self.throughput_fps
        return f"{self.overload_fps} frames/s, {tenths / 10:g} % of the throughput"


def recovery_outcome(
    trials: Sequence[RecoveryTrial],
    cell: Cell,
    *,
    outcome_id: str,
    overload: Overload | None = None,
    controls: Sequence[JudgedTrial] = (),
) -> Outcome:
    """Return the average recovery time.

    A trial without loss was no overload and has no recovery: the throughput it was computed from did not hold
    then, so the answer is `unstable`; where the load was the medium's rate, the device carries all of it
    (`at_ceiling`). An `overload` below what its document asks for, since the tester carries
    no more, makes it `tester_limited`: its statement has the time, for it is that of another overload.
    `controls` offered the reduced load alone: where they lost frames, the last lost one may be any.
    """
    method = RFC2544 if overload is None else overload.method
    metric, requirements = method.metric, method.requirements
    return _recovered(trials, method, overload, controls).outcome(
        trials, outcome_id=outcome_id, metric=metric, cell=cell, requirements=requirements
    )


def _recovered(
    trials: Sequence[RecoveryTrial],
    method: RecoveryMethod,
    overload: Overload | None,
    controls: Sequence[JudgedTrial],
) -> Concluded:
    calm = [trial.seq for trial in trials if trial.overload_lost_frames == 0]
    limited = overload is not None and not overload.full
    if calm:
        kind, load = OutcomeType.UNSTABLE, f"{method.overload_percent} % of the throughput"
        if limited:
            kind, load = OutcomeType.TESTER_LIMITED, "the tester's highest load"
        elif overload is not None and overload.of_medium:
            kind, load = OutcomeType.AT_CEILING, "the medium's rate"
        if overload is not None:
            load += f" ({overload.text})"
        reason = f"no overload: {load} lost no frame in trials {calm}"
        return Concluded(type=kind, reason=reason)
    if not trials:
        return Concluded(type=OutcomeType.INVALID, reason="no trial")
    if lasting := [trial.seq for trial in trials if not trial.recovered]:
        reason = f"frames were lost to the end of trials {lasting}: recovery takes longer than they do"
        return Concluded(type=OutcomeType.INVALID, reason=reason)
    if lossy := [trial for trial in controls if trial.lost]:
        lost, sent = sum(trial.lost for trial in controls), sum(trial.sent for trial in controls)
        reason = (
            f"{controls[0].load} frames/s lose {lost} of {sent} frames without an overload (trials"
            f" {[trial.seq for trial in lossy]}): the last lost frame need not be the overload's"
        )
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason)
    found = spread([recovery_ms(trial) for trial in trials])
    quality = [f"average of {found.count}"]
    if overload is not None:
        quality.append(f"overload of {overload.text}")
    if short := [trial.seq for trial in trials if trial.overload_s < OVERLOAD_S]:
        quality.append(f"overload shorter than {OVERLOAD_S:g} s ({method.clause}) in trials {short}")
    if overload is not None and limited:
        reason = (
            f"the tester carries no more than {overload.text}, where {method.clause} asks for"
            f" {method.overload_percent} %; from there recovery took {found.mean:.3f} ms on average"
            f" of {found.count}, {found.minimum:.3f} to {found.maximum:.3f} ms"
        )
        return Concluded(type=OutcomeType.TESTER_LIMITED, reason=reason, quality=quality)
    return _measured(method.metric, found, quality)


def reset_outcome(trials: Sequence[ResetTrial], cell: Cell, *, kind: str, outcome_id: str) -> Outcome:
    """Return the average reset time by frame loss; `kind` names what was reset (container restart and so on).

    Where time stamps are there too, their average stands beside it in the remarks. A trial whose act did not
    lie within its traffic says nothing and is left out, whatever was lost; with none left it is `unstable`.
    """
    metric = f"{RESET_METRIC}.{kind}"
    return _reset(trials, metric).outcome(
        trials, outcome_id=outcome_id, metric=metric, cell=cell, requirements=RESET_REQUIREMENTS
    )


def _reset(trials: Sequence[ResetTrial], metric: str) -> Concluded:
    late = [trial.seq for trial in trials if not trial.within]
    trials = [trial for trial in trials if trial.within]
    if late and not trials:
        reason = f"the reset did not lie within the traffic of trials {late}"
        return Concluded(type=OutcomeType.UNSTABLE, reason=reason)
    still = [trial.seq for trial in trials if trial.lost_frames == 0]
    if not trials or still:
        reason = f"no frame was lost in trials {still}: was anything reset?" if still else "no trial"
        return Concluded(type=OutcomeType.INVALID, reason=reason)
    if lasting := [trial.seq for trial in trials if not trial.ended]:
        reason = f"no frame came any more in trials {lasting}: the outage is longer than they are"
        return Concluded(type=OutcomeType.INVALID, reason=reason)
    found = spread([reset_by_loss_ms(trial) for trial in trials])
    stamps = [time for time in map(reset_by_time_ms, trials) if time is not None]
    quality = [f"average of {found.count} by frame loss (RFC 6201 1.3)"]
    if late:
        quality.append(f"left out: trials {late}, within whose traffic the reset did not lie")
    if stamps:
        quality.append(f"by time stamps: {spread(stamps).mean:.3f} ms on average of {len(stamps)}")
    return _measured(metric, found, quality)


def _measured(metric: str, found: Spread, quality: Sequence[str]) -> Concluded:
    return Concluded(type=OutcomeType.MEASURED, values=repeated(metric, found, UNIT), quality=quality)

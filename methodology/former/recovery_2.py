"""System recovery, version 2: an overload below 110 % of the throughput was taken for one without remark.

Frozen. Commits after 939b29af8664, up to 77e44c9b3248, measured by it; docs/adr/0265 says what version 3 does
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.benchmarks.statistics import Spread, spread
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.frame_times import LossTimes
from bmwg.methodology.measurements.measurement import Answered, Asked, settings
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Cell, Outcome, OutcomeType, Quantity, StreamCounts, TrialSpec
from bmwg.methodology.search.stepwise import Procedure, TesterShortError, valid_trial
from bmwg.methodology.trial import JudgedTrial

RECOVERY_METRIC = "system_recovery.rfc2544_26_5"
RECOVERY_REQUIREMENTS = ("RFC2544-26.5-01", "RFC2544-26.5-02", "RFC2544-26.5-03", "RFC2544-26.5-04")
UNIT = "ms"
OVERLOAD_S = 60.0
_REPETITIONS = 10
_REDUCED_S = 60.0
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


def measure(asked: Asked) -> Answered:
    """Measure as version 2 did, or replay what it recorded."""
    said, cell = settings(asked.profile, "recovery"), asked.cell
    loads = recovery_loads(asked.load_fps, asked.max_load_fps)
    spec = TrialSpec(
        frame_octets=cell.frame_octets,
        load_fps=loads.overload_fps,
        duration_s=float(said.get("overload_s", OVERLOAD_S)),
        direction=cell.direction,
        frame_format=cell.frame_format,
        flows=cell.flows,
        vlan_id=cell.vlan_id,
        loss_times=True,
        then_load_fps=loads.reduced_fps,
        then_duration_s=float(said.get("reduced_s", _REDUCED_S)),
    )
    ended = asked.run(_repeated(spec, asked.profile, int(said.get("repetitions", _REPETITIONS))))
    found = [recovery_trial(trial) for trial in ended.found or ()]
    highest = spec.load_fps < recovery_loads(asked.load_fps, None).overload_fps
    outcome = recovery_outcome(found, cell, outcome_id=asked.outcome_id, highest=highest)
    if ended.found is None:
        outcome = replace(outcome, type=ended.type, statement=ended.statement, reason=ended.reason)
    sequence = tuple(trial.seq for trial in ended.trials)
    assert asked.throughput is not None
    quality = (*outcome.quality, *load_remark(asked.throughput))
    return Answered(outcomes=(replace(outcome, trials=sequence, quality=quality),), error=ended.error)


def _repeated(spec: TrialSpec, profile: Profile, repetitions: int) -> Procedure[Sequence[JudgedTrial]]:
    found: list[JudgedTrial] = []
    for number in range(repetitions):
        trial = yield from valid_trial(
            spec,
            f"repetition {number + 1}",
            max_repeats=profile.policy.max_repeats,
            short_limit=1 + profile.policy.max_repeats,
        )
        if trial is not None:
            found.append(trial)
    if not found:
        raise TesterShortError(f"the tester could not send {spec.load_fps} frames/s")
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryLoads:
    """The two loads of one recovery trial, frames/s per port and direction."""

    overload_fps: int
    reduced_fps: int


def recovery_loads(throughput_fps: int, max_load_fps: int | None) -> RecoveryLoads:
    """Return 110 % of the throughput, or the highest load where that is lower, and half of it."""
    if throughput_fps < 1:
        raise ValueError(f"throughput_fps (RFC 2544 26.5): expected at least 1, found {throughput_fps}")
    overload = throughput_fps * 11 // 10
    if max_load_fps is not None:
        overload = min(overload, max_load_fps)
    return RecoveryLoads(overload_fps=overload, reduced_fps=max(1, overload // 2))


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


def recovery_outcome(
    trials: Sequence[RecoveryTrial], cell: Cell, *, outcome_id: str, highest: bool = False
) -> Outcome:
    """Return the average recovery time.

    A trial without loss was no overload and has no recovery: the throughput it was computed from did not hold
    then, so the answer is `unstable`. With `highest` the load was the highest that the tester is qualified
    for, below 110 % of the throughput: then it is `tester_limited`.
    """
    sequence = [trial.seq for trial in trials]
    calm = [trial.seq for trial in trials if trial.overload_lost_frames == 0]
    if calm:
        kind = OutcomeType.TESTER_LIMITED if highest else OutcomeType.UNSTABLE
        load = "the tester's highest load" if highest else "110 % of the throughput"
        reason = f"no overload: {load} lost no frame in trials {calm}"
        return _none(RECOVERY_METRIC, cell, outcome_id, sequence, (kind, reason), RECOVERY_REQUIREMENTS)
    if not trials:
        broken = (OutcomeType.INVALID, "no trial")
        return _none(RECOVERY_METRIC, cell, outcome_id, sequence, broken, RECOVERY_REQUIREMENTS)
    if lasting := [trial.seq for trial in trials if not trial.recovered]:
        reason = f"frames were lost to the end of trials {lasting}: recovery takes longer than they do"
        broken = (OutcomeType.INVALID, reason)
        return _none(RECOVERY_METRIC, cell, outcome_id, sequence, broken, RECOVERY_REQUIREMENTS)
    found = spread([recovery_ms(trial) for trial in trials])
    quality = [f"average of {found.count}"]
    if short := [trial.seq for trial in trials if trial.overload_s < OVERLOAD_S]:
        quality.append(f"overload shorter than {OVERLOAD_S:g} s (RFC 2544 26.5) in trials {short}")
    return _measured(RECOVERY_METRIC, cell, outcome_id, sequence, found, RECOVERY_REQUIREMENTS, quality)


def _measured(
    metric: str,
    cell: Cell,
    outcome_id: str,
    sequence: list[int],
    found: Spread,
    requirements: tuple[str, ...],
    quality: list[str],
) -> Outcome:
    numbers = (
        (metric, found.mean),
        (f"{metric}.min", found.minimum),
        (f"{metric}.max", found.maximum),
        (f"{metric}.deviation", found.deviation),
    )
    return Outcome(
        outcome_id=outcome_id,
        metric=metric,
        cell=cell,
        type=OutcomeType.MEASURED,
        values=tuple(Quantity(metric=name, number=number, unit=UNIT) for name, number in numbers),
        trials=tuple(sequence),
        requirements=requirements,
        quality=tuple(quality),
    )


def _none(
    metric: str,
    cell: Cell,
    outcome_id: str,
    sequence: list[int],
    why: tuple[OutcomeType, str],
    requirements: tuple[str, ...],
) -> Outcome:
    kind, reason = why
    return Outcome(
        outcome_id=outcome_id,
        metric=metric,
        cell=cell,
        type=kind,
        trials=tuple(sequence),
        statement="" if kind is OutcomeType.INVALID else reason,
        reason=reason,
        requirements=requirements,
    )


RULE = FormerRule(
    metric=RECOVERY_METRIC, version=2, measure=measure, needs_throughput=True, reads_latency=True
)

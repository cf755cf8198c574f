"""The trial policy: which trials hold as procedure, and how often one that does not is repeated.

Pure. Loss never decides validity (design decision 13): a trial is judged by what the tester intended and
sent, by its own gaps, and by evidence of the host. Waits are numbers here; the caller does the waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from bmwg.methodology.records import (
    StreamCounts,
    TrialResult,
    TrialSpec,
    Validity,
)
from bmwg.methodology.trial.trial_counts import contradiction

BURST_STALL_RATIO = 0.02  # choice: a pause within a burst drains a queue, by at most that share of the answer
BURST_STALL_FLOOR_NS = 100_000  # choice: what one system call of a busy sender takes
STALL_RATIO = 0.01  # choice: a longer gap changes the load of the trial, whatever a queue takes
ACT_STALL_NS = 5_000_000  # choice: the accuracy that the time of a reset is asked for
BURST_LENGTH_EXCESS = 1.1  # choice: repeated bursts so much longer have another gap than asked for
BURST_LENGTH_FLOOR_NS = 2_000  # choice: what one pass of a polling sender takes
MAX_RATE_EXCESS = 1.05  # choice: sent in so much less time than stated is another load than stated
_NS = 1_000_000_000


class Learning(StrEnum):
    """When learning frames are sent: before each trial (RFC2544-23-02), once a deployment, or not at all."""

    TRIAL = "trial"
    DEPLOYMENT = "deployment"
    NONE = "none"


class StallEvidence(StrEnum):
    """What shows that the tester stalled, so that a trial is set aside and repeated."""

    TESTER = "tester"  # its own gap or lateness: a slow DUT in its send call looks the same
    CPU = "cpu"  # a watchdog saw the tester's CPU gone, which no DUT can bring about (design decision 13)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPolicy:
    """The numbers by which trials are run and judged; all come from the profile.

    `min_sent_ratio` of sent to intended frames (0..1). `max_stall_ns` is the limit for the tester's own gap
    and lateness, `max_host_stall_ns` for the watchdog on the SUT's CPUs, `max_steal_ns` for steal time of
    one CPU in one trial (10 ms grain). `max_stall_frames` allows a longer gap where it holds back no more
    frames than that, what a device queue takes at once (0: never). `max_repeats` is how many more times one
    load is tried when trials are not valid. `stall_evidence` is what shows a stall of the tester;
    `most_set_aside_ratio` (0..1) of the trials of an answer may be set aside before it is `unstable` (None:
    any number). `settle_s`, `learning_wait_s`, `drain_s` and `restabilize_s` are phases a, b, d and e of
    RFC 2544 section 23.
    """

    min_sent_ratio: float = 0.999  # choice: design decision 3
    max_stall_ns: int = 1_000_000  # choice: design decision 13
    max_host_stall_ns: int = 1_000_000
    max_steal_ns: int = 10_000_000
    max_stall_frames: int = 0
    max_repeats: int = 5
    set_aside_host_stalls: bool = False
    stall_evidence: StallEvidence = StallEvidence.TESTER
    most_set_aside_ratio: float | None = None
    learning: Learning = Learning.TRIAL  # RFC2544-23-02
    settle_s: float = 2.0  # RFC2544-23-01
    learning_wait_s: float = 2.0  # RFC2544-23-02
    drain_s: float = 2.0  # RFC2544-23-04
    restabilize_s: float = 5.0  # RFC2544-23-05

    def __post_init__(self) -> None:
        """Refuse numbers that no policy can have."""
        if not 0 < self.min_sent_ratio <= 1:
            raise ValueError(f"min_sent_ratio: expected above 0 and at most 1, found {self.min_sent_ratio}")
        for name in ("max_stall_ns", "max_host_stall_ns", "max_steal_ns", "max_stall_frames", "max_repeats"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: expected at least 0, found {getattr(self, name)}")
        if self.most_set_aside_ratio is not None and not 0 <= self.most_set_aside_ratio <= 1:
            raise ValueError(f"most_set_aside_ratio: expected 0..1, found {self.most_set_aside_ratio}")
        for name in ("settle_s", "learning_wait_s", "drain_s", "restabilize_s"):
            if not 0 <= getattr(self, name) <= 600:
                raise ValueError(f"{name}: expected 0..600, found {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """Whether a trial's procedure held, and the computed reason when it did not."""

    validity: Validity
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTrial:
    """A trial that the journal already holds, under its sequence number."""

    seq: int
    result: TrialResult


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTrial:
    """A recorded trial with its assessment."""

    seq: int
    result: TrialResult
    validity: Validity
    reason: str = ""

    @property
    def valid(self) -> bool:
        """Whether the trial may be part of a bound or a metric."""
        return self.validity is Validity.VALID

    @property
    def lossless(self) -> bool:
        """Valid, and every sent frame of every stream was received (RFC2544-26.1-01)."""
        return self.valid and all(stream.lost_frames == 0 for stream in self.result.streams)

    # what searches of any kind of load read of a trial (`search.offer.Tried`)

    @property
    def spec(self) -> TrialSpec:
        """What was asked for."""
        return self.result.spec

    @property
    def load(self) -> int:
        """The load that was asked for, frames/s per port and direction."""
        return self.result.spec.load_fps

    @property
    def sent(self) -> int:
        """Frames sent in all directions."""
        return self.result.sent_frames

    @property
    def lost(self) -> int:
        """Frames lost in all directions."""
        return self.result.lost_frames

    @property
    def loss_ratio(self) -> float:
        """Share of the sent frames that were lost, 0..1, all directions together."""
        return self.result.loss_ratio

    @property
    def sent_per_s(self) -> float:
        """Frames that the slower direction sent in a second of the time that sending took.

        Between ports of a pattern they are those for the worst receiver, a sender: what a load is counted by.
        """
        streams = self.result.loaded
        longest_ns = max((stream.effective_duration_ns for stream in streams), default=0)
        taken_s = max(self.result.spec.duration_s, longest_ns / 1e9)
        return self._least(stream.sent_frames for stream in streams) / taken_s

    @property
    def carried_per_s(self) -> float:
        """Frames received in a second of the trial, of the worse direction; of a pattern as `sent_per_s`."""
        received = (stream.received_frames for stream in self.result.loaded)
        return self._least(received) / self.result.spec.duration_s

    def _least(self, frames: Iterable[int]) -> float:
        """Return the fewest frames of a stream, over how many senders' loads are meant for it."""
        pattern = self.spec.pattern
        if pattern is None:
            return min(frames, default=0)
        loads = (pattern.loads_at(port) for port in pattern.receivers)
        return min(count / load for count, load in zip(frames, loads, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedTrials:
    """All trials that one valid trial took, in order."""

    trials: tuple[JudgedTrial, ...]

    @property
    def valid(self) -> JudgedTrial | None:
        """The valid trial, or None when the declared number of repeats gave none."""
        last = self.trials[-1]
        return last if last.valid else None


def assess(result: TrialResult, policy: TrialPolicy) -> Assessment:
    """Judge one trial: the first of fault, inconsistent, tester stalled, sent short, host stalled, valid.

    Bursts that left too long are `sent_short` only where no CPU of the host stalled: a stall lengthens them.

    A tester that is too slow for the load is late all the time without ever pausing: that is `sent_short`,
    not `tester_stalled`, so that a load beyond the tester is told apart from a stall that a repeat may
    avoid. Where the policy asks for evidence of a CPU, a tester that was late without it is judged by what it
    sent, and what was lost counts: the DUT may have held it up.
    """
    policy = limits_for(result.spec, policy)
    if result.fault is not None:
        return Assessment(validity=Validity.FAULT, reason=result.fault)
    if reason := contradiction(result):
        return Assessment(validity=Validity.INCONSISTENT, reason=reason)
    short = next(filter(None, (_shortage(stream, result.spec, policy) for stream in result.streams)), "")
    if policy.stall_evidence is StallEvidence.CPU:
        return _assess_by_cpu(result, policy, short)
    for stream in result.streams:
        if stream.tester_dropped_frames:
            return Assessment(
                validity=Validity.TESTER_STALLED,
                reason=f"the tester's own queue dropped {stream.tester_dropped_frames} frames",
            )
        if stream.largest_gap_ns > policy.max_stall_ns:
            return _stalled("gap", stream.largest_gap_ns, policy.max_stall_ns)
        if stream.largest_lateness_ns > policy.max_stall_ns and not short:
            return _stalled("lateness", stream.largest_lateness_ns, policy.max_stall_ns)
    if short:
        return Assessment(validity=Validity.SENT_SHORT, reason=short)
    if reason := _too_fast(result):  # it began late and caught up: another load than stated
        return Assessment(validity=Validity.TESTER_STALLED, reason=reason)
    return _assess_host(result, policy)


def _assess_by_cpu(result: TrialResult, policy: TrialPolicy, short: str) -> Assessment:
    """Judge a trial whose procedure may hold: only a CPU that was gone excuses the tester.

    A queue of the tester that drops is a load that it does not carry, whoever brought that about: where it
    may have dropped all that was lost, the trial says nothing of the DUT.
    """
    if reason := tester_absence(result, policy):
        return Assessment(validity=Validity.TESTER_STALLED, reason=reason)
    if reason := short or _too_fast(result) or _dropped_by_tester(result):
        return Assessment(validity=Validity.SENT_SHORT, reason=reason)
    return _assess_host(result, policy)


def _assess_host(result: TrialResult, policy: TrialPolicy) -> Assessment:
    """Judge a trial that was sent whole: by stalls of the host, then by the length of its bursts."""
    if policy.set_aside_host_stalls and (reason := host_stall(result, policy)):
        return Assessment(validity=Validity.HOST_STALLED, reason=reason)
    slow = next(filter(None, (_slow_bursts(stream, result.spec) for stream in result.loaded)), "")
    if slow:
        return Assessment(validity=Validity.SENT_SHORT, reason=slow)
    return Assessment(validity=Validity.VALID)


def tester_absence(result: TrialResult, policy: TrialPolicy) -> str:
    """Say which CPU of the tester was gone for longer than the policy's limit; empty when none was."""
    for watch in result.disturbance.watches if result.disturbance is not None else ():
        if watch.tester and watch.watched and watch.longest_ns > policy.max_stall_ns:
            return (
                f"the tester's CPU {watch.cpu} was gone {watch.absences} times, {watch.absent_ns} ns in all,"
                f" at most {watch.longest_ns} ns, limit {policy.max_stall_ns} ns"
            )
    return ""


def host_stall(result: TrialResult, policy: TrialPolicy) -> str:
    """Say which CPU of the SUT's host stalled longer than the policy's limits; empty when none did.

    A watchdog whose clock was held back or lost samples shows nothing.
    """
    if result.disturbance is None:
        return ""
    blind = {watch.cpu for watch in result.disturbance.watches if not watch.watched}
    for cpu, stall_ns in result.disturbance.largest_stall_ns:
        if cpu not in blind and stall_ns > policy.max_host_stall_ns:
            return f"CPU {cpu} stalled for {stall_ns} ns, limit {policy.max_host_stall_ns} ns"
    for cpu, steal_ns in result.disturbance.steal_ns:
        if steal_ns > policy.max_steal_ns:
            return f"CPU {cpu} lost {steal_ns} ns to the hypervisor, limit {policy.max_steal_ns} ns"
    return ""


def judge(trial: RecordedTrial, policy: TrialPolicy) -> JudgedTrial:
    """Give a recorded trial its assessment."""
    assessment = assess(trial.result, policy)
    return JudgedTrial(
        seq=trial.seq, result=trial.result, validity=assessment.validity, reason=assessment.reason
    )


def valid_trial(
    measurer: Callable[[TrialSpec], RecordedTrial], spec: TrialSpec, policy: TrialPolicy
) -> JudgedTrials:
    """Run one trial until it is valid, at most `1 + max_repeats` times; loss never causes a repeat.

    A fault or contradicting counts are not repeated: the set-up itself failed. Not for a search, which
    counts repeats by its own goal and takes single trials.
    """
    trials: list[JudgedTrial] = []
    for _ in range(1 + policy.max_repeats):
        trials.append(judge(measurer(spec), policy))
        if trials[-1].validity in (Validity.VALID, Validity.FAULT, Validity.INCONSISTENT):
            break
    return JudgedTrials(trials=tuple(trials))


def _held_back_ns(spec: TrialSpec, policy: TrialPolicy) -> int:
    """The gap that holds back as many frames as the policy allows, at most `STALL_RATIO` of the trial."""
    held_back_ns = policy.max_stall_frames * _NS // max(spec.load_fps, spec.then_load_fps or 0)
    return min(held_back_ns, int(STALL_RATIO * spec.duration_s * _NS))


def limits_for(spec: TrialSpec, policy: TrialPolicy) -> TrialPolicy:
    """Return the policy with the limits on stalls that this trial's answer allows.

    A burst (RFC 9004) allows less of the sender: a pause drains the queue. The outage of a reset (RFC 6201)
    is timed to `ACT_STALL_NS`: a shorter pause does not move it.
    """
    if spec.act is not None:
        return replace(
            policy,
            max_stall_ns=max(policy.max_stall_ns, ACT_STALL_NS),
            max_host_stall_ns=max(policy.max_host_stall_ns, ACT_STALL_NS),
        )
    if not spec.burst:
        return replace(policy, max_stall_ns=max(policy.max_stall_ns, _held_back_ns(spec, policy)))
    longest_ns = max(BURST_STALL_FLOOR_NS, int(BURST_STALL_RATIO * spec.duration_s * _NS))
    return replace(policy, max_stall_ns=min(policy.max_stall_ns, longest_ns))


def _stalled(what: str, found_ns: int, limit_ns: int) -> Assessment:
    reason = f"the tester's own {what} was {found_ns} ns, limit {limit_ns} ns"
    return Assessment(validity=Validity.TESTER_STALLED, reason=reason)


def _shortage(stream: StreamCounts, spec: TrialSpec, policy: TrialPolicy) -> str:
    least = 1.0 if spec.burst else policy.min_sent_ratio
    if stream.sent_frames < least * stream.intended_frames:
        return (
            f"sent {stream.sent_frames} of {stream.intended_frames} intended frames,"
            f" expected at least {least} of them"
        )
    longest_ns = int(spec.total_s * _NS / policy.min_sent_ratio) + policy.max_stall_ns
    if stream.effective_duration_ns > longest_ns:
        return f"sending took {stream.effective_duration_ns} ns, expected at most {longest_ns} ns"
    return ""


def _slow_bursts(stream: StreamCounts, spec: TrialSpec) -> str:
    """Say that bursts which repeat left with wider gaps than they were to, so that none had the least gap."""
    if spec.burst_frames is None or spec.burst_fps is None:
        return ""
    bursts = stream.bursts
    if bursts is None or not bursts.bursts:
        return "the tester does not tell how its bursts left" if bursts is None else "no burst left whole"
    mean_ns = bursts.lengths_ns / bursts.bursts
    asked_ns = (spec.burst_frames - 1) * _NS / spec.burst_fps
    if mean_ns > asked_ns * BURST_LENGTH_EXCESS + BURST_LENGTH_FLOOR_NS:
        return f"bursts took {mean_ns:.0f} ns from the first to the last frame, expected {asked_ns:.0f} ns"
    return ""


def _dropped_by_tester(result: TrialResult) -> str:
    """Say that the tester's own queues dropped as many frames as were lost; empty where more were lost."""
    lossy = [stream for stream in result.streams if stream.lost_frames]
    if not lossy or any(stream.lost_frames > stream.tester_dropped_frames for stream in lossy):
        return ""
    dropped = sum(stream.tester_dropped_frames for stream in lossy)
    lost = sum(stream.lost_frames for stream in lossy)
    return f"the tester's own queue dropped {dropped} frames, and {lost} were lost"


def _too_fast(result: TrialResult) -> str:
    for stream in result.streams:
        if stream.effective_duration_ns and stream.sent_frames > 1:
            rate_fps = (stream.sent_frames - 1) * _NS / stream.effective_duration_ns
            each = stream.intended_frames if result.spec.pattern else result.spec.intended_frames
            intended_fps = each / result.spec.due_s
            if rate_fps > max(intended_fps, 1.0) * MAX_RATE_EXCESS:
                return f"sent at {rate_fps:.0f} frames/s, intended {intended_fps:.0f}"
    return ""

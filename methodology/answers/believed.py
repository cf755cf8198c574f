"""Whether an answer is believed: how many of its trials were set aside, and the answer with all of them.

Headers of runs call this procedure `standing` (`procedures.STANDING`); so are its earlier versions named.

A trial is set aside when it was not valid and nothing broke: another one at the same load counts in its
place. So it can raise an answer unseen (design decision 13). Each answer says how many there were and what
all of them together allow; above the profile's share it is no answer but `unstable`. That share is of trials
at more than half of the answer (docs/adr/0263) that last at least half as long as the longest one
(docs/adr/0286). One trial alone never exceeds the share: an answer of few trials may set aside one in which
a watchdog saw the tester's CPU gone (docs/adr/0269).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bmwg.methodology.answers import throughput
from bmwg.methodology.benchmarks import burst_interval
from bmwg.methodology.measurements.remarks import CONTINUED
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import Outcome, OutcomeType, Validity
from bmwg.methodology.search import tst009
from bmwg.methodology.search.contradictions import contradiction
from bmwg.methodology.trial import counted_stalls
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy

_WORDS = {
    Validity.TESTER_STALLED: "tester stalled",
    Validity.HOST_STALLED: "the SUT's host stalled",
    Validity.SENT_SHORT: "sent short",
}
_BROKEN = (Validity.FAULT, Validity.INCONSISTENT)
# Answers that say that a load, or more, passed: what is set aside can only have raised them.
_CLAIMS = (OutcomeType.MEASURED, OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """How many of the trials of an answer were set aside, by why; `tried` are all in which nothing broke.

    `sent_frames` and `lost_frames` are those of the trials set aside, all directions.
    """

    tried: int
    by_validity: tuple[tuple[Validity, int], ...]
    sent_frames: int
    lost_frames: int

    @property
    def count(self) -> int:
        """Trials that were set aside."""
        return sum(count for _, count in self.by_validity)

    @property
    def ratio(self) -> float:
        """Share of the trials that were set aside, 0..1."""
        return self.count / self.tried if self.tried else 0.0

    def __str__(self) -> str:
        """Say it in a sentence."""
        why = ", ".join(f"{_WORDS[validity]} {count}" for validity, count in self.by_validity)
        return (
            f"{self.count} of {self.tried} trials set aside ({why}),"
            f" in which {self.lost_frames} of {self.sent_frames} frames were lost"
        )


def set_aside(trials: Sequence[JudgedTrial]) -> SetAside:
    """Count the trials of an answer that were set aside.

    One that was sent short is when a valid one at its load counted in its place: else it says itself that the
    tester cannot send that load.
    """
    counted = {trial.result.spec for trial in trials if trial.valid}
    aside = [
        trial
        for trial in trials
        if trial.validity in (Validity.TESTER_STALLED, Validity.HOST_STALLED)
        or (trial.validity is Validity.SENT_SHORT and trial.result.spec in counted)
    ]
    number = Counter(trial.validity for trial in aside)
    return SetAside(
        tried=sum(trial.validity not in _BROKEN for trial in trials),
        by_validity=tuple((validity, number[validity]) for validity in _WORDS if number[validity]),
        sent_frames=sum(trial.result.sent_frames for trial in aside),
        lost_frames=sum(trial.result.lost_frames for trial in aside),
    )


def lossless_over_all(trials: Sequence[JudgedTrial]) -> int | None:
    """Return the highest load (frames/s) without loss over all trials, those set aside as well.

    No trial at that load or at a lower one lost a frame, whatever became of it, and a valid one passed at
    that load; None when there is no such load.
    """
    lossy = [_load(trial) for trial in trials if trial.result.lost_frames]
    lowest = min(lossy, default=None)
    passed = [_load(trial) for trial in trials if trial.valid]
    return max((load for load in passed if lowest is None or load < lowest), default=None)


def _load(trial: JudgedTrial) -> int:
    return max(trial.result.spec.load_fps, trial.result.spec.then_load_fps or 0)


def above_half(
    trials: Sequence[JudgedTrial], lower_fps: int | None, longest_s: float | None = None
) -> Sequence[JudgedTrial]:
    """Return the trials at more than half of an answer (frames/s) and at least half as long as the longest.

    Others say little of what disturbs: thirty checks of two seconds would make a disturbed answer look calm.
    `longest_s` is the trial duration of a goal, where the answer is for one.
    """
    if longest_s is None:
        longest_s = max((trial.result.spec.duration_s for trial in trials), default=0.0)
    return [
        trial
        for trial in trials
        if (lower_fps is None or 2 * _load(trial) > lower_fps + 1)
        and 2 * trial.result.spec.duration_s >= longest_s
    ]


def believed(
    outcome: Outcome,
    trials: Sequence[JudgedTrial],
    *,
    most_ratio: float | None,
    continued: bool,
    by_cpu: bool = False,
    policy: TrialPolicy | None = None,
) -> Outcome:
    """Return an outcome with what must stand beside it, or `unstable` where it stands on too little.

    `trials` are all of the outcome, `most_ratio` (0..1) is the share of those `above_half` that may be set
    aside (None: any), `continued` says that the run was cut off between them. With `by_cpu` a tester has
    stalled only where a watchdog saw its CPU gone: one such trial is within every share. The tester's own
    qualification is not held to the share: what disturbs it lowers what devices may be credited with. With
    `policy`, one that sets no stall of the SUT's host aside, stalls that count as loss are told
    (docs/adr/0370).
    """
    aside = set_aside(trials)
    lower_fps = outcome.lower.load_fps if outcome.lower is not None else None
    claim = goal_outcomes.claim(outcome.metric)
    share = set_aside(above_half(trials, lower_fps, None if claim is None else claim.duration_s))
    refused = (
        most_ratio is not None
        and share.ratio > most_ratio
        and not (by_cpu and aside.by_validity == ((Validity.TESTER_STALLED, 1),))
        and outcome.type in _CLAIMS
        and not outcome.cell.qualifies_tester
    )
    over_all = _over_all(trials)
    remarks: list[str] = []
    if aside.count:
        remarks.append(f"{aside}; {over_all}{_leans(outcome, trials)}")
    if unsent := _unsent(outcome, trials):
        remarks.append(unsent)
    if policy is not None and (counted := counted_stalls.remark(outcome, trials, policy)):
        remarks.append(counted)
    if lossy := _forgiven(outcome, trials):
        remarks.append(lossy)
    if continued:
        remarks.append(CONTINUED)
    outcome = replace(outcome, quality=(*outcome.quality, *remarks))
    if not refused:
        return _uncontradicted(outcome, trials)
    assert most_ratio is not None
    reason = (
        f"{share.count} of {share.tried} trials were set aside (limit {100 * most_ratio:.3g}%); {over_all}"
    )
    return replace(outcome, type=OutcomeType.UNSTABLE, values=(), statement=reason, reason=reason)


def _uncontradicted(outcome: Outcome, trials: Sequence[JudgedTrial]) -> Outcome:
    """Return the answer of a search for little loss, `unstable` where its own valid trials contradict it."""
    bursty = outcome.metric.startswith(f"{burst_interval.METRIC}.")
    if not (bursty or _for_little_loss(outcome)) or outcome.type not in (*_CLAIMS, OutcomeType.AT_FLOOR):
        return outcome
    lower = outcome.lower.load_fps if outcome.lower is not None else None
    upper = outcome.upper.load_fps if outcome.upper is not None else None
    if (ends := throughput.interval(outcome)) is not None:  # what the trials after the search moved
        lower, upper = ends
    if bursty:  # what a queue cannot hold of a burst is lost at any interval: it need not grow with the load
        upper = None
    claim = goal_outcomes.claim(outcome.metric)
    reason = contradiction(trials, lower_fps=lower, upper_fps=upper, claim=claim)
    if not reason:
        return outcome
    return replace(outcome, type=OutcomeType.UNSTABLE, values=(), statement=reason, reason=reason)


def _forgiven(outcome: Outcome, trials: Sequence[JudgedTrial]) -> str:
    """Say how many trials lost at an answer that forgives a share of them, and at half of it.

    A device that loses in so many at any load has the same answer as one that loses at its limit. Nothing is
    said where the trials after the search said it.
    """
    claim = goal_outcomes.claim(outcome.metric)
    forgives = outcome.metric == tst009.METRIC or (claim is not None and claim.exceed_ratio > 0)
    if not forgives or outcome.lower is None or outcome.type not in _CLAIMS:
        return ""
    load, ratio = outcome.lower.load_fps, claim.loss_ratio if claim is not None else 0.0
    longest_s = max((trial.spec.duration_s for trial in trials), default=0.0)
    duration_s = claim.duration_s if claim is not None else longest_s
    counted = [trial for trial in trials if trial.valid and trial.spec.duration_s == duration_s]
    at, half = (
        [judged_trial for judged_trial in counted if judged_trial.load == here]
        for here in (load, max(1, load // 2))
    )
    lost_at, lost_half = (sum(one.loss_ratio > ratio for one in those) for those in (at, half))
    if not lost_at + lost_half or any(f" trials at {load} " in text for text in outcome.quality):
        return ""
    return (
        f"{lost_at} of {len(at)} trials at {load} frames/s lost more than allowed, and {lost_half} of"
        f" {len(half)} at half of it"
    )


def _for_little_loss(outcome: Outcome) -> bool:
    """Whether the outcome is of a search on a device for the highest load with no loss or little of it."""
    return outcome.metric in (throughput.METRIC, tst009.METRIC) or (
        goal_outcomes.claim(outcome.metric) is not None
    )


def _over_all(trials: Sequence[JudgedTrial]) -> str:
    found = lossless_over_all(trials)
    if found is None:
        return "no load is known up to which every trial was without loss"
    return f"every trial up to {found} frames/s was without loss"


def _leans(outcome: Outcome, trials: Sequence[JudgedTrial]) -> str:
    """Say that an answer is no longer the same, within its width, when all trials count.

    Nothing is said where it is the valid trials that lost frames below it: the search allows for that.
    """
    if outcome.type not in _CLAIMS or outcome.lower is None:
        return ""
    lower, found = outcome.lower.load_fps, lossless_over_all(trials)
    if found == lossless_over_all([trial for trial in trials if trial.valid]):
        return ""
    width = throughput.WIDE * lower
    if outcome.upper is not None:
        width = max(width, outcome.upper.load_fps - lower)
    return (
        "" if found is not None and found >= lower - width else "; if they counted, the answer might be lower"
    )


def _unsent(outcome: Outcome, trials: Sequence[JudgedTrial]) -> str:
    """Say how many frames of the trials that prove a lower bound were never sent."""
    if outcome.lower is None:
        return ""
    proof = [trial for trial in trials if trial.seq in set(outcome.lower.trials)]
    streams = [stream for trial in proof for stream in trial.result.streams]
    unsent = sum(stream.unsent_frames for stream in streams)
    if not unsent:
        return ""
    intended = sum(stream.intended_frames for stream in streams)
    return f"at {outcome.lower.load_fps} frames/s {unsent} of {intended} intended frames were never sent"

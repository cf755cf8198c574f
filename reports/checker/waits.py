"""What the journal's times say of the waits around trials (RFC 2544 section 23). Times are nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from bmwg.methodology.records import RESIDUAL_WAIT
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.verdicts import Answer, held, not_applicable, not_assessed

NO_LENGTH = "the tester does not tell how long it sent"
NO_TIMES = "the journal does not say when the steps around a trial happened"


def waited(found_ns: Iterable[int | None], least_s: float, what: str, silent: str = NO_TIMES) -> Answer:
    """Hold the shortest of some waits against what a clause asks; not assessed where one is not told."""
    waits = list(found_ns)
    known = [wait for wait in waits if wait is not None]
    expected = f"at least {least_s:g} s {what}"
    short = sum(one < least_s * 1e9 for one in known)
    if short:
        return held(
            False, expected, f"{short} of {len(waits)} shorter, the shortest {min(known) / 1e9:.3f} s"
        )
    if len(known) < len(waits):
        return not_assessed(silent)
    if not waits:
        return not_applicable(f"nothing to wait for: no trial {what}")
    return held(True, expected, f"the shortest of {len(waits)} is {min(known) / 1e9:.3f} s")


def residual_ns(trial: Trial) -> int | None:
    """Return how long the tester went on receiving after the last frame; None where nothing tells it.

    A tester that does not tell cannot have waited longer than its command took beside the sending.
    """
    told = dict(trial.trial.result.auxiliary).get(RESIDUAL_WAIT)
    if told is not None or trial.times is None:
        return told
    sending = max((s.effective_duration_ns for s in trial.trial.result.streams), default=0)
    most = trial.times.ended_ns - trial.times.began_ns - sending
    return most if most < 2_000_000_000 else None  # rfc2544-23: enough to be told short, not to be told long


def sent_to_the_end(trial: Trial) -> bool:
    """Whether each stream of a trial was sent for as long as was asked for, but for a hundredth."""
    spec, streams = trial.trial.result.spec, trial.trial.result.streams
    # n frames leave in n - 1 intervals, so the last one is due an interval before the end
    asked_ns = min(spec.total_s * (1 - 1 / max(2, spec.intended_frames)), spec.due_s) * 1e9
    return not any(s.effective_duration_ns < 0.99 * asked_ns for s in streams if s.sent_frames > 1)


def lasted_s(trial: Trial) -> float:
    """Return how long the streams of a trial lasted (s): what was asked for where the tester sent as long."""
    result = trial.trial.result
    if sent_to_the_end(trial):
        return result.spec.duration_s
    return min(stream.effective_duration_ns for stream in result.streams if stream.sent_frames > 1) / 1e9


def untold(trial: Trial) -> bool:
    """Whether the tester does not tell how long it sent a stream of a trial."""
    streams = trial.trial.result.streams
    return any(one.sent_frames > 1 and not one.effective_duration_ns for one in streams)


def shortest_s(trials: Iterable[Trial]) -> float | None:
    """Return the shortest time that trials lasted (s), 0 without any; None where a tester does not tell.

    Of one that was not valid, and so has no number of its own, what was asked for counts.
    """
    lasted: list[float] = []
    for trial in trials:
        if trial.trial.valid and untold(trial):
            return None
        lasted.append(lasted_s(trial) if trial.trial.valid else trial.trial.result.spec.duration_s)
    return min(lasted, default=0.0)


def learning_ns(trial: Trial) -> int | None:
    """Return the wait after the learning frames of a trial, 0 where none were sent; None without times."""
    if trial.times is None:
        return None
    return 0 if trial.times.learnt_ns is None else trial.times.began_ns - trial.times.learnt_ns


def settling_ns(evidence: Evidence, deployments: Iterable[str]) -> list[int | None]:
    """Return, for each deployment, the time from when it stood to the first frame that could leave."""
    first = {trial.deployment_id: trial for trial in reversed(evidence.trials)}
    mine = [first[name].times for name in dict.fromkeys(deployments)]
    return [None if one is None else one.first_ns - one.deployed_ns for one in mine]


def resting_ns(evidence: Evidence, trials: Iterable[Trial]) -> list[int | None]:
    """Return the time between the end of each of these trials and the next one on its deployment."""
    wanted = {trial.trial.seq for trial in trials}
    by_deployment: dict[str, list[Trial]] = {}
    for trial in evidence.trials:
        by_deployment.setdefault(trial.deployment_id, []).append(trial)
    found: list[int | None] = []
    for group in by_deployment.values():
        for before, after in pairwise(group):
            if before.trial.seq in wanted or after.trial.seq in wanted:
                if before.times is None or after.times is None:
                    found.append(None)
                else:
                    found.append(after.times.first_ns - before.times.ended_ns)
    return found

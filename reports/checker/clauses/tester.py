"""RFC 2544 sections 6 and 10 as rules: what the tester looks at in the frames that come back."""

from __future__ import annotations

from bmwg.methodology.records import Validity
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    by_construction,
    clause,
    held,
    not_applicable,
    not_assessed,
)

KNOWN_BY = ("signature", "flow")  # of what a tester looks at in a frame, what tells its own from others


def told(scope: Scope, key: str) -> list[object]:
    """Return what the run's testers say of themselves under a key, each once; none where one is silent."""
    said: list[object] = []
    for driver in [one for one in scope.run["drivers"] if "driver" in one]:  # a guest's machine is no tester
        if key not in driver:
            return []
        if driver[key] not in said:
            said.append(driver[key])
    return said


def _finished(scope: Scope) -> list[Trial]:
    """Return the trials whose counts are whole, also those that contradict themselves."""
    return [trial for trial in scope.trials if not trial.fault]


def _surplus(trials: list[Trial]) -> list[int]:
    """Return the trials with more unique test frames received than were sent."""
    return [
        t.trial.seq for t in trials if any(s.received_frames > s.sent_frames for s in t.trial.result.streams)
    ]


def _others(trials: list[Trial]) -> list[Trial]:
    return [t for t in trials if any(s.foreign_frames for s in t.trial.result.streams)]


@clause("RFC2544-6-02")
def frames_checked(scope: Scope) -> Answer:
    """Sent, received and other frames are counted apart by what is in each, and the counts agree."""
    finished = _finished(scope)
    wrong = [t.trial.seq for t in finished if t.trial.validity is Validity.INCONSISTENT]
    found = f"{len(finished)} trials, the counts of {len(wrong)} contradict each other {wrong[:5]}"
    expected = f"trials whose counts agree, of frames known by {' or '.join(KNOWN_BY)}"
    said = told(scope, "verifies")
    if finished and not wrong and not said:
        return not_assessed("the tester does not say by what it knows its frames")
    blind = not all(isinstance(one, list) and set(KNOWN_BY) & set(map(str, one)) for one in said)
    return held(bool(finished) and not wrong and not blind, expected, found + "; any frame counts" * blind)


@clause("RFC2544-10-01")
def foreign_discarded(scope: Scope) -> Answer:
    """Frames without the trial's signature are counted apart: never more test frames than were sent."""
    return _discarded(scope, "frames that are no test frames counted apart")


@clause("RFC2544-10-02")
def keepalive_not_counted(scope: Scope) -> Answer:
    """As 10-01: keep-alive frames and routing updates have no signature of the trial."""
    return _discarded(scope, "keep-alive and routing frames counted apart")


def _discarded(scope: Scope, expected: str) -> Answer:
    finished = _finished(scope)
    if wrong := _surplus(finished):
        return held(False, expected, f"more received than sent in {len(wrong)} trials {wrong[:5]}")
    others = _others(finished)
    if not others:
        return not_applicable("no frame but test frames came back in any trial")
    return held(True, expected, f"apart from what was received in {len(others)} trials")


@clause("RFC2544-10-03")
def lengths_verified(scope: Scope) -> Answer:
    """The tester compares the length of what it receives; a device that corrupts frames is found by that."""
    damaged = sum(any(s.corrupt_frames for s in t.trial.result.streams) for t in scope.trials)
    if damaged:
        return held(
            True, "lengths compared", f"frames of another length or payload found in {damaged} trials"
        )
    return _verifies(scope, "length")


@clause("RFC2544-10-04")
def sequence_checked(scope: Scope) -> Answer:
    """The tester numbers its frames and looks at the numbers: duplicates, order or gaps were told."""
    seen = sum(
        any(s.duplicate_frames or s.reordered_frames or s.losses for s in t.trial.result.streams)
        for t in scope.trials
    )
    if seen:
        return held(True, "sequence numbers looked at", f"order, duplicates or gaps told in {seen} trials")
    return _verifies(scope, "sequence")


@clause("RFC2544-10-05")
def sequence_reported(scope: Scope) -> Answer:
    """Where frames were lost, the number of gaps stands beside loss, order and duplicates."""
    said = told(scope, "verifies")
    if said and not any(isinstance(one, list) and "sequence" in one for one in said):
        return not_applicable("the tester puts no sequence numbers into its frames")
    lossy = [t for t in scope.trials if t.trial.valid and t.trial.result.lost_frames]
    if not lossy:
        return held(bool(scope.trials), "lost, reordered, duplicate frames and gaps", "no frame was lost")
    silent = [
        t.trial.seq for t in lossy if any(s.lost_frames and s.losses is None for s in t.trial.result.streams)
    ]
    found = f"{len(silent)} of {len(lossy)} trials with loss do not count their gaps {silent[:5]}"
    return held(not silent, "lost, reordered, duplicate frames and gaps of each trial", found)


def _verifies(scope: Scope, what: str) -> Answer:
    """Return what the tester says that it compares: it can do no other, and contract tests show it."""
    said = told(scope, "verifies")
    if not said:
        return not_assessed("the tester does not say what it verifies of a frame")
    expected = f"the {what} of received frames verified"
    if all(isinstance(one, list) and what in one for one in said):
        return by_construction(expected, "the tester verifies it in each frame")
    return by_construction(expected, "the tester says that it does not", condition=False)

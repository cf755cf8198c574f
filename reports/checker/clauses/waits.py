"""RFC 2544 section 23 as rules: the five phases of a trial, by the journal's times."""

from __future__ import annotations

from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
    not_assessed,
)
from bmwg.reports.checker.waits import (
    NO_LENGTH,
    NO_TIMES,
    learning_ns,
    residual_ns,
    resting_ns,
    sent_to_the_end,
    settling_ns,
    untold,
    waited,
)

WAIT_S = 2.0  # rfc2544-23
RESTABILIZE_S = 5.0  # rfc2544-23
ROUTING = frozenset({"kernel-l3", "firewall", "nat44"})  # functions that forward by routes


@clause("RFC2544-23-01")
def routing_wait(scope: Scope) -> Answer:
    """Phase a: from when a router's routes stand to the first frame on the deployment."""
    cells = {outcome.cell.cell_id for outcome in scope.outcomes if outcome.cell.function in ROUTING}
    mine = [trial.deployment_id for trial in scope.trials if trial.cell_id in cells]
    if not mine:
        return not_applicable("no cell of the run forwards by routes")
    return waited(settling_ns(scope.evidence, mine), WAIT_S, "after a router's routes stand")


@clause("RFC2544-23-02")
def learning(scope: Scope) -> Answer:
    """Phase b: learning frames before each trial, then a wait."""
    if not scope.trials:
        return not_applicable("the run holds no trial of it")
    if any(trial.times is None for trial in scope.trials):
        return not_assessed(NO_TIMES)
    without = [t.trial.seq for t in scope.trials if t.times is not None and t.times.learnt_ns is None]
    if without:
        found = f"none before {len(without)} of {len(scope.trials)} trials {without[:5]}"
        return held(False, f"learning frames before each trial, then {WAIT_S:g} s", found)
    return waited(map(learning_ns, scope.trials), WAIT_S, "after the learning frames")


@clause("RFC2544-23-03")
def trial_run(scope: Scope) -> Answer:
    """Phase c: each valid trial sent for as long as it was asked to."""
    valid = [trial for trial in scope.trials if trial.trial.valid]
    if not valid:
        return not_applicable("the run holds no valid trial of it")
    if any(map(untold, valid)):
        return not_assessed(NO_LENGTH)
    wrong = [trial.trial.seq for trial in valid if not sent_to_the_end(trial)]
    found = f"{len(wrong)} of {len(valid)} trials sent for less {wrong[:5]}"
    return held(not wrong, "sending for as long as the trial says", found)


@clause("RFC2544-23-04")
def residual_wait(scope: Scope) -> Answer:
    """Phase d: the tester goes on receiving after the last frame."""
    finished = [trial for trial in scope.trials if not trial.fault]
    silent = "the tester does not say how long it went on receiving after the last frame"
    return waited(map(residual_ns, finished), WAIT_S, "after the last frame sent", silent)


@clause("RFC2544-23-05")
def restabilize(scope: Scope) -> Answer:
    """Phase e: the device rests between two trials of one deployment."""
    return waited(resting_ns(scope.evidence, scope.trials), RESTABILIZE_S, "between two trials")

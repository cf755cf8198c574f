"""RFC 2544 section 12 as rules: frames spread over 256 destination networks, by what testers counted of each.

A tester draws the network of each frame and counts frames by network, sent and received. Trials hold the
counts and the seed; what a tester says of itself is no evidence.
"""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology.records import Cell
from bmwg.methodology.trial.destinations import FEWEST_FRAMES, MOST_DEVIATIONS, SEED, deviations, total
from bmwg.methodology.trial.trial_limits import MAX_NETWORKS
from bmwg.reports.checker.evidence import Trial
from bmwg.reports.checker.proof import NAMED
from bmwg.reports.checker.verdicts import Answer, Scope, clause, held, not_assessed


def _spread(scope: Scope) -> list[Trial]:
    """Return the valid trials whose frames were to go to 256 networks."""
    return [
        trial
        for trial in scope.trials
        if trial.trial.valid and trial.trial.result.spec.destination_networks >= MAX_NETWORKS
    ]


@clause("RFC2544-12-02")
def many_pairs(scope: Scope) -> Answer:
    """Each condition was also measured with random destinations: each trial holds its seed and counts."""
    expected = (
        f"each condition to {MAX_NETWORKS} random destination networks as well, each trial with its seed"
    )
    trials = _spread(scope)
    if not trials:
        return held(False, expected, "every valid trial went to one address, or to fewer networks")
    reached = {trial.cell_id for trial in trials}
    conditions: dict[Cell, bool] = {}
    for cell in dict.fromkeys(outcome.cell for outcome in scope.outcomes):
        condition = replace(cell, flows=1, destination_networks=1)
        conditions[condition] = conditions.get(condition, False) or cell.cell_id in reached
    if lacking := [condition.cell_id for condition, there in conditions.items() if not there]:
        found = f"{len(lacking)} of {len(conditions)} conditions without {lacking[:NAMED]}"
        return held(False, expected, found)
    silent = [
        one.trial.seq
        for one in trials
        if SEED not in dict(one.trial.result.auxiliary)
        or any(sum(count > 0 for count in s.sent_by_network) < 2 for s in one.trial.result.streams)
    ]
    found = f"{len(trials)} trials, {len(silent)} of them without a seed or to one network {silent[:NAMED]}"
    return held(not silent, expected, found)


@clause("RFC2544-12-03")
def evenly_drawn(scope: Scope) -> Answer:
    """In each direction all 256 networks got as many frames as chance gives, neither more nor less even."""
    expected = f"{MAX_NETWORKS} networks, chi-square within {MOST_DEVIATIONS:g} standard deviations each way"
    trials = _spread(scope)
    if not trials:
        return held(False, expected, "every valid trial went to one address, or to fewer networks")
    told: list[str] = []
    kept = True
    for number in range(max(len(trial.trial.result.streams) for trial in trials)):
        streams = [
            one.trial.result.streams[number] for one in trials if number < len(one.trial.result.streams)
        ]
        frames = total(streams)
        if sum(frames) < FEWEST_FRAMES * MAX_NETWORKS:
            return not_assessed(f"{sum(frames)} frames say nothing of {MAX_NETWORKS} networks")
        found, reached = deviations(frames), sum(count > 0 for count in frames)
        kept = kept and abs(found) <= MOST_DEVIATIONS and reached == MAX_NETWORKS
        told.append(f"{sum(frames)} frames to {reached} networks, {found:+.1f} standard deviations")
    return held(kept, expected, "; ".join(told))

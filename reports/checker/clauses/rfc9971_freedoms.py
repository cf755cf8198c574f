"""RFC 9971 section 4.9 as rules: what is left open, and how a system is set up."""

from __future__ import annotations

from collections.abc import Mapping

from bmwg.methodology.records import Outcome, Validity
from bmwg.reports.checker.clauses.tester import told
from bmwg.reports.checker.deployed import recorded
from bmwg.reports.checker.proof import NAMED, none_wrong, taken
from bmwg.reports.checker.verdicts import (
    Answer,
    Scope,
    clause,
    held,
    not_applicable,
)


@clause("RFC9971-4.9.1-01")
def freedoms_documented(scope: Scope) -> Answer:
    """The tester says how duplicate and reordered frames count."""
    testers = told(scope, "counting")
    said = [tester for tester in testers if isinstance(tester, Mapping)]
    kinds = {"duplicate_frames", "reordered_frames"}
    whole = bool(said) and len(said) == len(testers) and all(kinds <= set(one) for one in said)
    words = "; ".join(f"{name}: {text}" for one in said for name, text in one.items())
    return held(whole, "how the tester counts duplicate and reordered frames", words or "no driver says it")


@clause("RFC9971-4.9.1-02")
def tester_first(scope: Scope) -> Answer:
    """The tester alone was measured for the same traffic, and is the highest load."""
    lacking = [outcome.cell.cell_id for outcome in scope.outcomes if not _qualified_before(scope, outcome)]
    found = f"{len(lacking)} results without, or before it"
    return held(not lacking, "the tester's own envelope first, as highest load", found)


def _qualified_before(scope: Scope, one: Outcome) -> bool:
    before = scope.evidence.qualification(one.cell)
    ends = max(before.trials, default=0) if before is not None else 0
    return scope.evidence.envelope_fps(one.cell) is not None and ends < min(one.trials, default=ends + 1)


@clause("RFC9971-4.9.1-03")
def short_counts_as_loss(scope: Scope) -> Answer:
    """A trial that sent too few frames proves an upper bound, and is not set aside."""
    short = {trial.trial.seq for trial in scope.trials if trial.trial.validity is Validity.SENT_SHORT}
    if not short:
        return not_applicable("every trial sent as many frames as the profile asks for")
    bounds = {seq for outcome in scope.outcomes if outcome.upper is not None for seq in outcome.upper.trials}
    aside = sorted(short - bounds)
    found = f"{len(aside)} of {len(short)} short trials were set aside {aside[:NAMED]}"
    return held(not aside, "frames that were not sent count as lost", found)


@clause("RFC9971-4.9.3-01")
def initialized_first(scope: Scope) -> Answer:
    """Machine and deployment were recorded and the tester qualified before the first trial of each search."""
    platform = scope.evidence.platform or {"base": {"before": None}, "deployments": {}}
    wrong = []
    for outcome in scope.outcomes:
        trials = taken(scope, outcome)
        first = trials[0].trial.seq if trials else 0
        before = scope.evidence.qualification(outcome.cell)
        qualified = before is not None and bool(before.trials) and max(before.trials) < first
        described = bool(trials) and trials[0].deployment_id in platform["deployments"]
        if not (qualified and described and platform["base"]["before"]):
            wrong.append(outcome.outcome_id)
    expected = "a record, a deployment and a qualified tester before the first trial"
    return none_wrong(wrong, len(scope.outcomes), expected, "results")


@clause("RFC9971-4.9.3-02")
def configuration_held(scope: Scope) -> Answer:
    """A record of the machine, and each deployment that trials ran on."""
    return recorded(scope, "a record, and each deployment's configuration")

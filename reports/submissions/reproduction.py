"""Whether another party's bundle reproduces a first one: who may, and what is held against what."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from bmwg.methodology.errors import ConfigError
from bmwg.reports import rooms
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import shown
from bmwg.reports.checker.state import not_whole, state
from bmwg.reports.compare.reproduce import Agreement, Reproduced, Stated, reproduce, stated_by
from bmwg.reports.submissions.keyring import Role
from bmwg.reports.submissions.standing import Level, Standing

_AROUND = frozenset({"wall_ns"})  # the time around what an execution counted
SAME_RATIO = 0.05  # choice: two runs that share a twentieth of their trials are one: counts hardly repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What is asked of a bundle that may reproduce another, or be reproduced.

    `trials` are digests. `not_whole` says why it is no whole measurement; empty when it is one.
    """

    organization: str
    product: tuple[str, str]  # name, version
    key_ids: frozenset[str]
    trials: frozenset[str]
    stated: Mapping[tuple[str, str], Stated]
    standing: Standing | None = None
    not_whole: tuple[str, ...] = ()


def candidate(evidence: Evidence, key_ids: frozenset[str], standing: Standing | None = None) -> Candidate:
    """Return it of a bundle that verifies."""
    submission = evidence.submission or {}
    product = submission.get("product") or {}
    return Candidate(
        organization=submission.get("organization", ""),
        product=(product.get("name", ""), product.get("version", "")),
        key_ids=key_ids,
        trials=digests(evidence),
        stated=stated(evidence),
        standing=standing,
        not_whole=not_whole(state(evidence)),
    )


def digests(evidence: Evidence) -> frozenset[str]:
    """Return digests of what each trial or repetition counted, whatever it is called and however long it was.

    Of frames there is one of the counts, with the gaps in ns that no two trials share, and one of the
    latencies. Where a tester tells neither, its time is all that tells trials apart.
    """
    counted = []
    for trial in evidence.trials:
        result = trial.trial.result
        if any(stream.received_frames for stream in result.streams):
            told = any(stream.largest_gap_ns or stream.effective_duration_ns for stream in result.streams)
            counted.append(repr(result.streams if told else (result.wall_time_ns, result.streams)))
            counted += [repr(delay.fingerprint) for delay in trial.delays if delay.telling]
    counted += [
        repr(sorted((key, str(value)) for key, value in execution.body.result.items() if key not in _AROUND))
        for execution in evidence.executions
    ]
    return frozenset(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32] for text in counted)


def stated(evidence: Evidence) -> dict[tuple[str, str], Stated]:
    """Return what a run states of devices."""
    specs = {trial.trial.seq: trial.trial.result.spec for trial in evidence.trials}
    loads = {
        outcome.outcome_id: specs[outcome.trials[0]].load_fps
        for outcome in evidence.outcomes
        if outcome.trials and outcome.trials[0] in specs
    }
    times_s: dict[int, float] = {seq: spec.duration_s for seq, spec in specs.items()}
    for execution in evidence.executions:
        if (time_s := execution.body.spec.get("duration_s")) is not None:
            times_s[execution.seq] = time_s
    durations = {
        outcome.outcome_id: max(mine)
        for outcome in evidence.outcomes
        if (mine := [times_s[seq] for seq in outcome.trials if seq in times_s])
    }
    return stated_by(evidence.outcomes, loads, durations, rooms.marks_in(evidence))


def shared(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two runs hold so many equal trials that they are one."""
    both = len(one & other)
    return both > 0 and both >= SAME_RATIO * min(len(one), len(other))


def require_two_parties(first: Candidate, second: Candidate) -> None:
    """Raise ConfigError CMP-09 where two bundles are of one key, or hold the same trials."""
    for why in _one_party(first, second):
        raise ConfigError(
            "CMP-09", "--reproduce", expected="runs of two parties, each with trials of its own", found=why
        )


def held(first: Candidate, second: Candidate) -> Reproduced:
    """Hold two runs against each other; of one that sent no frame nothing can be told.

    Raises ConfigError CMP-09.
    """
    require_two_parties(first, second)
    found = reproduce(first.stated, second.stated)
    why = next((said for said in (*first.not_whole, *second.not_whole) if said.startswith("simulated:")), "")
    if not why:
        return found
    untold = tuple(replace(one, agreement=Agreement.CANNOT_TELL, why=why) for one in found.held)
    return Reproduced(held=untold, agreement=Agreement.CANNOT_TELL, why=f"of {len(untold)} figures: {why}")


def beside(first: Candidate, second: Candidate) -> Standing | None:
    """Return how the first stands with the second beside it."""
    if first.standing is None:
        return None
    why, differs = next(_not_by(first, second), ""), False
    if not why:
        found = reproduce(first.stated, second.stated)
        why = "" if found.agreement is Agreement.AGREES else f"{found.agreement.value}, {found.why}"
        differs = found.agreement is Agreement.DIFFERS
    said = f"{shown(second.organization)}: {why}" if why else ""
    return replace(first.standing, unreproduced=said, otherwise=(said,) if differs else ())


def _not_by(first: Candidate, second: Candidate) -> Iterator[str]:
    yield from _one_party(first, second)
    if first.product != second.product:
        yield "it is of another product or version"
    for said in second.not_whole:
        yield f"its own run is no whole measurement: {shown(said)}"
    standing = second.standing
    if standing is None or standing.level is Level.SELF_DECLARED:
        yield f"its own run is {Level.SELF_DECLARED.value}" + (f": {standing.why_not}" if standing else "")
    elif not any(
        party.of_owner(standing.owner) and party.known.role is Role.LAB for party in standing.parties
    ):
        yield "no lab signed it"


def _one_party(first: Candidate, second: Candidate) -> Iterator[str]:
    if both := first.key_ids & second.key_ids:
        yield f"both are signed by key {min(both)[:16]}"
    if shared(first.trials, second.trials):
        yield "they hold the same trials"
    if first.organization and first.organization == second.organization:
        yield "both are of one organization"

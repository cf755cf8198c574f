"""Computes each outcome anew from its recorded trials, by the same pure code that a session uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from bmwg.methodology.answers import procedures, throughput
from bmwg.methodology.answers.believed import believed
from bmwg.methodology.answers.former import FormerRule, former_rule, not_replayable
from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.plan import planning
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType
from bmwg.methodology.trial.judging import StallEvidence, TrialPolicy
from bmwg.reports.checker.evidence import Evidence, Trial
from bmwg.reports.checker.findings import Shortfall
from bmwg.reports.verify.drift import drift_of, drifted
from bmwg.reports.verify.replay_measured import no_claim, recomputed


def contradictions(evidence: Evidence, outcome: Outcome) -> Iterator[Shortfall]:
    """Say where an outcome differs from what its trials prove; nothing when it follows from them."""
    if evidence.profile is None:
        yield outcome.outcome_id, "a profile that can be read, to compute the outcome from", "none"
        return
    if outcome.type is OutcomeType.NOT_ASSESSED:
        yield from _untouched(evidence, outcome)
    elif changes := drift_of(evidence, outcome):
        yield from drifted(outcome, changes, evidence.of(outcome.cell.cell_id, recorded_as(outcome.metric)))
    elif unknown_procedures(evidence, outcome):
        return  # VER-13 says so by name; a replay by another procedure would find faults that are none
    elif outcome.type is OutcomeType.INVALID and not outcome.trials:
        yield from no_claim(outcome)
    elif outcome.type is OutcomeType.UNSTABLE and not outcome.trials:
        yield from _unqualified(evidence, outcome)
    else:
        yield from _measured(evidence, evidence.profile, outcome, former_rule_of(evidence, outcome))


def qualification_max_fps(evidence: Evidence, cell: Cell) -> int:
    """Return the highest load (frames/s) of the tester's qualification, as the run's header has it."""
    stated = evidence.run.get("qualification_max_fps") if evidence.run else None
    return planning.qualification_max_fps(cell, evidence.line_rate_bps, stated)


def unknown_procedures(evidence: Evidence, outcome: Outcome) -> tuple[tuple[str, int], ...]:
    """Return the procedures of an outcome, with the recorded version, that cannot be replayed here."""
    return not_replayable(_recorded_versions(evidence), recorded_as(outcome.metric))


def former_rule_of(evidence: Evidence, outcome: Outcome) -> FormerRule | None:
    """Return the kept rule of the version that an outcome was recorded with; None for the current version."""
    metric = recorded_as(outcome.metric)
    recorded = _recorded_versions(evidence).get(metric, procedures.FIRST)
    return None if recorded == procedures.version(metric) else former_rule(metric, recorded)


def _recorded_versions(evidence: Evidence) -> Mapping[str, int]:
    return evidence.run.get("procedures", {}) if evidence.run else {}


def _untouched(evidence: Evidence, outcome: Outcome) -> Iterator[Shortfall]:
    recorded = len(evidence.of(outcome.cell.cell_id, recorded_as(outcome.metric)))
    if recorded or outcome.trials or outcome.lower or outcome.upper:
        yield outcome.outcome_id, "no trial of a cell that was not assessed", f"{recorded} in the journal"
    if not outcome.reason:
        yield outcome.outcome_id, "the reason why the cell was not assessed", "none"


def _unqualified(evidence: Evidence, outcome: Outcome) -> Iterator[Shortfall]:
    """Without a trial an answer is unstable only where the tester's own qualification was."""
    group = evidence.of(outcome.cell.cell_id, recorded_as(outcome.metric))
    yield from _all_there(outcome, group)
    yield from _compare(
        evidence,
        outcome,
        throughput.unqualified(
            outcome.cell,
            evidence.qualification(outcome.cell),
            outcome_id=outcome.outcome_id,
            metric=outcome.metric,
        ),
        group,
    )


def _measured(
    evidence: Evidence, profile: Profile, outcome: Outcome, former: FormerRule | None
) -> Iterator[Shortfall]:
    """Replay the measurement, or the rule of a former version."""
    group = evidence.of(outcome.cell.cell_id, recorded_as(outcome.metric))
    yield from _all_there(outcome, group)
    qualifies = outcome.metric == throughput.ENVELOPE_METRIC  # there is no envelope before it
    computed = recomputed(
        evidence,
        profile,
        outcome,
        None if qualifies else evidence.envelope_fps(outcome.cell),
        qualification_max_fps(evidence, outcome.cell),
        former,
    )
    if isinstance(computed, Outcome):
        yield from _compare(evidence, outcome, computed, group)
    else:
        yield from computed


def _all_there(outcome: Outcome, group: Sequence[Trial]) -> Iterator[Shortfall]:
    """Every recorded trial of the cell took part, in order: none hidden, none borrowed."""
    recorded = tuple(entry.trial.seq for entry in group)
    if recorded == outcome.trials:
        return
    hidden = sorted(set(recorded) - set(outcome.trials))
    foreign = sorted(set(outcome.trials) - set(recorded))
    found = f"{len(hidden)} left out {hidden[:5]}, {len(foreign)} of other cells {foreign[:5]}"
    yield outcome.outcome_id, f"all {len(recorded)} trials of the cell in order", found


def _compare(
    evidence: Evidence, outcome: Outcome, computed: Outcome, group: Sequence[Trial]
) -> Iterator[Shortfall]:
    where = outcome.outcome_id
    computed = _stood(evidence, computed, group)
    faulty = any(entry.fault for entry in group)  # their texts were redacted in the journal
    if outcome.type is not computed.type:
        yield where, f"type {computed.type.value}", outcome.type.value
    for name, mine, theirs in (
        ("lower bound", computed.lower, outcome.lower),
        ("upper bound", computed.upper, outcome.upper),
    ):
        if mine != theirs:
            yield f"{where}: {name}", _bound_text(mine), _bound_text(theirs)
    if outcome.values != computed.values:
        yield f"{where}: values", _values_text(computed), _values_text(outcome)
    if outcome.statement != computed.statement:
        yield f"{where}: statement", computed.statement or "none", outcome.statement or "none"
    if outcome.reason != computed.reason and not faulty:
        yield f"{where}: reason", computed.reason or "none", outcome.reason or "none"
    if outcome.requirements != computed.requirements:
        yield f"{where}: requirements", ", ".join(computed.requirements), ", ".join(outcome.requirements)
    if outcome.quality != computed.quality:
        yield f"{where}: remarks", "; ".join(computed.quality) or "none", "; ".join(outcome.quality) or "none"


def _stood(evidence: Evidence, computed: Outcome, group: Sequence[Trial]) -> Outcome:
    """Return what the trials prove with what must stand beside it."""
    trials = [entry.trial for entry in group]
    continued = len({entry.deployment_id for entry in group}) > 1
    policy = evidence.profile.policy if evidence.profile is not None else TrialPolicy()
    most = policy.most_set_aside_ratio
    by_cpu = policy.stall_evidence is StallEvidence.CPU
    return believed(computed, trials, most_ratio=most, continued=continued, by_cpu=by_cpu, policy=policy)


def _bound_text(bound: Bound | None) -> str:
    return "none" if bound is None else f"{bound.load_fps} frames/s by trials {list(bound.trials)[:10]}"


def _values_text(outcome: Outcome) -> str:
    return ", ".join(f"{value.metric} {value.number!r} {value.unit}" for value in outcome.values) or "none"

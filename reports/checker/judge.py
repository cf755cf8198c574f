"""Holds a run against the documents: a verdict on each row that has a rule, and a grade by document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bmwg.methodology.record.coverage import Answer as Covered
from bmwg.methodology.record.coverage import coverage
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.requirements import Level, Requirement, catalogue
from bmwg.reports.checker import clauses_benchmarks, clauses_common
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.state import state
from bmwg.reports.checker.verdicts import (
    ClauseRule,
    ClauseVerdict,
    Scope,
    Verdict,
    concluded,
    not_assessed,
)

RULES: tuple[ClauseRule, ...] = (*clauses_common.RULES, *clauses_benchmarks.RULES)
BENCHMARKS: Mapping[str, tuple[str, str]] = {  # RFC 2544: section, beginning of the metric ids
    "throughput": ("26.1", "throughput."),
    "latency": ("26.2", "latency."),
    "frame loss rate": ("26.3", "frame_loss"),
    "back-to-back frames": ("26.4", "back_to_back"),
    "system recovery": ("26.5", "system_recovery"),
    "reset": ("26.6", "reset"),
}
COUNTED = {  # documents with BCP 14 words, and the beginning of the metric ids that claim them
    "RFC9971": "mlrsearch",
    "RFC9004": "back_to_back.rfc9004",
    "RFC8219": "rfc8219",
    "RFC2889": "rfc2889",
    "TST009": "tst009",
}
COVERED = ("RFC8172", "RFC8204", "CINF08")
_MUST = (Level.MUST, Level.MUST_NOT)
_SHOULD = (Level.SHOULD, Level.SHOULD_NOT)
_KEPT = (Verdict.MET, Verdict.NOT_APPLICABLE)
_MAX_REASONS = 40


class Grade(StrEnum):
    """RFC 2544 section 5 for its benchmarks; `counted` and `covered` carry numbers instead of a grade."""

    UNCONDITIONAL = "unconditionally compliant"
    CONDITIONAL = "conditionally compliant"
    NOT_COMPLIANT = "not compliant"
    INCOMPLETE = "incomplete"  # a MUST that nobody assessed
    NOT_GRADED = "not graded"  # the run's state forbids it
    NOT_ASSESSED = "not assessed"  # the run does not hold it
    COUNTED = "counted"
    COVERED = "coverage"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentGrade:
    """The grade of one document or of one of its benchmarks, with reasons and counts of verdicts or rows."""

    document: str
    benchmark: str
    grade: Grade
    reasons: tuple[str, ...]
    counts: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Everything that the checker says of a run. `state` holds why no grade can be given, if so."""

    state: tuple[str, ...]
    verdicts: tuple[ClauseVerdict, ...]
    grades: tuple[DocumentGrade, ...]


def judge(evidence: Evidence) -> Judgement:
    """Judge a run from its files. Deterministic; nothing that the run does not hold counts as kept."""
    said = state(evidence)
    verdicts: list[ClauseVerdict] = []
    grades: list[DocumentGrade] = []
    for benchmark, (section, metric) in BENCHMARKS.items():
        scope = _scope(evidence, benchmark, metric)
        if scope is None:
            grades.append(_ungraded("RFC2544", benchmark, "the run holds no outcome of it"))
            continue
        mine = [_verdict(row, benchmark, scope) for row in _rows("RFC2544", section)]
        verdicts.extend(mine)
        grades.append(_grade(benchmark, mine, scope, said))
    for document, metric in COUNTED.items():
        if not any(outcome.metric.startswith(metric) for outcome in evidence.outcomes):
            grades.append(_ungraded(document, "all", "the run holds no outcome that claims it"))
            continue
        musts = [row for row in catalogue().values() if row.document == document and row.level in _MUST]
        counts = (("MUST rows", len(musts)), ("met", 0), ("not met", 0), ("not assessed", len(musts)))
        grades.append(
            DocumentGrade(
                document=document, benchmark="all", grade=Grade.COUNTED, reasons=said, counts=counts
            )
        )
    grades.extend(_coverage(evidence))
    return Judgement(state=said, verdicts=tuple(verdicts), grades=tuple(grades))


def _scope(evidence: Evidence, benchmark: str, metric: str) -> Scope | None:
    """Return what a benchmark is judged on, None when the run never tried it or cannot be read."""
    if evidence.profile is None or evidence.run is None:
        return None
    tried = tuple(
        outcome
        for outcome in evidence.outcomes
        if outcome.metric.startswith(metric)
        and outcome.type is not OutcomeType.NOT_ASSESSED
        and outcome.cell.path != "wire"  # the tester itself, not a device
    )
    if not tried:
        return None
    trials = tuple(t for outcome in tried for t in evidence.of(outcome.cell.cell_id, outcome.metric))
    return Scope(
        evidence=evidence, profile=evidence.profile, benchmark=benchmark, outcomes=tried, trials=trials
    )


def _rows(document: str, section: str) -> list[Requirement]:
    """Return the rows of a benchmark: its own section's, and those of sections that all benchmarks share."""
    return [
        row
        for row in catalogue().values()
        if row.document == document and (not row.section.startswith("26.") or row.section == section)
    ]


def _verdict(row: Requirement, benchmark: str, scope: Scope) -> ClauseVerdict:
    answer = not_assessed("no rule assesses this row")
    for one in RULES:
        if one.requirement == row.id and (not one.benchmarks or benchmark in one.benchmarks):
            answer = one.check(scope)
    declared = any(entry.requirement == row.id for entry in scope.evidence.deviations)
    return concluded(row, benchmark, answer, declared=declared)


def _grade(
    benchmark: str, verdicts: Sequence[ClauseVerdict], scope: Scope, said: tuple[str, ...]
) -> DocumentGrade:
    musts = [one for one in verdicts if one.row.level in _MUST]
    shoulds = [one for one in verdicts if one.row.level in _SHOULD]
    failed = [one for one in musts if one.failed]
    unknown = [one for one in musts if one.verdict is Verdict.NOT_ASSESSED]
    short = [one for one in shoulds if one.verdict not in _KEPT]
    reasons: list[str] = []
    if said:
        grade = Grade.NOT_GRADED
        reasons.extend(said)
    elif failed:
        grade = Grade.NOT_COMPLIANT
    elif unknown or not any(one.verdict is Verdict.MET for one in musts):
        grade = Grade.INCOMPLETE
    elif not any(outcome.type is OutcomeType.MEASURED for outcome in scope.outcomes):
        grade = Grade.INCOMPLETE
        reasons.append("no outcome is a plain number")
    else:
        grade = Grade.CONDITIONAL if short else Grade.UNCONDITIONAL
    reasons += [f"{one.row.level} {one.requirement}: {one.found}" for one in (*failed, *unknown)]
    reasons += [f"{one.row.level} {one.requirement}: {one.verdict.value}" for one in short]
    counts = Counter(f"{one.row.level.value} {one.verdict.value}" for one in (*musts, *shoulds))
    return DocumentGrade(
        document="RFC2544",
        benchmark=benchmark,
        grade=grade,
        reasons=tuple(reasons[:_MAX_REASONS]),
        counts=tuple(sorted(counts.items())),
    )


def _ungraded(document: str, benchmark: str, reason: str) -> DocumentGrade:
    return DocumentGrade(document=document, benchmark=benchmark, grade=Grade.NOT_ASSESSED, reasons=(reason,))


def _coverage(evidence: Evidence) -> list[DocumentGrade]:
    """Count the configuration rows that the record answers; these documents demand almost nothing."""
    base: Mapping[str, Any] = evidence.platform["base"] if evidence.platform else {}
    record = base.get("before")
    if record is None:
        return [_ungraded(document, "record", "the run holds no platform record") for document in COVERED]
    try:
        rows = coverage([record]).rows
    except (KeyError, TypeError, AttributeError):
        return [_ungraded(document, "record", "the platform record is not readable") for document in COVERED]
    grades = []
    for document in COVERED:
        mine = [row for row in rows if catalogue()[row.row].document == document]
        counts = Counter(row.answer for row in mine)
        grades.append(
            DocumentGrade(
                document=document,
                benchmark="record",
                grade=Grade.COVERED,
                reasons=(),
                counts=tuple((answer.value, counts[answer]) for answer in Covered),
            )
        )
    return grades

"""What the documents beside RFC 2544 say of a run: verdicts on their rows, and counts instead of a grade."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bmwg.methodology.measurements.registry import recorded_as
from bmwg.methodology.record.coverage import Answer as Covered
from bmwg.methodology.record.coverage import coverage
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.requirements.rows import Level, Requirement, VerdictBasis, catalogue
from bmwg.methodology.requirements.unjudged_rows import unjudged
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.table import RULES
from bmwg.reports.checker.verdicts import (
    Answer,
    ClauseVerdict,
    Scope,
    Verdict,
    by_construction,
    concluded,
    not_applicable,
    not_assessed,
)

COUNTED = {  # documents with BCP 14 words, and the beginning of the metric ids that claim them
    "RFC9971": ("conditional_throughput.rfc9971",),
    "RFC9004": ("back_to_back.rfc9004",),
    "RFC8219": ("latency.rfc8219", "pdv.rfc8219", "ipdv.rfc8219", "ipdv.rfc5481_4_1.sample"),
    "TST009": ("throughput.tst009",),
}
NO_RULE = "no rule assesses this row"
EVERY_RUN = ("RFC6815",)
# of which a run is judged on what its parts bring about, by the rows with a rule
COMPANIONS = ("SUP", "LTD", "RFC2889")
COVERED = ("RFC8172", "RFC8204", "CINF08")
_DEMANDS = (Level.MUST, Level.MUST_NOT, Level.SHOULD, Level.SHOULD_NOT)
_RECORD = "record"
_WORDS = {VerdictBasis.DECLARED: "by declaration", VerdictBasis.BY_CONSTRUCTION: "by construction"}


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
    """The grade of one document or of one of its benchmarks, with reasons and counts of verdicts or rows.

    `bases` counts the rows that are met on another basis than `measured` (design decision 14).
    """

    document: str
    benchmark: str
    grade: Grade
    reasons: tuple[str, ...]
    counts: tuple[tuple[str, int], ...] = ()
    bases: tuple[tuple[str, int], ...] = ()

    @property
    def rests_on(self) -> str:
        """What of the grade no run shows: `1 row by declaration`; empty where all of it was measured."""
        return ", ".join(
            f"{count} row{'s' * (count > 1)} {_WORDS[VerdictBasis(basis)]}" for basis, count in self.bases
        )


def bases_of(verdicts: Iterable[ClauseVerdict]) -> tuple[tuple[str, int], ...]:
    """Count the rows that are met on another basis than `measured`."""
    counts = Counter(
        verdict.basis.value
        for verdict in verdicts
        if verdict.verdict is Verdict.MET and verdict.basis not in (None, VerdictBasis.MEASURED)
    )
    return tuple(sorted(counts.items()))


def scope_of(evidence: Evidence, benchmark: str, fits: Callable[[str], bool]) -> Scope | None:
    """Return what a benchmark is judged on: tried outcomes of metrics that fit, and their trials, each once.

    None when the run never tried it or cannot be read.
    """
    if evidence.profile is None or evidence.run is None:
        return None
    tried = tuple(
        outcome
        for outcome in evidence.outcomes
        if fits(outcome.metric)
        and outcome.type is not OutcomeType.NOT_ASSESSED
        and not outcome.cell.qualifies_tester
    )
    if not tried:
        return None
    groups = dict.fromkeys((outcome.cell.cell_id, recorded_as(outcome.metric)) for outcome in tried)
    trials = tuple(trial for cell_id, metric in groups for trial in evidence.of(cell_id, metric))
    return Scope(evidence=evidence, benchmark=benchmark, outcomes=tried, trials=trials)


def verdict_on(row: Requirement, benchmark: str, scope: Scope) -> ClauseVerdict:
    """Return the verdict on one row; not assessed where no rule is of it, or none for this kind of load.

    A row without a rule that never applies, or that the code keeps by construction, has that verdict.
    """
    answer = _without_rule(row)
    for rule in RULES:
        if (
            rule.requirement == row.id
            and (not rule.benchmarks or benchmark in rule.benchmarks)
            and rule.judges(scope.evidence.load)
        ):
            answer = rule.check(scope)
    declared = any(entry.requirement == row.id for entry in scope.evidence.deviations)
    return concluded(row, benchmark, answer, declared=declared)


def _without_rule(row: Requirement) -> Answer:
    """Return what is said of a row that no rule judges (methodology/unjudged)."""
    entry = unjudged().get(row.id)
    if entry is not None and entry.never_applies:
        return not_applicable(entry.sentence)
    if entry is not None and entry.by_construction:
        return by_construction("shown by tests of the code", entry.sentence)
    return not_assessed(NO_RULE)


def counted(
    evidence: Evidence, document: str, beginnings: tuple[str, ...], said: tuple[str, ...]
) -> tuple[list[ClauseVerdict], DocumentGrade]:
    """Judge every demanding row of a document whose metrics the run holds; count verdicts by level."""
    scope = scope_of(evidence, document, lambda metric: metric.startswith(beginnings))
    if scope is None:
        return [], ungraded(document, "all", "not part of this run")
    rows = [row for row in catalogue().values() if row.document == document and row.level in _DEMANDS]
    verdicts = [verdict_on(row, document, scope) for row in rows]
    return verdicts, _counts(document, verdicts, said)


def _counts(document: str, verdicts: Sequence[ClauseVerdict], said: tuple[str, ...]) -> DocumentGrade:
    counts = Counter(f"{verdict.row.level.value} {verdict.verdict.value}" for verdict in verdicts)
    return DocumentGrade(
        document=document,
        benchmark="all",
        grade=Grade.COUNTED,
        reasons=said,
        counts=tuple(sorted(counts.items())),
        bases=bases_of(verdicts),
    )


def demanded(
    evidence: Evidence, document: str, said: tuple[str, ...]
) -> tuple[list[ClauseVerdict], DocumentGrade]:
    """Judge what a document demands of every run, whatever it measures; count verdicts by level."""
    verdicts = _demanded(evidence, document)
    if not verdicts:
        return [], ungraded(document, "all", "the run holds no trial and no repetition")
    return verdicts, _counts(document, verdicts, said)


def accompanied(
    evidence: Evidence, document: str, said: tuple[str, ...]
) -> tuple[list[ClauseVerdict], DocumentGrade]:
    """Judge the rows of a companion that have a rule; nothing where the run brings about none of them."""
    ruled = {rule.requirement for rule in RULES if rule.judges(evidence.load)}
    verdicts = [verdict for verdict in _demanded(evidence, document) if verdict.requirement in ruled]
    if all(clause_verdict.verdict is Verdict.NOT_APPLICABLE for clause_verdict in verdicts):
        return [], ungraded(document, "all", "the run holds nothing of what its rows ask about")
    return verdicts, _counts(document, verdicts, said)


def covered(evidence: Evidence, document: str) -> tuple[list[ClauseVerdict], DocumentGrade]:
    """Count the configuration rows that the record answers; judge what little the document demands.

    Rows without a demanding word that have a rule are judged where the run holds what they are about.
    """
    verdicts = [*_demanded(evidence, document), *_described(evidence, document)]
    base: Mapping[str, Any] = evidence.platform["base"] if evidence.platform else {}
    record = base.get("before")
    if record is None:
        return verdicts, ungraded(document, _RECORD, "the run holds no platform record")
    try:
        rows = coverage([record]).rows
    except (KeyError, TypeError, AttributeError):
        return verdicts, ungraded(document, _RECORD, "the platform record is not readable")
    mine = [row for row in rows if catalogue()[row.row].document == document]
    counts = Counter(row.answer for row in mine)
    return verdicts, DocumentGrade(
        document=document,
        benchmark=_RECORD,
        grade=Grade.COVERED,
        reasons=(),
        counts=tuple((answer.value, counts[answer]) for answer in Covered),
    )


def _demanded(evidence: Evidence, document: str) -> list[ClauseVerdict]:
    scope = _whole(evidence, document)
    if scope is None:
        return []
    rows = [row for row in catalogue().values() if row.document == document and row.level in _DEMANDS]
    return [verdict_on(row, document, scope) for row in rows]


def _described(evidence: Evidence, document: str) -> list[ClauseVerdict]:
    scope = _whole(evidence, document)
    if scope is None:
        return []
    ruled = {rule.requirement for rule in RULES if rule.judges(evidence.load)}
    rows = [
        row
        for row in catalogue().values()
        if row.document == document and row.level not in _DEMANDS and row.id in ruled
    ]
    verdicts = [verdict_on(row, document, scope) for row in rows]
    return [verdict for verdict in verdicts if verdict.verdict is not Verdict.NOT_APPLICABLE]


def _whole(evidence: Evidence, document: str) -> Scope | None:
    """Return a scope of the whole run, whatever its kind of load; None when nothing in it was executed."""
    if evidence.run is None or not evidence.lines:
        return None
    return Scope(evidence=evidence, benchmark=document, outcomes=evidence.outcomes, trials=evidence.trials)


def ungraded(document: str, benchmark: str, reason: str) -> DocumentGrade:
    """Return that the run does not hold what a grade rests on."""
    return DocumentGrade(document=document, benchmark=benchmark, grade=Grade.NOT_ASSESSED, reasons=(reason,))

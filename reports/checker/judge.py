"""Holds a run against the documents: a verdict on each row that has a rule, and a grade by document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.answers.procedures import RULES, version
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.requirements.rows import Level, Requirement, catalogue
from bmwg.reports.checker.documents import (
    COMPANIONS,
    COUNTED,
    COVERED,
    EVERY_RUN,
    DocumentGrade,
    Grade,
    accompanied,
    bases_of,
    counted,
    covered,
    demanded,
    scope_of,
    ungraded,
    verdict_on,
)
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.state import state
from bmwg.reports.checker.verdicts import ClauseVerdict, Scope, Verdict
from bmwg.reports.checker.version import RULES_VERSION, later_rules, version_of

BENCHMARKS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    # of RFC 2544: section, metric ids; one that ends in a point is a family
    "throughput": ("26.1", (throughput.METRIC,)),
    "latency": ("26.2", (latency.METRIC, latency.RFC2544_METRIC)),
    "frame loss rate": ("26.3", ("frame_loss_ratio.rfc2544_26_3",)),
    "back-to-back frames": ("26.4", ("back_to_back.rfc9004",)),
    "system recovery": ("26.5", ("system_recovery.rfc2544_26_5",)),
    "reset": ("26.6", ("reset.rfc6201.",)),
}
_MUST = (Level.MUST, Level.MUST_NOT)
_SHOULD = (Level.SHOULD, Level.SHOULD_NOT)
_KEPT = (Verdict.MET, Verdict.NOT_APPLICABLE)
_MAX_REASONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Everything that the checker says of a run. `state` holds why no grade can be given, if so.

    `rules_version` is the version of the rules that judged, `measured_under` of those at the run's time.
    """

    state: tuple[str, ...]
    verdicts: tuple[ClauseVerdict, ...]
    grades: tuple[DocumentGrade, ...]
    rules_version: int = RULES_VERSION
    measured_under: int = RULES_VERSION

    @property
    def later_rules(self) -> str:
        """Say so where the run is older than the rules that judged it; empty otherwise."""
        return later_rules(self.measured_under, self.rules_version)


def among(metrics: tuple[str, ...], metric: str) -> bool:
    """Whether a metric is one of these exactly, or of a family among them."""
    return metric in metrics or metric.startswith(tuple(one for one in metrics if one.endswith(".")))


def judge(evidence: Evidence) -> Judgement:
    """Judge a run from its files. Deterministic; nothing that the run does not hold counts as kept."""
    said = state(evidence)
    evidence = evidence.of_load(evidence.load)  # the answers that the documents' clauses are about
    verdicts: list[ClauseVerdict] = []
    grades: list[DocumentGrade] = []
    for benchmark, (section, metrics) in BENCHMARKS.items():
        scope = scope_of(evidence, benchmark, partial(among, metrics))
        if scope is None:
            grades.append(ungraded("RFC2544", benchmark, "the run holds no outcome of it"))
            continue
        mine = [verdict_on(row, benchmark, scope) for row in _rows("RFC2544", section)]
        verdicts.extend(mine)
        grades.append(_grade(benchmark, mine, scope, said))
    for document, beginnings in COUNTED.items():
        mine, grade = counted(evidence, document, beginnings, said)
        verdicts.extend(mine)
        grades.append(grade)
    for document in EVERY_RUN:
        mine, grade = demanded(evidence, document, said)
        verdicts.extend(mine)
        grades.append(grade)
    for document in COMPANIONS:
        mine, grade = accompanied(evidence, document, said)
        verdicts.extend(mine)
        grades.append(grade)
    for document in COVERED:
        mine, grade = covered(evidence, document)
        verdicts.extend(mine)
        grades.append(grade)
    return Judgement(
        state=said,
        verdicts=tuple(verdicts),
        grades=tuple(grades),
        rules_version=version(RULES),
        measured_under=version_of(evidence.run),
    )


def _rows(document: str, section: str) -> list[Requirement]:
    """Return the rows of a benchmark: its own section's, and those of sections that all benchmarks share."""
    return [
        row
        for row in catalogue().values()
        if row.document == document and (not row.section.startswith("26.") or row.section == section)
    ]


def _grade(
    benchmark: str, verdicts: Sequence[ClauseVerdict], scope: Scope, said: tuple[str, ...]
) -> DocumentGrade:
    musts = [one for one in verdicts if one.row.level in _MUST]
    shoulds = [clause_verdict for clause_verdict in verdicts if clause_verdict.row.level in _SHOULD]
    failed = [one for one in musts if one.failed]
    unknown = [must for must in musts if must.verdict is Verdict.NOT_ASSESSED]
    short = [should for should in shoulds if should.verdict not in _KEPT]
    described = [one for one in verdicts if one.row.level is Level.INFO and one.original is Verdict.NOT_MET]
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
        grade = Grade.CONDITIONAL if short or described else Grade.UNCONDITIONAL
    reasons += [f"{one.row.level} {one.requirement}: {one.found}" for one in (*failed, *unknown)]
    reasons += [f"{one.row.level} {one.requirement}: {one.verdict.value}" for one in short]
    reasons += [f"described, not kept {one.requirement}: {one.found}" for one in described]
    counts = Counter(f"{verdict.row.level.value} {verdict.verdict.value}" for verdict in (*musts, *shoulds))
    return DocumentGrade(
        document="RFC2544",
        benchmark=benchmark,
        grade=grade,
        reasons=tuple(reasons[:_MAX_REASONS]),
        counts=tuple(sorted(counts.items())),
        bases=bases_of(verdicts),
    )

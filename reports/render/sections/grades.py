"""What the documents say of the run: a grade for each benchmark of RFC 2544, counts, coverage, each verdict.

A value and a verdict are two things (design decision 6): nothing here tells how fast a device is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bmwg.methodology.requirements.rows import VerdictBasis
from bmwg.reports.checker.documents import COMPANIONS, COUNTED, EVERY_RUN, NO_RULE, DocumentGrade, Grade
from bmwg.reports.checker.judge import Judgement, judge
from bmwg.reports.checker.reading import read_evidence
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.trials import TakenLines
from bmwg.reports.checker.verdicts import ClauseVerdict, Verdict
from bmwg.reports.render.blocks import Block, fold, items, paragraph, role, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import NONE, percent
from bmwg.reports.store import Run, read_run
from bmwg.reports.store.read import JOURNAL_FILE

NAMES = {
    "RFC2544": "RFC 2544",
    "RFC2889": "RFC 2889",
    "RFC9971": "RFC 9971",
    "RFC9004": "RFC 9004",
    "RFC8219": "RFC 8219",
    "RFC6815": "RFC 6815",
    "RFC8172": "RFC 8172",
    "RFC8204": "RFC 8204",
    "TST009": "ETSI GS NFV-TST 009",
    "SUP": "RFC 6201 and RFC 6985",
    "LTD": "vsperf test design",
    "CINF08": "draft-ietf-bmwg-containerized-infra-08",
}
ROLES = {  # how a grade looks; a role is of `rst.ROLES`
    Grade.UNCONDITIONAL: "type-measured",
    Grade.CONDITIONAL: "type-measured",
    Grade.NOT_COMPLIANT: "type-invalid",
    Grade.INCOMPLETE: "type-at-ceiling",
    Grade.NOT_GRADED: "type-at-ceiling",
    Grade.NOT_ASSESSED: "type-not-assessed",
}
WORDS = {
    Verdict.MET: "met",
    Verdict.NOT_MET: "not met",
    Verdict.DEVIATED: "deviated",
    Verdict.NOT_APPLICABLE: "not applicable",
    Verdict.NOT_ASSESSED: "not assessed",
}
BASES = {
    VerdictBasis.MEASURED: "this run",
    VerdictBasis.BY_CONSTRUCTION: "construction",
    VerdictBasis.DECLARED: "a declaration",
}
LEVELS = {"MUST": ("MUST", "MUST NOT"), "SHOULD": ("SHOULD", "SHOULD NOT")}
_TOLD = (Verdict.NOT_MET, Verdict.DEVIATED, Verdict.MET, Verdict.NOT_APPLICABLE)  # with what was found
_COVERAGE = ("answered", "not_applicable", "missing")
_NONE_HELD = "No benchmark of RFC 2544 is assessed: no answer of one is here, or the profile cannot be read."


def read_judged(folder: Path) -> tuple[Run, Judgement | str]:
    """Read a run and judge it, without a submission; the name of the error if judging fails.

    The journal is decoded once for both. Raises as `store.read_run` does.
    """
    lines = TakenLines(f"{folder}: {JOURNAL_FILE}")
    run = read_run(folder, lines.take)
    return run, _judged(folder, lines)


def _judged(folder: Path, lines: TakenLines) -> Judgement | str:
    try:
        return judge(read_evidence(FolderFiles(folder), taken=lines))
    except Exception as error:  # data that a rule cannot read is verify's finding VER-25, not the page's end
        return type(error).__name__


def grades(facts: Facts) -> list[Block]:
    """Return the section of grades and what decides them."""
    judgement = facts.judgement or read_judged(facts.run.folder)[1]
    lines = title("Grades")
    if isinstance(judgement, str):
        return [*lines, *paragraph(f"The run could not be judged ({judgement}): `bmwg verify` says why.")]
    lines += paragraph(
        "A grade is of the procedure, not of the device: a slow device can be graded well, a fast one badly. "
        "What a submission block says of the product counts in a bundle alone."
    )
    lines += paragraph(f"{judgement.later_rules}.") if judgement.later_rules else []
    lines += _state(judgement)
    held = [one for one in judgement.grades if one.grade is not Grade.NOT_ASSESSED]
    lines += benchmarks([grade for grade in judgement.grades if grade.document == "RFC2544"])
    lines += _counts(
        [
            document_grade
            for document_grade in held
            if document_grade.document in (*COUNTED, *EVERY_RUN, *COMPANIONS)
        ]
    )
    lines += _coverages([one for one in held if one.grade is Grade.COVERED])
    lines += _not_held([one for one in judgement.grades if one not in held and one.document != "RFC2544"])
    return lines


def clauses(facts: Facts) -> list[Block]:
    """Return each verdict, document by document; nothing where the run could not be judged."""
    judgement = facts.judgement or read_judged(facts.run.folder)[1]
    if isinstance(judgement, str):
        return []
    lines = title("Verdicts on clauses")
    for (document, benchmark), verdicts in _groups(judgement.verdicts).items():
        lines += _clauses(document, benchmark, verdicts)
    return lines


def _state(judgement: Judgement) -> list[Block]:
    if not judgement.state:
        return paragraph("Nothing in the state of this run keeps it from being graded.")
    said = "No benchmark of this run can be graded as compliant, for the state of the run:"
    return [*paragraph(said), *items(judgement.state)]


def benchmarks(found: Sequence[DocumentGrade]) -> list[Block]:
    """Return the grades of benchmarks of RFC 2544, and what decides them, as the report prints them."""
    if all(grade.grade is Grade.NOT_ASSESSED for grade in found):
        return paragraph(_NONE_HELD)
    rows = [
        [
            document_grade.benchmark,
            role(ROLES[document_grade.grade], document_grade.grade.value),
            *(_of_level(document_grade, level) for level in LEVELS),
            document_grade.rests_on or NONE,
        ]
        for document_grade in found
    ]
    head = ["benchmark", "grade", "clauses with MUST", "clauses with SHOULD", "met without a measurement"]
    reasons = [
        [one.benchmark, reason]
        for one in found
        if one.grade is not Grade.NOT_ASSESSED
        for reason in _deciding(one)
    ]
    return [
        *table(head, rows, "RFC 2544 section 5, for each of its benchmarks"),
        *table(["benchmark", "reason"], reasons, "What decides these grades"),
    ]


def _deciding(one: DocumentGrade) -> list[str]:
    """Return the reasons of a grade; a SHOULD decides only between the two compliant ones."""
    if one.grade is Grade.CONDITIONAL:
        return list(one.reasons)
    return [reason for reason in one.reasons if not reason.startswith("SHOULD")]


def _counts(found: Sequence[DocumentGrade]) -> list[Block]:
    rows = [
        [_name(grade.document), *(_of_level(grade, level) for level in LEVELS), grade.rests_on or NONE]
        for grade in found
    ]
    head = ["document", "clauses with MUST", "clauses with SHOULD", "met without a measurement"]
    return table(head, rows, "Documents with the words of BCP 14: how many clauses were kept")


def _coverages(found: Sequence[DocumentGrade]) -> list[Block]:
    rows = []
    for grade in found:
        counts = dict(grade.counts)
        asked = counts.get("answered", 0) + counts.get("missing", 0)
        share = percent(counts.get("answered", 0) / asked, 1) if asked else NONE
        rows.append([_name(grade.document), *(str(counts.get(name, 0)) for name in _COVERAGE), share])
    head = ["document", "answered", "not applicable", "missing", "answered of those that apply"]
    return table(head, rows, "Coverage: what these documents ask to be recorded, before the run")


def _not_held(found: Sequence[DocumentGrade]) -> list[Block]:
    if not found:
        return []
    said = ", ".join(f"{_name(grade.document)} ({'; '.join(grade.reasons)})" for grade in found)
    return paragraph(f"Not assessed: {said}.")


def _name(document: str) -> str:
    return NAMES.get(document, document)


def _of_level(one: DocumentGrade, level: str) -> str:
    """Return the counts of one level: `4 met, 1 not met`."""
    counts = dict(one.counts)
    parts = []
    for verdict in (
        Verdict.MET,
        Verdict.NOT_MET,
        Verdict.DEVIATED,
        Verdict.NOT_APPLICABLE,
        Verdict.NOT_ASSESSED,
    ):
        number = sum(counts.get(f"{name} {verdict.value}", 0) for name in LEVELS[level])
        if number:
            parts.append(f"{number} {WORDS[verdict]}")
    return ", ".join(parts) or NONE


def _groups(verdicts: Iterable[ClauseVerdict]) -> Mapping[tuple[str, str], list[ClauseVerdict]]:
    groups: dict[tuple[str, str], list[ClauseVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.row.document, verdict.benchmark), []).append(verdict)
    return groups


def _clauses(document: str, benchmark: str, verdicts: Sequence[ClauseVerdict]) -> list[Block]:
    """Return each verdict with what it rests on; clauses that no rule assesses by their ids alone."""
    name = _name(document) if benchmark in NAMES else f"{_name(document)}, {benchmark}"
    counted = Counter(one.verdict for one in verdicts)
    said = ", ".join(f"{counted[verdict]} {WORDS[verdict]}" for verdict in WORDS if counted[verdict])
    silent = [one for one in verdicts if one.verdict is Verdict.NOT_ASSESSED and one.found == NO_RULE]
    told = sorted(
        (one for one in verdicts if one not in silent),
        key=lambda one: _TOLD.index(one.verdict) if one.verdict in _TOLD else len(_TOLD),
    )
    rows = [
        [
            one.requirement,
            one.row.level.value,
            _verdict(one),
            BASES[one.basis] if one.basis else NONE,
            one.expected or NONE,
            one.found or NONE,
        ]
        for one in told
    ]
    head = ["clause", "level", "verdict", "rests on", "expected", "found"]
    body = table(head, rows, f"Verdicts: {name}")
    if silent:
        body += paragraph(
            f"No rule assesses: {', '.join(clause_verdict.requirement for clause_verdict in silent)}."
        )
    return fold(f"{name}: {said}", body)


def _verdict(one: ClauseVerdict) -> str:
    word = WORDS[one.verdict]
    return f"{word}, as declared" if one.declared and one.verdict is not one.original else word

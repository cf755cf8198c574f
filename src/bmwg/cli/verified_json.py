"""What verifying found as data: the document `verify` of docs/json.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from bmwg.cli.verify import standing_lines
from bmwg.reports.checker.judge import Judgement
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.verify.shown import shown
from bmwg.reports.verify.verify import TRUSTED, Verification


def as_data(verified: Verification, lacking: Sequence[str], code: int, *, clauses: bool) -> dict[str, Any]:
    """Return builtins. `lacking` is what `--require` names and nothing shows, `code` the exit status."""
    evidence = verified.evidence
    run = evidence.run if evidence is not None else None
    sorted_out = shown(verified)
    return {
        "run_id": str(run["run_id"]) if run else None,
        "result": _result(verified),
        "exit_status": code,
        "trust": verified.trust,
        "findings": [
            {
                "rule_id": finding.rule_id,
                "clause": finding.clause,
                "where": finding.where,
                "expected": finding.expected,
                "found": finding.found,
            }
            for finding in verified.findings
        ],
        "lacking": list(lacking),
        "questions": list(verified.questions),
        "proven": list(sorted_out.proven),
        "stated": list(sorted_out.stated),
        "unchecked": list(sorted_out.unchecked),
        "strangers": list(verified.strangers),
        "standing": standing_lines(verified),
        **_judged(verified.judgement, clauses=clauses),
    }


def _result(verified: Verification) -> str:
    if verified.findings:
        return "rejected"
    of_folder = verified.evidence is not None and isinstance(verified.evidence.files, FolderFiles)
    return "verified" if of_folder or verified.trust == TRUSTED else "consistent"


def _judged(judgement: Judgement | None, *, clauses: bool) -> dict[str, Any]:
    if judgement is None:
        return {"grades": [], "clauses": []}
    grades = [
        {
            "document": grade.document,
            "benchmark": grade.benchmark,
            "grade": grade.grade.value,
            "reasons": list(grade.reasons),
            "counts": dict(grade.counts),
            "bases": dict(grade.bases),
        }
        for grade in judgement.grades
    ]
    verdicts = [asdict(verdict) for verdict in judgement.verdicts] if clauses else []
    return {"grades": grades, "clauses": verdicts}

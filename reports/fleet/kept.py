"""Verifies a run once: what verifying said is kept by the hashes of the files and of this toolkit.

What is kept lies in a folder of the user, never beside the runs: whoever hands in runs must not hand in what
verifying them says.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import bmwg
from bmwg.methodology.errors import TestbedError
from bmwg.reports.checker.documents import Grade
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Finding
from bmwg.reports.checker.judge import judge
from bmwg.reports.store.canonical import sha256_of
from bmwg.reports.store.files import opened, write_atomically
from bmwg.reports.verify.verify import verify_bundle, verify_folder

_PARTS = ("run.json", "trials.jsonl", "platform.json", "deviations.yaml")
_PIECE_OCTETS = 1 << 20
_SOURCES = (".py", ".yaml", ".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What verifying a run said. `grades` are document, benchmark and grade by the answers that count.

    `verdicts` are benchmark, clause and verdict of the same. `anew` says whether it was verified just now.
    """

    run_id: str
    findings: tuple[Finding, ...]
    questions: tuple[str, ...]
    trials: int
    state: tuple[str, ...]
    grades: tuple[tuple[str, str, str], ...]
    verdicts: tuple[tuple[str, str, str], ...]
    anew: bool = False


def user_folder() -> Path:
    """Return where results of verifying are kept: below XDG_CACHE_HOME, or ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "bmwg" / "verified"


def verified(run: Path, tests: Collection[str], keep: Path | None = None) -> Verified:
    """Verify a run's folder or bundle, or say what verifying the same files by this toolkit said before.

    `tests` are those whose answers count. A file of `keep` that cannot be read or written is no matter: the
    run is verified.
    """
    place = (keep or user_folder()) / f"{_key(run, tests)}.json"
    if (known := _known(place)) is not None:
        return known
    made = _verify(run, tests)
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(place, json.dumps(_as_json(made)).encode("ascii"))
    except (OSError, TestbedError):
        pass  # it is verified again next time
    return made


def _verify(run: Path, tests: Collection[str]) -> Verified:
    found = verify_bundle(run) if run.is_file() else verify_folder(run)
    evidence = found.evidence
    grades: tuple[tuple[str, str, str], ...] = ()
    verdicts: tuple[tuple[str, str, str], ...] = ()
    state: tuple[str, ...] = ()
    if evidence is not None and evidence.run is not None and not found.findings:
        state, grades, verdicts = _judged(evidence, tests)
    return Verified(
        run_id=str(evidence.run["run_id"]) if evidence is not None and evidence.run else run.name,
        findings=found.findings,
        questions=found.questions,
        trials=len(evidence.lines) if evidence is not None else 0,
        state=state,
        grades=grades,
        verdicts=verdicts,
        anew=True,
    )


_Said = tuple[tuple[str, str, str], ...]


def _judged(evidence: Evidence, tests: Collection[str]) -> tuple[tuple[str, ...], _Said, _Said]:
    """Return state, grades and verdicts of a run for benchmarks of which these tests have answers.

    A benchmark is judged beside all that the run measured: a latency beside the throughput that it needed.
    """
    outcomes = tuple(
        outcome for outcome in evidence.outcomes if outcome.outcome_id.partition(":")[0] in tests
    )
    own, whole = judge(replace(evidence, outcomes=outcomes)), judge(evidence)
    absent = {(grade.document, grade.benchmark) for grade in own.grades if grade.grade is Grade.NOT_ASSESSED}
    grades = [one for one in own.grades if (one.document, one.benchmark) in absent]
    grades += [one for one in whole.grades if (one.document, one.benchmark) not in absent]
    verdicts = [one for one in own.verdicts if (one.row.document, one.benchmark) in absent]
    verdicts += [one for one in whole.verdicts if (one.row.document, one.benchmark) not in absent]
    return (
        own.state,
        tuple((grade.document, grade.benchmark, grade.grade.value) for grade in grades),
        tuple((verdict.benchmark, verdict.requirement, verdict.verdict.value) for verdict in verdicts),
    )


def _key(run: Path, tests: Collection[str]) -> str:
    files = {"": _sha256(run)} if run.is_file() else {name: _sha256(run / name) for name in _PARTS}
    return sha256_of({"files": files, "tests": sorted(tests), "toolkit": toolkit_key()})


def _sha256(path: Path) -> str:
    made = hashlib.sha256()
    try:
        with opened(path) as file:
            while piece := file.read(_PIECE_OCTETS):
                made.update(piece)
    except OSError:
        return ""
    return made.hexdigest()


@cache
def toolkit_key() -> str:
    """Return what changes with each change of this toolkit's files: their names, sizes and times."""
    told = []
    for place in bmwg.__path__:
        for root, folders, names in os.walk(place, followlinks=True):
            folders[:] = sorted(folder for folder in folders if folder != "__pycache__")
            told += list(_stamps(root, names))
    return sha256_of(sorted(told))


def _stamps(root: str, names: Collection[str]) -> Iterator[list[Any]]:
    for name in names:
        if name.endswith(_SOURCES):
            found = os.stat(os.path.join(root, name))
            yield [root, name, found.st_size, found.st_mtime_ns]


def _as_json(made: Verified) -> dict[str, Any]:
    return {
        "run_id": made.run_id,
        "findings": [
            [
                finding.rule_id,
                finding.clause,
                finding.where,
                finding.expected,
                finding.found,
                finding.exit_code,
            ]
            for finding in made.findings
        ],
        "questions": list(made.questions),
        "trials": made.trials,
        "state": list(made.state),
        "grades": [list(grade) for grade in made.grades],
        "verdicts": [list(verdict) for verdict in made.verdicts],
    }


def _known(place: Path) -> Verified | None:
    try:
        with opened(place) as file:
            told: Mapping[str, Any] = json.loads(file.read())
        return Verified(
            run_id=told["run_id"],
            findings=tuple(_finding(*finding) for finding in told["findings"]),
            questions=tuple(told["questions"]),
            trials=told["trials"],
            state=tuple(told["state"]),
            grades=tuple((str(a), str(b), str(c)) for a, b, c in told["grades"]),
            verdicts=tuple((str(a), str(b), str(c)) for a, b, c in told["verdicts"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _finding(rule_id: str, clause: str, where: str, expected: str, found: str, exit_code: int) -> Finding:
    return Finding(
        rule_id=rule_id, clause=clause, where=where, expected=expected, found=found, exit_code=exit_code
    )

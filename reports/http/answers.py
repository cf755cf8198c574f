"""`http.json`: what was planned and how each cell ended. Numbers stand in the journal alone.

Reading computes every answer anew from the journal, so an answer can never differ from its repetitions.
Ids: STORE-04 schema, STORE-07 files that contradict each other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bmwg.methodology.errors import ConfigError, ToolkitBug
from bmwg.methodology.http import judge, rate
from bmwg.methodology.http.profile import Planned
from bmwg.methodology.http.records import HttpCell, HttpOutcome, Repetition, Workload
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import OutcomeType
from bmwg.reports.http.journal import JOURNAL_FILE, read_journal
from bmwg.reports.store.checks import check_version
from bmwg.reports.store.files import write_atomically
from bmwg.reports.store.read import PLATFORM_FILE, load_document
from bmwg.schemas.validation import problems

ANSWERS_FILE = "http.json"
SCHEMA = "http/1.0"
_WITHOUT_NUMBER = (OutcomeType.INVALID, OutcomeType.NOT_ASSESSED)


def write_answers(
    folder: Path, run_id: str, plan: Sequence[Planned], outcomes: Mapping[str, HttpOutcome]
) -> None:
    """Write the file anew. Raises TestbedError STORE-08, ToolkitBug STORE-05."""
    data = {
        "schema": SCHEMA,
        "run_id": run_id,
        "plan": [
            {
                "test": entry.test_id,
                "cell": asdict(entry.cell),
                "repetitions": entry.repetitions,
                "least_repetitions": entry.least,
                "rate": entry.rate,
            }
            for entry in plan
        ],
        "outcomes": [
            {
                "cell": cell_id,
                "type": outcome.type.value,
                "from_journal": bool(outcome.repetitions),
                "reason": outcome.reason,
                "mend": outcome.mend,
                "quality": list(outcome.quality),
            }
            for cell_id, outcome in outcomes.items()
        ],
    }
    if found := problems(data, "http"):
        raise ToolkitBug("STORE-05", "http: breaks its own schema", found=str(found[0]))
    write_atomically(folder / ANSWERS_FILE, (json.dumps(data, indent=1) + "\n").encode("utf-8"))


def has_answers(folder: Path) -> bool:
    """Tell whether a run holds HTTP experiments."""
    return (folder / ANSWERS_FILE).is_file()


def planned_tests(folder: Path) -> frozenset[str]:
    """Return the ids of the tests that a run planned. Raises ConfigError STORE-04."""
    return frozenset(entry["test"] for entry in _document(folder / ANSWERS_FILE)["plan"])


def _document(path: Path) -> dict[str, Any]:
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError("STORE-04", f"{path}", expected="JSON", found=str(error)) from error
    check_version(data, "http", str(path))
    if wrong := problems(data, "http"):
        raise ConfigError("STORE-04", f"{path}", expected="a file of its schema", found=str(wrong[0]))
    return data


def read_answers(folder: Path, run_id: str, header_sha256: str) -> tuple[HttpOutcome, ...]:
    """Return the answers of a run in the plan's order, each computed from the journal.

    Raises ConfigError STORE-01, STORE-04, STORE-07.
    """
    path = folder / ANSWERS_FILE
    data = _document(path)
    if data["run_id"] != run_id:
        raise _contradiction(path, f"run id {run_id}", data["run_id"])
    platform = load_document(folder / PLATFORM_FILE, "platform")
    return answers_of(data, read_journal(folder, run_id, header_sha256), path, platform)


def answers_of(
    data: Mapping[str, Any],
    repetitions: Sequence[tuple[int, Repetition]],
    path: Path,
    platform: Mapping[str, Any],
) -> tuple[HttpOutcome, ...]:
    """Return the answers of a file that keeps to its schema, each computed from repetitions.

    An answer whose platform changed, as `platform.json` says, is invalid. Raises ConfigError STORE-07.
    """
    ended = {entry["cell"]: entry for entry in data["outcomes"]}
    found = []
    for planned in data["plan"]:
        cell = _cell(planned["cell"])
        entry = ended.get(cell.cell_id)
        if entry is None:
            continue
        kind = OutcomeType(entry["type"])
        if not entry["from_journal"]:
            if kind not in _WITHOUT_NUMBER:
                raise _contradiction(path, f"{cell.cell_id} from repetitions", f"{kind} without any")
            answer = HttpOutcome(cell=cell, type=kind, reason=entry["reason"], mend=entry["mend"])
        else:
            if planned["rate"] is not None:
                answer = rate.outcome(cell, repetitions, planned["rate"])
            else:
                least = planned.get("least_repetitions", planned["repetitions"])
                answer = judge.outcome(cell, repetitions, wanted=least, planned=planned["repetitions"])
            answer = judge.drifted(answer, named_drift(platform, cell.cell_id))
            if answer.type is not kind:
                raise _contradiction(path, f"{cell.cell_id} as its repetitions say: {answer.type}", kind)
            answer = replace(answer, quality=tuple(entry["quality"]))
        found.append(answer)
    return tuple(found)


def _cell(data: Mapping[str, Any]) -> HttpCell:
    return HttpCell(**{**data, "workload": Workload(data["workload"])})


def _contradiction(path: Path, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-07",
        f"{path} and {JOURNAL_FILE} contradict each other",
        expected=expected,
        found=found,
        hint="one of the files was changed after the run",
    )

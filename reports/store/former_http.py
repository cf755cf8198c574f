"""Runs of HTTP experiments from before trial/2.0: plan and answers in `http.json`, lines in `http.jsonl`.

They are read only, and given the form of today: nothing else knows of these files. The numbers of an answer
stood in no file; they are computed from the lines. Ids: STORE-01 broken chain, STORE-04 schema, STORE-07
files that contradict each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.http.records import HttpCell, Repetition, Workload
from bmwg.methodology.kinds.kind import Execution
from bmwg.methodology.kinds.requests import (
    REQUESTS,
    body_of,
    cell_of,
    details,
    metric_of,
    outcome_of,
    planned_by,
    repetition_of,
)
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.strict import strict_json
from bmwg.reports.store.canonical import canonical, sha256_of
from bmwg.reports.store.checks import check_version
from bmwg.reports.store.codec import PlannedCell
from bmwg.schemas.validation import problems

ANSWERS, JOURNAL = "http.json", "http.jsonl"
FILES = (ANSWERS, JOURNAL)
MAX_LINE_OCTETS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerHttp:
    """What the two files hold. `stated` are the numbers of the plan as it was written, each with its cell id;
    `journal` is the file that the executions stand in.
    """

    plan: tuple[PlannedCell, ...]
    outcomes: tuple[Outcome, ...]
    mends: Mapping[str, str]
    executions: tuple[Execution, ...]
    stated: tuple[tuple[str, Mapping[str, Any]], ...]
    journal: str = JOURNAL

    def not_of_profile(self, profile: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
        """Say which planned cells were written with other numbers than the profile's: where, these, those."""
        planned = planned_by(profile)
        for cell_id, entry in self.stated:
            wanted = planned.get(cell_id)
            if wanted is None:
                continue
            least = entry.get("least_repetitions", entry["repetitions"])
            if (entry["repetitions"], least, entry["rate"]) != (
                wanted.repetitions,
                wanted.least,
                wanted.rate,
            ):
                expected = f"{wanted.repetitions} repetitions, as the profile says"
                yield cell_id, expected, "other numbers"


def genesis(run_id: str, header_sha256: str) -> str:
    """Return what the first line's `prev` must be."""
    return sha256_of({"header_sha256": header_sha256, "kind": "http", "run_id": run_id})


def former_http(
    data: Any, lines: Iterable[bytes], run: Mapping[str, Any], platform: Mapping[str, Any], header_sha256: str
) -> FormerHttp:
    """Read the two files of a run, `data` being the first as JSON and `lines` whole lines of the second.

    Raises ConfigError STORE-01, STORE-03, STORE-04, STORE-07, STORE-10, HPROF-02, BND-07.
    """
    check_version(data, "http", ANSWERS)
    if wrong := problems(data, "http"):
        raise ConfigError("STORE-04", ANSWERS, expected="a file of its schema", found=str(wrong[0]))
    if data["run_id"] != run["run_id"]:
        raise _contradiction(f"run id {run['run_id']}", data["run_id"])
    if found := REQUESTS.wrong_profile(run["profile"]):
        raise ConfigError("HPROF-02", "run.json: profile", expected="one of its schema", found=found)
    listed = [
        (entry["test"], HttpCell(**{**entry["cell"], "workload": Workload(entry["cell"]["workload"])}))
        for entry in data["plan"]
    ]
    entries = {cell.cell_id: (test_id, cell) for test_id, cell in listed}
    executions = tuple(
        _execution(seq, line, entries)
        for seq, line in checked_lines(lines, JOURNAL, run["run_id"], header_sha256)
    )
    ended = {entry["cell"]: entry for entry in data["outcomes"]}
    if len(ended) != len(data["outcomes"]):
        raise _contradiction("one answer a cell", f"{len(data['outcomes'])} answers for {len(ended)} cells")
    if strange := sorted(set(ended) - set(entries)):
        raise _contradiction("answers for cells of the plan", strange[0])
    outcomes, mends = [], {}
    planned, repetitions = planned_by(run["profile"]), [(one.seq, repetition_of(one)) for one in executions]
    for cell_id, (test_id, cell) in entries.items():
        entry = ended.get(cell_id)
        if entry is None:
            continue
        kind = OutcomeType(entry["type"])
        stated = Outcome(
            outcome_id=f"{test_id}:{cell_id}",
            metric=metric_of(cell),
            cell=cell_of(cell),
            type=kind,
            trials=(1,) if entry["from_journal"] else (),  # which of them, is computed
            reason=entry["reason"],
        )
        try:
            answer = outcome_of(
                details(planned.get(cell_id), stated, repetitions, named_drift(platform, cell_id)), test_id
            )
        except ValueError as error:
            raise _contradiction(f"{cell_id} from repetitions of its plan", str(error)) from error
        if answer.type is not kind:
            raise _contradiction(f"{cell_id} as its repetitions say: {answer.type}", kind)
        outcomes.append(
            Outcome(
                outcome_id=answer.outcome_id,
                metric=answer.metric,
                cell=answer.cell,
                type=kind,
                values=answer.values,
                trials=answer.trials,
                reason=answer.reason,
                quality=tuple(entry["quality"]),
            )
        )
        if entry["mend"]:
            mends[answer.outcome_id] = entry["mend"]
    return FormerHttp(
        plan=tuple(
            PlannedCell(test_id=test_id, metric=metric_of(cell), cell=cell_of(cell))
            for test_id, cell in listed
        ),
        outcomes=tuple(outcomes),
        mends=mends,
        executions=executions,
        stated=tuple((cell.cell_id, entry) for (_, cell), entry in zip(listed, data["plan"], strict=True)),
    )


def checked_lines(
    lines: Iterable[bytes], file: str, run_id: str, header_sha256: str
) -> tuple[tuple[int, dict[str, Any]], ...]:
    """Verify the lines of a journal and return them as data, by their numbers.

    Raises ConfigError STORE-01, STORE-03, STORE-10, BND-07.
    """
    prev, form = genesis(run_id, header_sha256), None
    found = []
    for number, line in enumerate(lines, start=1):
        where = f"{file}: line {number}"
        data = strict_json(line, where, MAX_LINE_OCTETS)
        check_version(data, "http_repetition", where, form)
        form = data["schema"]
        if wrong := problems(data, "http_repetition"):
            raise _broken(where, "a line of its schema", str(wrong[0]))
        body = {key: value for key, value in data.items() if key != "hash"}
        if canonical(data).encode("ascii") != line:
            raise _broken(where, "canonical JSON", "another form")
        if hashlib.sha256(canonical(body).encode("ascii")).hexdigest() != data["hash"]:
            raise _broken(where, "the hash of its content", "another")
        if data["prev"] != prev or data["seq"] != number:
            raise _broken(where, "the hash and number that follow from the line before", "others")
        prev = data["hash"]
        found.append((number, data))
    return tuple(found)


def _execution(seq: int, line: Mapping[str, Any], entries: Mapping[str, tuple[str, HttpCell]]) -> Execution:
    """Give a line the form of today; its validity, of which it says nothing, follows from what it counted."""
    repetition = Repetition.from_json(line)
    if repetition.cell_id not in entries:
        raise _contradiction("cells of the plan", f"line {seq} of {repetition.cell_id}")
    test_id, cell = entries[repetition.cell_id]
    body, bound = body_of(repetition, cell), repetition.platform
    assessment = REQUESTS.assess(body)
    return Execution(
        seq=seq,
        cell_id=repetition.cell_id,
        deployment_id=repetition.deployment,
        metric=metric_of(cell),
        test_id=test_id,
        phase=repetition.phase,
        validity=assessment.validity,
        reason=assessment.reason,
        at=line["at"],
        body=body,
        platform=(bound["doctor"], bound["drift"], bound["sha256"]) if bound else None,
    )


def _broken(where: str, expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-01",
        f"{where}: the chain of the journal is broken",
        expected=expected,
        found=found,
        hint="the journal was changed after the run; no repetition from this line on can be trusted",
    )


def _contradiction(expected: str, found: str) -> ConfigError:
    return ConfigError(
        "STORE-07",
        f"{ANSWERS} and {JOURNAL} contradict each other",
        expected=expected,
        found=found,
        hint="one of the files was changed after the run",
    )

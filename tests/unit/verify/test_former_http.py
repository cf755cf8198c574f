"""Runs of requests from before the one journal: kept ones stand, and no changed one does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evidence
import liar_http
import pytest

from bmwg.methodology.errors import ConfigError
from bmwg.methodology.http import profile
from bmwg.methodology.records import OutcomeType
from bmwg.reports.http.answers import answers_of
from bmwg.reports.store import read_run
from bmwg.reports.store.canonical import canonical, sha256_of
from bmwg.reports.store.former_http import ANSWERS, JOURNAL, genesis
from bmwg.reports.verify.verify import verify_folder

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("former")


@pytest.fixture
def run(place: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evidence.unpacked(place, "http") / "http", tmp_path / "http"))


def rules(run: Path) -> set[str]:
    return {finding.rule_id for finding in verify_folder(run).findings}


def lines_of(run: Path) -> Lines:
    return [json.loads(line) for line in (run / JOURNAL).read_text().splitlines()]


def chained(run: Path, lines: Lines) -> None:
    """Write the journal anew, its chain whole."""
    found = json.loads((run / "run.json").read_text())
    prev, octets = genesis(found["run_id"], found["header_sha256"]), b""
    for number, line in enumerate(lines, start=1):
        body = {key: value for key, value in line.items() if key != "hash"} | {"seq": number, "prev": prev}
        prev = sha256_of(body)
        octets += canonical({**body, "hash": prev}).encode("ascii") + b"\n"
    (run / JOURNAL).write_bytes(octets)


def test_its_trials_have_the_form_of_today(run: Path) -> None:
    read = read_run(run)
    assert [one.seq for one in read.executions] == list(range(1, 60))
    assert {one.body.kind for one in read.executions} == {"requests"}
    assert len(answers_of(read)) == len(read.outcomes) == len(read.plan) == 12
    measured = [one for one in read.outcomes if one.type is OutcomeType.MEASURED]
    assert all(one.values and one.trials for one in measured)
    assert {value.unit for one in measured for value in one.values} <= {"ns", "requests/s", "repetitions"}


def fewer_requests(lines: Lines) -> None:
    lines[1]["asked_requests"] = lines[1]["requests"] = 1


def another_deployment(lines: Lines) -> None:
    lines[0]["deployment"] = "another"


def unplanned_cell(lines: Lines) -> None:
    lines[0]["cell"] = "another/native/1p/1000o/1c"


def dropped(lines: Lines) -> None:
    del lines[1]


def hidden(lines: Lines) -> None:
    planned = next(one for one in profile.load("quick").plan() if one.cell.experiment == "one_client_cached")
    lines.append({**lines[0], "cell": planned.cell.cell_id, "asked_requests": planned.requests})


def unbound(lines: Lines) -> None:
    del lines[0]["platform"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (fewer_requests, {"STORE-07", "VER-18"}),
        (another_deployment, {"VER-10"}),
        (unplanned_cell, {"STORE-07"}),
        (dropped, {"STORE-07", "VER-16", "VER-18"}),
        (hidden, {"STORE-07"}),
        (unbound, {"VER-14"}),
    ],
)
def test_a_journal_written_anew_must_agree_with_the_plan(
    run: Path, change: Callable[[Lines], None], expected: set[str]
) -> None:
    lines = lines_of(run)
    change(lines)
    chained(run, lines)
    assert rules(run) & expected


@pytest.mark.parametrize("name", [ANSWERS, JOURNAL])
def test_a_missing_file_is_named(run: Path, name: str) -> None:
    (run / name).unlink()
    assert ("VER-15", name) in [(one.rule_id, one.where) for one in verify_folder(run).findings]


def easier_plan(data: dict[str, Any]) -> None:
    data["plan"][0]["repetitions"] = 2


def part_of_a_test(data: dict[str, Any]) -> None:
    gone = data["plan"].pop()["cell"]
    start = f"{gone['experiment']}/{gone['form']}/{gone['proxies']}p/{gone['object_octets']}o"
    data["outcomes"] = [one for one in data["outcomes"] if not one["cell"].startswith(start)]


def number_from_nowhere(data: dict[str, Any]) -> None:
    data["outcomes"][0] |= {"type": "measured", "from_journal": False}


def not_tried(data: dict[str, Any]) -> None:
    data["outcomes"][0] |= {"type": "not_assessed", "from_journal": False, "reason": "was slow"}


def remarked(data: dict[str, Any]) -> None:
    data["outcomes"][0]["quality"] = ["very good"]


def no_answer(data: dict[str, Any]) -> None:
    data["outcomes"].pop()


def planned_twice(data: dict[str, Any]) -> None:
    data["plan"].append(json.loads(json.dumps(data["plan"][0])))


def answered_twice(data: dict[str, Any]) -> None:
    data["outcomes"].append(dict(data["outcomes"][0]))


def answer_without_a_plan(data: dict[str, Any]) -> None:
    data["outcomes"].append({**data["outcomes"][0], "cell": "another/native/1p/1000o/1c"})


def another_run(data: dict[str, Any]) -> None:
    data["run_id"] = "other"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (easier_plan, "VER-17"),
        (part_of_a_test, "VER-17"),
        (number_from_nowhere, "STORE-07"),
        (not_tried, "VER-18"),
        (remarked, "VER-16"),
        (no_answer, "VER-09"),
        (another_run, "STORE-07"),
        (planned_twice, "VER-17"),
        (answered_twice, "STORE-07"),
        (answer_without_a_plan, "STORE-07"),
    ],
)
def test_edited_answers_are_caught(
    run: Path, change: Callable[[dict[str, Any]], None], expected: str
) -> None:
    data = json.loads((run / ANSWERS).read_text())
    change(data)
    (run / ANSWERS).write_text(json.dumps(data))
    found = rules(run)
    assert expected in found or (change is part_of_a_test and "STORE-07" in found)


def test_the_number_of_another_cell_of_the_plan_is_not_taken_for_its_own(run: Path) -> None:
    data = json.loads((run / ANSWERS).read_text())
    data["plan"].insert(0, json.loads(json.dumps(data["plan"][1])))
    (run / ANSWERS).write_text(json.dumps(data))
    assert [one.found for one in verify_folder(run).findings if one.rule_id == "VER-17"] == ["2 times"]


@pytest.mark.parametrize(
    ("lie", "rule_id"),
    [
        (liar_http.never_waited, "VER-30"),
        (liar_http.slower_rival, "VER-31"),
        (liar_http.more_hits, "VER-34"),
        (liar_http.times_moved, "VER-35"),
    ],
)
def test_findings_name_the_file_that_the_lines_stand_in(
    run: Path, lie: liar_http.HttpLie, rule_id: str
) -> None:
    found = verify_folder(liar_http.told(run, lie)).findings
    where = [one.where for one in found if one.rule_id == rule_id and one.where != "and more"]
    assert where
    assert all(text.startswith(f"{JOURNAL}: line ") for text in where), where


@pytest.mark.parametrize("text", [b"", b"[" * 5000, b'{"schema": NaN}', b"\xff", b"7"])
def test_nonsense_is_refused_by_name(run: Path, text: bytes) -> None:
    (run / ANSWERS).write_bytes(text)
    assert rules(run) & {"BND-07", "STORE-03", "STORE-04"}
    with pytest.raises(ConfigError):
        read_run(run)
    (run / JOURNAL).write_bytes(text + b"\n")
    assert verify_folder(run).exit_code != 0


def test_a_broken_chain_is_refused(run: Path) -> None:
    path = run / JOURNAL
    path.write_bytes(path.read_bytes().replace(b'"requests":300', b'"requests":301', 1))
    assert rules(run) == {"STORE-01"}
    with pytest.raises(ConfigError, match="STORE-01"):
        read_run(run)

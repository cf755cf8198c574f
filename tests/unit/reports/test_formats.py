"""Newer formats, a journal of two formats, an unknown kind of load: refused by name, nothing half-read."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bmwg.cli.main import main
from bmwg.methodology import procedures
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.former.registry import RULES
from bmwg.reports.store import read_run
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.former_http import checked_lines, former_http
from bmwg.reports.store.upgrade import TRIAL_SCHEMAS
from bmwg.reports.verify.protections import PROTECTIONS
from bmwg.reports.verify.verify import verify_folder
from bmwg.schemas import load
from bmwg.schemas.formats import READABLE, unreadable

DATA = Path(__file__).parents[2] / "data"
README = DATA.parents[1] / "schemas" / "README.md"
RUN_ID, HEADER = "run", "0" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "runs" / "run-1.0", tmp_path / "run"))


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def edit_line(path: Path, number: int, **changes: Any) -> None:
    """Change one line of a journal and make its hash anew, as a program would that writes another format."""
    lines = path.read_text().splitlines()
    data = {key: value for key, value in (json.loads(lines[number - 1]) | changes).items() if key != "hash"}
    data["hash"] = hashlib.sha256(canonical(data).encode("ascii")).hexdigest()
    lines[number - 1] = canonical(data)
    path.write_text("".join(f"{line}\n" for line in lines))


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> ConfigError:
    """Return how a run is refused, by whoever reads it; nothing of it is told and nothing is written."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    with pytest.raises(ConfigError) as caught:
        read_run(folder)
    found = verify_folder(folder)
    assert caught.value.error_id in {finding.rule_id for finding in found.findings}
    assert main(["report", str(folder)]) == 2
    assert caught.value.error_id in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
    return caught.value


@pytest.mark.parametrize(
    ("file", "schema", "what"),
    [
        ("run.json", "run/3.0", "a newer toolkit wrote this format"),
        ("run.json", "run/2.2", "a newer toolkit wrote this format"),
        ("run.json", "run/0.9", "no toolkit wrote this version of the format"),
        ("run.json", "platform/1.0", "another format where a run is expected"),
        ("run.json", 7, "no format is named"),
        ("run.json", None, "no format is named"),
        ("platform.json", "platform/2.0", "a newer toolkit wrote this format"),
    ],
)
def test_a_document_of_another_format_is_refused_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str], file: str, schema: object, what: str
) -> None:
    edit(folder / file, schema=schema)
    error = refused(folder, capsys)
    assert error.error_id == "STORE-03"
    assert error.what.endswith(what)
    assert f"{file.split('.')[0]}/1.0" in error.expected
    assert ("toolkit version that run.json names" in error.hint) is ("newer" in what)


@pytest.mark.parametrize("schema", ["wishes_profile/1.0", "profile/2.0", "http_profile/1.7"])
def test_a_run_of_an_unknown_kind_of_load_is_refused_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str], schema: str
) -> None:
    run = json.loads((folder / "run.json").read_text())
    edit(folder / "run.json", profile={**run["profile"], "schema": schema})
    error = refused(folder, capsys)
    assert error.error_id == "STORE-03"
    assert "run.json: profile: " in error.what
    assert ("of a kind of load that this toolkit does not know" in error.what) is ("wishes" in schema)
    assert (
        error.expected
        == "profile/1.0 or http_profile/1.0 or streams_profile/1.0 or acts_profile/1.0 or jobs_profile/1.0"
    )
    found = verify_folder(folder)
    assert found.evidence is not None
    assert (found.evidence.run, found.evidence.outcomes, found.evidence.trials) == (None, (), ())


def test_a_journal_of_a_newer_format_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_line(folder / "trials.jsonl", 1, schema="trial/3.0")
    error = refused(folder, capsys)
    assert error.error_id == "STORE-03"
    assert "line 1: a newer toolkit wrote this format" in error.what


def test_a_journal_that_mixes_formats_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_line(folder / "trials.jsonl", 4, schema="trial/2.0")
    error = refused(folder, capsys)
    assert error.error_id == "STORE-10"
    assert "line 4: the journal mixes formats" in error.what
    assert (error.expected, error.found) == ("trial/1.0, the format of its first line", "'trial/2.0'")


def test_no_answer_stands_on_a_journal_that_mixes_formats(folder: Path) -> None:
    edit_line(folder / "trials.jsonl", 4, schema="trial/2.0")
    found = verify_folder(folder)
    assert found.evidence is not None
    assert not found.evidence.whole_journal
    assert "broken: the journal could not be read to its end" in (
        found.judgement.state if found.judgement else ()
    )


def test_repetitions_of_other_formats_are_refused() -> None:
    newer = canonical({"schema": "http_repetition/2.0"}).encode()
    with pytest.raises(ConfigError) as caught:
        checked_lines([newer], "http.jsonl", RUN_ID, HEADER)
    assert caught.value.error_id == "STORE-03"


def test_answers_of_a_newer_format_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        former_http({"schema": "http/2.0"}, [], {"run_id": RUN_ID}, {}, HEADER)
    assert caught.value.error_id == "STORE-03"
    assert "a newer toolkit" in caught.value.what


def test_what_a_schema_demands_is_what_can_be_read() -> None:
    for kind, readable in READABLE.items():
        if kind != "profile":
            demanded = load(kind)["properties"]["schema"]
            assert demanded == ({"enum": list(readable)} if kind == "run" else {"const": readable[-1]})
    for version, name in TRIAL_SCHEMAS.items():
        assert load(name)["properties"]["schema"] == {"const": version}
    assert tuple(TRIAL_SCHEMAS) == READABLE["trial"]
    assert {
        load(name)["properties"]["schema"]["const"]
        for name in ("profile", "http_profile", "streams_profile", "acts_profile", "jobs_profile")
    } == set(READABLE["profile"])


@pytest.mark.parametrize(
    "found", ["", "run", "run/", "run/1", "RUN/1.0", "run/1.0 ", "run/99999.0", [], {}, 1.5, True]
)
def test_no_name_of_a_format_is_told_as_such(found: object) -> None:
    assert unreadable(found, "run")[0] == "no format is named"


def test_the_policy_has_every_format_and_version_and_protection() -> None:
    text = README.read_text("utf-8")
    rows = text.splitlines()
    for readable in READABLE.values():
        assert all(any(f"`{one}`" in row for row in rows if row.startswith("|")) for one in readable)
    for change in procedures.CHANGES:
        names = ", ".join(f"`{name}` {version}" for name, version in change.versions.items())
        assert f"| {names} | {change.after} | {change.what} |" in rows
    for one in PROTECTIONS:
        assert f"| `{one.name}` | {one.after} | {one.what} |" in rows
    for rule in RULES:
        assert f"`{rule.metric}` {rule.version}" in text.split("Kept, and replayed:")[1].split("Runs of")[0]

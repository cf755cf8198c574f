"""Newer formats, a journal of two formats, an unknown kind of load: refused by name, nothing half-read."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.unit.verify import replayable

from bmwg.cli.main import main
from bmwg.methodology.errors import ConfigError
from bmwg.methodology.records import Validity
from bmwg.reports.render.facts import facts
from bmwg.reports.render.page.report import write_report
from bmwg.reports.render.page.summary import summary_lines
from bmwg.reports.store import checks, read_run, upgrade
from bmwg.reports.store.canonical import canonical
from bmwg.reports.store.upgrade import TRIAL_SCHEMAS
from bmwg.reports.verify.verify import verify_folder
from bmwg.schemas import load
from bmwg.schemas.formats import READABLE, unreadable

DATA = Path(__file__).parents[2] / "data"
README = DATA.parents[1] / "schemas" / "README.md"


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
        ("run.json", "run/1.1", "a newer toolkit wrote this format"),
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
    edit_line(folder / "trials.jsonl", 4, schema="trial/1.1")
    error = refused(folder, capsys)
    assert error.error_id == "STORE-10"
    assert "line 4: the journal mixes formats" in error.what
    assert (error.expected, error.found) == ("trial/1.0, the format of its first line", "'trial/1.1'")


def test_no_answer_stands_on_a_journal_that_mixes_formats(folder: Path) -> None:
    edit_line(folder / "trials.jsonl", 4, schema="trial/1.1")
    found = verify_folder(folder)
    assert found.evidence is not None
    assert not found.evidence.whole_journal
    assert "broken: the journal could not be read to its end" in (
        found.judgement.state if found.judgement else ()
    )


def of_made_version(line: dict[str, Any]) -> dict[str, Any]:
    """Give a line of the made version `trial/0.9`, which had one fault at most, the form of the next."""
    fault = line.pop("fault")
    return {**line, "schema": "trial/1.0", "faults": [fault] if fault else []}


@pytest.fixture
def made_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the toolkit read a version of the journal's lines that was before the first."""
    schema = json.loads(json.dumps(load("trial")))
    schema["properties"]["schema"] = {"const": "trial/0.9"}
    schema["properties"]["fault"] = {"type": ["string", "null"]}
    del schema["properties"]["faults"]
    schema["required"] = ["fault" if name == "faults" else name for name in schema["required"]]
    made = checks._compile(schema)
    compiled = checks._compiled
    monkeypatch.setattr(checks, "_compiled", lambda kind: made if kind == "made" else compiled(kind))
    monkeypatch.setitem(READABLE, "trial", ("trial/0.9", *READABLE["trial"]))  # type: ignore[call-overload]
    monkeypatch.setitem(TRIAL_SCHEMAS, "trial/0.9", "made")  # type: ignore[call-overload]
    monkeypatch.setitem(upgrade.UPGRADES, "trial/0.9", of_made_version)  # type: ignore[call-overload]


@pytest.mark.usefixtures("made_version")
def test_a_run_of_an_earlier_version_is_read_in_the_form_of_today_and_verified(folder: Path) -> None:
    """A line is held against its own schema and hash first; the file stays as it is."""
    today = read_run(folder)
    run, trials = json.loads((folder / "run.json").read_text()), replayable.bodies(folder)
    for trial in trials:
        trial["schema"], trial["fault"] = "trial/0.9", next(iter(trial.pop("faults")), None)
    replayable.forge(folder, run, trials)
    octets = (folder / "trials.jsonl").read_bytes()
    then = read_run(folder)
    assert [one.fault for one in then.trials] == [one.fault for one in today.trials]
    assert [one.result for one in then.trials] == [one.result for one in today.trials]
    assert not {one.rule_id for one in verify_folder(folder).findings} & {"STORE-01", "STORE-03", "STORE-04"}
    assert (folder / "trials.jsonl").read_bytes() == octets


def test_what_a_schema_demands_is_what_can_be_read() -> None:
    for kind, readable in READABLE.items():
        if kind != "profile":
            demanded = load(kind)["properties"]["schema"]
            assert demanded == {"const": readable[-1]}
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


def test_the_policy_has_every_format_and_version() -> None:
    rows = [row for row in README.read_text("utf-8").splitlines() if row.startswith("|")]
    for readable in READABLE.values():
        assert all(any(f"`{one}`" in row for row in rows) for one in readable)


def test_the_run_of_the_first_formats_is_read_and_told(folder: Path) -> None:
    run = read_run(folder)
    assert len(run.trials) == 11
    assert run.trial(11).validity is Validity.TESTER_STALLED
    assert run.trial(10).result.streams[0].latency.frames == run.trial(10).received_frames
    assert [outcome.values[0].number for outcome in run.outcomes if outcome.values] == [1_450_000, 900]
    assert summary_lines(facts(run))[-1] == "2 measured, 1 invalid"
    assert write_report(folder).stat().st_size > 10_000

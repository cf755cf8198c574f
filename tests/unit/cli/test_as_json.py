"""What verbs print as JSON has the documented form; answers leave as CSV and JUnit with what they are."""

import csv
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bmwg.cli.main import main
from bmwg.cli.schema_page import undescribed
from bmwg.reports.exported import as_csv, as_data, as_junit
from bmwg.reports.opened import open_run
from bmwg.schemas import load
from bmwg.schemas.validation import problems

ROOT = Path(__file__).resolve().parents[3]
SIMULATED = str(ROOT / "testbeds" / "simulated.yaml")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two simulated runs of one test, below a folder of results."""
    results = tmp_path_factory.mktemp("results")
    for _ in range(2):
        with pytest.MonkeyPatch.context() as environment:
            environment.chdir(results)
            given = ["run", str(ROOT / "testcases" / "rfc2544"), "--test", "R2544-TPUT-3.1"]
            assert main([*given, "--testbed", SIMULATED, "--results", str(results)]) == 0
    return sorted(one.parent for one in results.glob("*/run.json"))


def told(capsys, *given, statuses=(0,)):
    """The one document that a command prints, held against its schema."""
    capsys.readouterr()
    assert main(list(given)) in statuses
    document = json.loads(capsys.readouterr().out)
    form, _, version = document["schema"].partition("/")
    assert version == "1.0"
    wrong = problems(document, "output")
    assert not wrong, f"{form}: {wrong[0]}"
    return document


def test_a_run_is_named_by_its_id_in_each_verb_that_takes_one(runs, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BMWG_RESULTS", str(runs[0].parent))
    monkeypatch.chdir(tmp_path)
    first, second = (run.name for run in runs)
    assert main(["report", first]) == 0
    assert main(["verify", first]) == 0
    assert main(["export", first, "--csv", "-"]) == 0
    assert main(["compare", first, second]) in (0, 1)
    assert main(["bundle", first]) == 0
    assert (tmp_path / f"{first}.bmwg.tar").exists()
    capsys.readouterr()
    assert main(["compare", "--reproduce", first, second]) == 2  # found and read: models give the same trials
    assert "CMP-09" in capsys.readouterr().err


def test_each_verb_prints_one_document_of_its_form(runs, capsys):
    first, second = map(str, runs)
    for what in ("suites", "tests", "profiles", "networks", "paths", "testbeds", "workloads"):
        assert told(capsys, "list", what, "--json")["rows"]
    assert told(capsys, "report", first, "--json")["run_id"] == runs[0].name
    assert told(capsys, "verify", first, "--json", "--clauses")["clauses"]
    verified = told(capsys, "verify", first, "--json")
    assert (verified["result"], verified["exit_status"], verified["clauses"]) == ("verified", 0, [])
    compared = told(
        capsys, "compare", first, second, "--json", statuses=(0, 1)
    )  # 1 where the machine changed
    assert compared["sides"] == {"A": [runs[0].name], "B": [runs[1].name]}
    assert (compared["simulated"], compared["indicative"]) == (True, True)
    (made,) = told(capsys, "trend", first, second, "--json")["trends"]
    assert len(made["runs"]) == 2
    doctor = told(capsys, "doctor", "--testbed", SIMULATED, "--json", statuses=(0, 1))
    assert doctor["stalls"] is doctor["speed"] is None
    assert told(capsys, "cleanup", first, "--json")["runs"] == [{"folder": first, "left": []}]


def test_a_run_prints_its_answers_alone_and_what_it_tells_on_the_way_goes_to_standard_error(tmp_path):
    given = ["run", "testcases/rfc2544", "--test", "R2544-TPUT-3.1", "--testbed", SIMULATED]
    command = [sys.executable, "-m", "bmwg", *given, "--results", str(tmp_path), "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert not problems(document, "output")
    (made,) = tmp_path.glob("*/run.json")
    assert document["run_id"] == made.parent.name
    assert document["answers"]
    assert made.parent.name in done.stderr
    assert main([*given, "--repeat", "2", "--json"]) == 2


def test_a_plan_sums_up_its_kinds_and_says_which_time_nobody_knows(capsys):
    given = ("plan", str(ROOT / "testcases"), "--testbed", SIMULATED)
    kinds = {one["kind"]: one for one in told(capsys, *given, "--json")["kinds"]}
    assert kinds["frames"]["whole_s"] > 0
    assert kinds["requests"]["whole_s"] is None
    assert main(list(given)) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"in all: {sum(len(one['cells']) for one in kinds.values())} cells")
    assert "requests" in last


def test_a_run_that_lies_is_rejected_in_the_same_form(runs, capsys, tmp_path):
    lying = tmp_path / runs[0].name
    lying.mkdir()
    for file in runs[0].iterdir():
        if file.is_file():
            (lying / file.name).write_bytes(file.read_bytes())
    run = json.loads((lying / "run.json").read_text(encoding="utf-8"))
    run["outcomes"][-1]["reason"] = "said by nobody"
    (lying / "run.json").write_text(json.dumps(run), encoding="utf-8")
    capsys.readouterr()
    status = main(["verify", str(lying), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert not problems(document, "output")
    assert document["result"] == "rejected"
    assert document["exit_status"] == status != 0
    assert document["findings"]


def test_an_unknown_form_or_key_is_none_of_the_documented(runs, capsys):
    document = told(capsys, "list", "paths", "--json")
    assert problems({**document, "schema": "list/2.0"}, "output")
    assert problems({**document, "more": 1}, "output")


def test_every_key_of_a_profile_says_what_it_means():
    assert undescribed(load("profile")) == ["schema"]


def test_every_key_of_what_is_printed_says_what_it_means():
    schema = load("output")
    for one in schema["oneOf"]:
        form = schema["$defs"][one["$ref"].rpartition("/")[2]]
        left = [key for key in undescribed(form, schema) if not key.endswith("schema")]
        assert [key for key in left if "samples" not in key and "changes[]" not in key] == []


def test_answers_are_exported_in_all_forms_and_no_file_is_overwritten(runs, capsys, tmp_path):
    table, cases, data = tmp_path / "a.csv", tmp_path / "a.xml", tmp_path / "a.json"
    given = ["export", str(runs[0]), "--csv", str(table), "--junit", str(cases), "--json", str(data)]
    assert main(given) == 0
    assert not problems(json.loads(data.read_text(encoding="utf-8")), "output")
    assert len(list(csv.DictReader(table.open(encoding="utf-8")))) == len(open_run(runs[0]).answers)
    assert ElementTree.fromstring(cases.read_text(encoding="utf-8")).tag == "testsuites"
    assert main(given) == 2
    assert "EXP-02" in capsys.readouterr().err
    assert main(["export", str(runs[0])]) == 2
    assert "EXP-01" in capsys.readouterr().err
    assert main(["export", str(runs[0]), "--csv", "-"]) == 0
    assert capsys.readouterr().out == table.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("kind", "tag"),
    [
        ("measured", None),
        ("at_ceiling", None),
        ("unstable", "skipped"),
        ("not_assessed", "skipped"),
        ("invalid", "error"),
    ],
)
def test_junit_fails_for_a_procedure_that_broke_and_never_for_a_figure(runs, kind, tag):
    run = open_run(runs[0])
    one = replace(run.answers[0], type=kind, number=None, reason="a reason with \x1b and <marks>")
    root = ElementTree.fromstring(as_junit(replace(run, answers=type(run.answers)([one]))))
    (case,) = root.iter("testcase")
    assert [child.tag for child in case if child.tag != "properties"] == ([tag] if tag else [])
    assert root.get("errors") == str(int(tag == "error"))
    assert root.get("failures") == "0"


def test_junit_says_of_a_run_how_it_ended(runs):
    run = replace(open_run(runs[0]), status="interrupted")
    told = {
        one.get("name"): one.get("value")
        for one in ElementTree.fromstring(as_junit(run)).find("testsuite/properties")
    }
    assert (told["status"], told["simulated"]) == ("interrupted", "true")


def test_no_form_prints_a_figure_of_an_answer_that_is_none(runs):
    run = open_run(runs[0])
    one = replace(run.answers[0], type="unstable", number=None)
    told = replace(run, answers=type(run.answers)([one]))
    (row,) = csv.DictReader(io.StringIO(as_csv(told)))
    assert (row["type"], row["number"], row["simulated"]) == ("unstable", "", "true")
    assert as_data(told)["answers"][0]["number"] is None

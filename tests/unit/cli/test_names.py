"""Names are listed, a slip has its near name, a run is found by its id, statuses are in one table."""

import json

import pytest

import bmwg
from bmwg.cli import exits
from bmwg.cli.main import main
from bmwg.cli.runs import run_folder, run_folders
from bmwg.methodology import errors


@pytest.mark.parametrize(
    ("what", "key", "name"),
    [
        ("suites", "name", "rfc2544"),
        ("tests", "id", "CN-TPUT-1.2"),
        ("profiles", "name", "quick"),
        ("networks", "name", "macvlan"),
        ("paths", "name", "pvp"),
        ("workloads", "name", "iperf3"),
    ],
)
def test_what_other_verbs_take_is_listed(capsys, what, key, name):
    assert main(["list", what, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert name in [row[key] for row in rows]
    assert main(["list", what]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(rows)


def test_testbeds_are_listed_as_paths_that_run_takes(capsys):
    assert main(["list", "testbeds", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert any(row["path"].endswith("testbeds/simulated.yaml") and row["what"] for row in rows)


@pytest.mark.parametrize(
    ("given", "near"),
    [
        (["rnu"], "did you mean run?"),
        (["--tetsbed", "x"], "did you mean bmwg run --testbed?"),
        (["--zzzz"], "bmwg --help"),
        (["run", "--tetsbed", "x"], "did you mean --testbed?"),
        (["plan", "--budgt=4"], "did you mean --budget?"),
        (["verify", "run", "--zzzz"], "bmwg verify --help"),
        (["report", "a", "b"], "bmwg report: b is one word too many, it takes one RUN; bmwg report --help"),
        (["keys", "show", "a", "--zzzz"], "bmwg keys show --help"),
        (["compare", "a", "--unverified", "b"], "it takes SIDE ... without an option between"),
    ],
)
def test_a_slip_in_a_verb_an_option_or_a_word_is_told_in_one_line(capsys, given, near):
    assert main(given) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert near in error
    assert len(error.splitlines()) == 1


def test_a_run_is_found_by_its_id(tmp_path, monkeypatch):
    monkeypatch.setenv("BMWG_RESULTS", str(tmp_path / "kept"))
    run = tmp_path / "kept" / "20261125T000000Z-abcdef"
    run.mkdir(parents=True)
    assert run_folder(run.name) == run
    assert run_folder(str(run)) == run
    assert str(run_folder("nowhere")) == "nowhere"
    assert run_folders(f"{run.name},nowhere") == f"{run},nowhere"


@pytest.mark.parametrize(
    ("robot", "ours"), [(0, 0), (1, 1), (32, 1), (250, 1), (252, 2), (253, 130), (255, 70)]
)
def test_robots_count_of_failed_tests_is_no_status_of_ours(robot, ours):
    assert exits.of_robot(robot) == ours


def test_the_version_is_told_with_its_commit(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert not ended.value.code
    assert capsys.readouterr().out.startswith(f"bmwg {bmwg.__version__}, commit ")


def test_every_status_of_an_error_is_in_the_table(capsys):
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    assert {one.exit_code for one in kinds if issubclass(one, errors.ToolkitError)} <= set(exits.STATUSES)
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert all(words in said for words in exits.STATUSES.values())

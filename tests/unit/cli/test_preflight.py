"""What is wrong with a command line is said once, before Robot starts, and nothing is made."""

import os
import sys
from pathlib import Path

import pytest
import yaml

from bmwg.cli import run as run_module
from bmwg.cli.main import main

ROOT = Path(__file__).parents[3]
SIMULATED = ROOT / "testbeds" / "simulated.yaml"
EMBEDDED = ROOT / "testbeds" / "embedded.yaml"
VARIABLES = (
    "RUN",
    "RUN_ID",
    "TESTBED",
    "PROFILE",
    "RESULTS",
    "CONSOLE",
    "OVERLAY",
    "VERBOSE",
    "NETWORKS",
    "PATHS",
    "FRAME_SIZES",
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty working folder, and no Robot: what is refused here is refused before it."""
    for name in VARIABLES:
        monkeypatch.setenv(f"BMWG_{name}", "")  # what the command sets is gone after the test
        monkeypatch.delenv(f"BMWG_{name}")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def no_robot(monkeypatch):
    monkeypatch.setattr(run_module, "run_cli", lambda *_, **__: pytest.fail("Robot was started"))


def edited(folder, old, new):
    text = EMBEDDED.read_text(encoding="utf-8")
    assert old in text
    file = folder.parent / "edited.yaml"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return str(file), text[: text.index(old)].count("\n") + 1


@pytest.mark.parametrize(
    ("arguments", "error_id", "status", "said"),
    [
        (["--testbed", "none.yaml"], "CFG-01", 2, "none.yaml"),
        (["--profile", "quik"], "PRF-01", 2, "did you mean 'quick'?"),
        (["--overlay", "none.yaml"], "REC-08", 2, "none.yaml"),
        (["--network", "brige"], "PRF-11", 2, "did you mean 'bridge'?"),
        (["--path", "pvq"], "PRF-11", 2, "did you mean 'pvp'?"),
        (["--frame-size", "63"], "SET-02", 2, "63"),
        (["no_such_suite"], "RUN-01", 2, "no_such_suite"),
        (["--test", "CN-TPUT-1.99"], "RUN-03", 2, "did you mean CN-TPUT-1."),
        (["--test", "CN-TPUT-1.2", "--test", "CN-TPUT-1.99"], "RUN-03", 2, "did you mean CN-TPUT-1."),
        (["--test", "CN-TPUT-1.2", "--test", "R2544-TPUT-1.1"], "RUN-03", 2, "of suite rfc2544"),
        (["--tag", "nobody:has-it"], "RUN-03", 2, "nobody:has-it"),
        (["--results", "/proc/bmwg"], "RUN-04", 3, "--results"),
        (["--results", "/dev/null/x"], "RUN-04", 3, "/dev/null"),
        (
            [str(ROOT / "testcases" / "http_proxy"), "--test", "HP-ONE-1", "--profile", "low-rate"],
            "HPROF-01",
            2,
            "low-rate",
        ),
    ],
)
def test_one_message_the_documented_status_and_nothing_made(
    place, no_robot, capsys, arguments, error_id, status, said
):
    assert main(["run", "--testbed", str(SIMULATED), *arguments]) == status
    out, error = capsys.readouterr()
    assert out == ""
    assert error.count(error_id) == 1
    assert said in error
    assert list(place.iterdir()) == []


def test_a_wrong_driver_is_named_with_file_and_line(place, no_robot, capsys):
    file, line = edited(place, "driver: embedded", "driver: embeded")
    assert main(["run", "--testbed", file]) == 2
    error = capsys.readouterr().err
    assert f"DRIVER-01  {file}:{line}: tester.driver" in error
    assert "did you mean 'embedded'?" in error
    assert list(place.iterdir()) == []


def test_a_tester_that_the_machine_cannot_be_is_named_with_file_and_line(place, no_robot, capsys):
    strange = (os.cpu_count() or 1) + 5
    file, line = edited(place, "  cpus: [0]", f"  cpus: [{strange}]")
    assert main(["run", "--testbed", file]) == 2
    error = capsys.readouterr().err
    assert f"TST-23  {file}:{line}: tester cpus" in error
    assert f"found [{strange}]" in error
    assert list(place.iterdir()) == []


def test_a_suite_that_robot_cannot_read_is_refused(place, no_robot, capsys):
    odd = place.parent / "notes.robot"
    odd.write_text("no section at all\n", encoding="utf-8")
    assert main(["run", str(odd), "--testbed", str(SIMULATED)]) == 2
    assert capsys.readouterr().err.count("RUN-0") == 1
    assert list(place.iterdir()) == []


def ids_of_plan(capsys, *arguments):
    assert main(["plan", "--testbed", str(SIMULATED), *arguments]) == 0
    return {
        line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:3] in ("CN-", "R25", "HP-")
    }


def test_plan_takes_suites_tests_and_tags_as_run_does(place, capsys):
    rfc = str(ROOT / "testcases" / "rfc2544")
    everything = ids_of_plan(capsys)
    assert everything == ids_of_plan(capsys, str(ROOT / "testcases" / "containerized"))
    assert ids_of_plan(capsys, "--test", "CN-TPUT-1.3") == {"CN-TPUT-1.3"}
    assert ids_of_plan(capsys, rfc, "--test", "R2544-SOAK-1.1") == {"R2544-SOAK-1.1"}
    assert ids_of_plan(capsys, f"{rfc}/09__soak.robot") == {"R2544-SOAK-1.1"}
    assert ids_of_plan(capsys, "--tag", "id:CN-LAT*") == {
        one for one in everything if one.startswith("CN-LAT")
    }
    http = str(ROOT / "testcases" / "http_proxy")
    assert ids_of_plan(capsys, http, "--test", "HP-ONE-1") == {"HP-ONE-1"}
    assert main(["plan", "--test", "CN-TPUT-1.99"]) == 2
    assert "RUN-03" in capsys.readouterr().err


def test_pipes_and_dumb_terminals_get_a_line_a_cell_and_trials_only_when_asked(place, capfd, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TERM", "dumb")
    data = yaml.safe_load(SIMULATED.read_text(encoding="utf-8"))
    file = place / "simulated.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    counts = []
    for terminal, more in ((False, []), (True, ["--verbose"])):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal, raising=False)
        arguments = [
            "run",
            "--testbed",
            str(file),
            "--results",
            str(place / "results"),
            "--test",
            "CN-TPUT-1.2",
        ]
        assert main([*arguments, *more]) == 0
        said = capfd.readouterr().out
        trials = [line for line in said.splitlines() if ": trial " in line]
        cells = {line.split(":")[0].strip() for line in said.splitlines() if ": throughput (" in line}
        counts.append((len(trials), len(cells)))
        os.environ.pop("BMWG_VERBOSE", None)
    assert counts[0][0] == 0
    assert counts[1][0] > 20
    assert counts[0][1] == counts[1][1] == 3


def test_plan_takes_the_environment_as_a_run_does(place, capsys, monkeypatch):
    def cells(*arguments):
        assert main(["plan", *arguments]) == 0
        return [line for line in capsys.readouterr().out.splitlines() if line.startswith("CN-")]

    named = cells("--testbed", str(SIMULATED))
    assert named != cells()
    monkeypatch.setenv("BMWG_TESTBED", str(SIMULATED))
    assert cells() == named
    monkeypatch.setenv("BMWG_PROFILE", "no-such-profile")
    assert main(["plan"]) != 0


def test_a_real_run_without_root_says_in_one_message_what_it_needs(place, capsys, no_robot, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["run", "--test", "CN-TPUT-1.2"]) == 3
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith("RUN-06")
    assert "sudo" in error
    assert "simulated.yaml" in error
    assert list(place.iterdir()) == []

"""A series of runs takes turns and has an id a run; what an interruption left open has not failed."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bmwg.cli import exits, repeat
from bmwg.cli.main import main
from bmwg.cli.repeat import turns
from bmwg.reports.compare.options import EACH
from bmwg.reports.store import read_run

ROOT = Path(__file__).resolve().parents[3]
SIMULATED = str(ROOT / "testbeds" / "simulated.yaml")
SUITE = str(ROOT / "testcases" / "rfc2544")
ONE = [SUITE, "--test", "R2544-TPUT-3.1", "--testbed", SIMULATED]


def bmwg(*arguments, at):
    """Start the command in a folder, without settings of whoever runs the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    return subprocess.Popen(
        [sys.executable, "-m", "bmwg", *arguments],
        cwd=at,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_each_round_begins_with_the_other_side():
    assert [turns(2, number) for number in range(3)] == [[0, 1], [1, 0], [0, 1]]
    assert turns(1, 1) == [0]


def test_a_series_of_two_testbeds_takes_turns_and_can_be_compared(tmp_path):
    other = tmp_path / "other.yaml"
    text = Path(SIMULATED).read_text(encoding="utf-8")
    other.write_text(re.sub(r"^name: .*$", "name: other", text, flags=re.M), encoding="utf-8")
    process = bmwg("run", *ONE, "--repeat", "2", "--against", str(other), at=tmp_path)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    runs = [read_run(one.parent) for one in (tmp_path / "results").glob("*/run.json")]
    runs.sort(key=lambda run: run.started_at)
    assert [run.testbed["name"] for run in runs] == ["simulated", "other", "other", "simulated"]
    first = ",".join(run.run_id for run in runs if run.testbed["name"] == "simulated")
    assert f"bmwg compare {first} " in out


def test_a_series_of_two_options_says_how_to_hold_them_against_each_other(tmp_path):
    options = ["--network", "bridge", "--network", "ptp"]
    narrow = [*options, "--path", "pvp", "--frame-size", "64", "--testbed", SIMULATED]
    suite = str(ROOT / "testcases" / "containerized")
    process = bmwg("run", suite, *narrow, "--repeat", "2", at=tmp_path)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    runs = sorted(one.parent.name for one in (tmp_path / "results").glob("*/run.json"))
    said = f"bmwg compare {','.join(runs)} {' '.join(options)}"
    assert out.splitlines()[-1].endswith(f": {said}")
    process = bmwg(*said.split()[1:], at=tmp_path)
    out, _ = process.communicate(timeout=300)
    assert f"pvp {EACH} 64" in out
    assert "throughput bridge" in out


def test_a_series_goes_on_while_too_few_runs_can_be_judged_and_no_further(tmp_path):
    narrow = ["--network", "bridge", "--network", "ptp", "--path", "pvp", "--frame-size", "64"]
    suite = str(ROOT / "testcases" / "containerized")
    process = bmwg(
        "run", suite, *narrow, "--testbed", SIMULATED, "--repeat", "2", "--at-most", "6", at=tmp_path
    )
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0, out
    assert len(list((tmp_path / "results").glob("*/run.json"))) == 4  # the least of equal numbers
    assert "one more round, 3 of at most 6: pvp" in out
    assert "run 4 of 4: " in out


@pytest.mark.parametrize(
    "given",
    [
        ["--repeat", "0"],
        ["--against", SIMULATED],
        ["--at-most", "3"],
        ["--repeat", "4", "--at-most", "3", "--against", SIMULATED],
        ["--repeat", "2", "--at-most", "3"],
        ["--repeat", "2", "--challenge", SIMULATED],
    ],
)
def test_options_that_make_no_series_are_refused_by_name(capsys, given):
    assert main(["run", *ONE, *given]) == 2
    assert "RUN-07" in capsys.readouterr().err


def test_a_series_of_a_command_that_is_refused_ends_at_once(tmp_path):
    process = bmwg("run", *ONE, "--repeat", "3", "--profile", "nosuch", at=tmp_path)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 2
    assert out.count("PRF-01") == 1


def test_a_run_that_never_began_is_no_run_of_a_side(tmp_path, monkeypatch, capsys):
    """The comparison refuses a name that is no run."""

    def first_alone(command):
        begun = tmp_path / command[-1]
        if not list(tmp_path.iterdir()):
            begun.mkdir()
            (begun / "run.json").touch()
        return 3

    monkeypatch.setattr(repeat, "_run", first_alone)
    for expected in (r": (sudo )?(BMWG_RESULTS=\S+ )?bmwg compare [^ ,]+ OTHERS", "no run began"):
        assert main(["run", *ONE, "--repeat", "3", "--results", str(tmp_path)]) == 3
        assert re.search(expected, capsys.readouterr().out.splitlines()[-1])


def test_what_ctrl_c_did_not_let_begin_was_not_reached_and_has_not_failed(tmp_path):
    """A whole suite on simulated devices takes seconds: the signal comes after the first answer."""
    suite = str(ROOT / "testcases" / "containerized")
    process = bmwg("run", suite, "--testbed", SIMULATED, "--repeat", "2", at=tmp_path)
    said = []
    for line in process.stdout:
        said.append(line)
        if "throughput (" in line or "the tester alone" in line:
            process.send_signal(signal.SIGINT)
            break
    said.append(process.stdout.read())
    out = "".join(said)
    assert process.wait(timeout=120) == exits.INTERRUPTED, out
    assert "FAILED" not in out
    assert "interrupted" in out
    assert "interrupted: 1 of 2 runs not reached" in out
    (folder,) = [one.parent for one in (tmp_path / "results").glob("*/run.json")]
    assert read_run(folder).status == "interrupted"
    (told,) = (tmp_path / "results").glob("robot/*/output.xml")
    text = told.read_text(encoding="utf-8")
    assert re.search(r'fail="0" [^>]*>All Tests', text)
    assert "not reached: the run was interrupted" in text

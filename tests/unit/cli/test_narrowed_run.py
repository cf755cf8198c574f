"""A run narrowed by its command is whole: it verifies, its report says so, and Python reads it."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

import bmwg
from bmwg.drivers.undo import ledger
from bmwg.methodology.errors import TestbedError
from bmwg.reports.compare import Side, compare
from bmwg.reports.compare.screen import comparison_screen
from bmwg.reports.store import read_run
from bmwg.reports.store.codec import plan_sha256

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "read_run.py"


def command(*arguments, at):
    """Run a program of Python in a folder, without settings of whoever runs the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("BMWG_")}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=at, env=env, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One simulated run of one path and size; the folder it was made from, and its own."""
    at = tmp_path_factory.mktemp("narrowed")
    testbed, suite = ROOT / "testbeds" / "simulated.yaml", ROOT / "testcases" / "containerized"
    asked = ("--path", "node", "--frame-size", "512")
    status, out, error = command("-m", "bmwg", "run", suite, "--testbed", testbed, *asked, at=at)
    assert status == 0, out + error
    (folder,) = [path.parent for path in (at / "results").glob("*/run.json")]
    return at, folder, out


def test_it_says_what_it_was_narrowed_to_on_console_and_page(made):
    _, folder, out = made
    said = "Narrowed by its command: this run measures paths: node; frame octets: 512 alone."
    assert said in out
    assert said in (folder / "report.html").read_text(encoding="utf-8")


def test_the_command_that_its_page_prints_plans_the_same_cells(made):
    _, folder, _ = made
    page = (folder / "report.rst").read_text(encoding="utf-8")
    printed = re.search(r"bmwg run testcases(?:.*\\\n)*.*", page)[0].replace("\\\n", " ")
    words = shlex.split(printed)[2:]
    assert {"--path", "node", "--frame-size", "512", "quick"} <= set(words)
    status, out, error = command("-m", "bmwg", "plan", "--hash", *words, at=ROOT)
    assert (status, error) == (0, "")
    assert out.strip() == plan_sha256(read_run(folder).plan)


def test_it_verifies_by_its_id(made):
    at, folder, _ = made
    status, out, error = command("-m", "bmwg", "verify", folder.name, at=at)
    assert (status, error) == (0, "")
    assert f"of run {folder.name}" in out


def test_records_hold_what_the_console_prints(made):
    _, folder, out = made
    run = bmwg.open_run(folder)
    assert (run.profile, run.simulated, run.indicative) == ("quick-narrowed", True, True)
    assert {(one.path, one.frame_octets) for one in run.answers} == {("wire", 512), ("node", 512)}
    found = [one for one in run.answers if one.metric.startswith("conditional_throughput")]
    for one in found:
        assert f"{one.number:,.0f} ({one.low_fps:,} to {one.high_fps:,}) frames/s" in out.replace(
            "\u00a0", " "
        )
    assert found
    assert [one.seq for one in run.trials] == list(range(1, len(run.trials) + 1))
    assert any(one.name == "kernel/release" and one.value for one in run.facts)
    assert all(one.why for one in run.facts if one.value is None)
    with pytest.raises(FrozenInstanceError):
        found[0].number = 1


def test_frames_of_pandas_have_a_column_a_field_or_say_what_is_missing(made):
    run = bmwg.open_run(made[1])
    try:
        import pandas  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(TestbedError, match=r"^API-01 "):
            run.trials.to_pandas()
        return
    told = run.trials.to_pandas()
    assert list(told.seq) == [one.seq for one in run.trials]
    assert list(told.columns) == list(type(run.trials[0]).__dataclass_fields__)


def test_a_comparison_shows_the_conditional_throughput_and_says_what_it_is(made):
    _, folder, _ = made
    runs = read_run(folder)
    other = replace(runs, run_id="other", journal_hash="0" * 64)
    told = comparison_screen(compare([Side(name="A", runs=(runs,)), Side(name="B", runs=(other,))]))
    number = next(
        one.number for one in bmwg.open_run(folder).answers if one.metric.startswith("conditional_throughput")
    )
    (line,) = [line for line in told.splitlines() if line.startswith("node 512")]
    assert line.count(f"{number:,.0f}") == 2
    assert "conditional throughput" in told
    assert "Nothing could be compared" in told


def test_the_example_of_the_documentation_runs(made):
    at, folder, _ = made
    status, out, error = command(EXAMPLE, folder, at=at)
    assert (status, error) == (0, "")
    assert "node none 512: conditional_throughput" in out
    assert "kernel/release: " in out


def test_the_list_of_ledgers_of_a_user_lies_in_a_folder_of_theirs(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert ledger._index_dir() == tmp_path / "bmwg" / "ledgers"


def planned(*asked):
    """Plan suites as somebody types it; status, the tests that are left, and the error."""
    suites = [str(ROOT / "testcases" / name) for name in ("pod_to_pod", "lifecycle", "http_proxy")]
    status, out, error = command("-m", "bmwg", "plan", *suites, *asked, at=ROOT)
    return status, {line.split("-")[0] for line in out.splitlines() if "/" in line}, error


def test_each_kind_measures_on_those_of_the_paths_that_it_has():
    assert planned("--network", "macvlan", "--path", "p2p", "--path", "pvp")[:2] == (0, {"PP", "LC"})
    assert planned("--network", "macvlan", "--path", "p2p-underlay")[:2] == (0, {"PP"})


def test_a_path_that_no_kind_has_is_refused_also_beside_one_that_is_known():
    status, tests, error = planned("--path", "p2p", "--path", "pvpp")
    assert (status != 0, tests) == (True, set())
    assert "PRF-11" in error
    assert "did you mean 'pvp'?" in error

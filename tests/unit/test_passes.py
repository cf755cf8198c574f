"""Two passes of tests: each test runs in one of them, and a failure of either is told."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.passes import marks_asked, status_of

ROOT = Path(__file__).parents[2]
MODULE = """
import os, pathlib, pytest

def note(word):
    place = os.environ.get("PYTEST_XDIST_WORKER", "alone")
    with open(pathlib.Path(__file__).with_name("seen"), "a") as file:
        print(word, place.rstrip("0123456789"), file=file)

def test_plain():
    note("plain")

@pytest.mark.quiet
def test_quiet():
    note("quiet")
    assert {passes}

@pytest.mark.slow
def test_slow():
    note("slow")
"""


@pytest.mark.parametrize("quiet_is_good", [True, False])
def test_each_test_runs_once_and_a_quiet_one_alone(tmp_path: Path, quiet_is_good: bool) -> None:
    (tmp_path / "test_made.py").write_text(MODULE.replace("{passes}", str(quiet_is_good)))
    command = [sys.executable, "-m", "tests.passes", tmp_path, "-q", "-c", "pyproject.toml"]
    alone = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(
        command, cwd=ROOT, env=alone, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == (0 if quiet_is_good else 1), done.stdout
    assert sorted((tmp_path / "seen").read_text().splitlines()) == ["plain gw", "quiet alone"]


@pytest.mark.parametrize(
    ("found", "status"), [([0, 0], 0), ([0, 5], 0), ([5, 0], 0), ([5, 5], 5), ([1, 0], 1), ([5, 2], 2)]
)
def test_a_pass_without_tests_is_a_failure_only_when_the_other_has_none(
    found: list[int], status: int
) -> None:
    assert status_of(found) == status


def test_the_marks_that_are_asked_for_hold_in_both_passes() -> None:
    assert marks_asked(["tests/x", "-k", "a"]) == ("not slow", ["tests/x", "-k", "a"])
    assert marks_asked(["tests/x", "-m", "slow", "-k", "a"]) == ("slow", ["tests/x", "-k", "a"])

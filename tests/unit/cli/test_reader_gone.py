"""A reader of the output that has enough of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUN = next((ROOT / "tests" / "data" / "runs").glob("*/run.json")).parent


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "--testbed", str(ROOT / "testbeds" / "simulated.yaml")],
        ["verify", "--clauses", str(RUN)],
    ],
    ids=lambda words: words[0],
)
def test_a_reader_that_is_gone_ends_a_verb_without_a_traceback(words):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "bmwg", *words]
    try:
        done = subprocess.run(
            command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")

"""A reader of the output that has enough of it."""

import os
import signal
import subprocess
import sys


def test_a_reader_that_is_gone_ends_a_verb_without_a_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "bmwg", "plan", "--testbed", "testbeds/simulated.yaml"]
    try:
        done = subprocess.run(
            command, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")

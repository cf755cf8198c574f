"""Processes are found by the words of their command line and of their environment."""

import os
import subprocess
import time

import pytest

from bmwg.drivers.nodes import process


@pytest.fixture
def labelled():
    with process.owned(f"unit-{os.getpid()}"), subprocess.Popen(["sleep", "60"]) as sleeper:
        end_s = time.monotonic() + 10  # the words come a moment after the program has begun
        while dict(process.each("environ"))[sleeper.pid] == [b""] and time.monotonic() < end_s:
            time.sleep(0.01)
        yield sleeper
        sleeper.kill()


def test_each_process_comes_with_its_words(labelled):
    assert dict(process.each("cmdline"))[labelled.pid][:2] == [b"sleep", b"60"]
    label = f"{process.OWNER_VARIABLE}=unit-{os.getpid()}".encode()
    assert label in dict(process.each("environ"))[labelled.pid]


def test_the_owner_finds_what_it_started_and_no_other_does(labelled):
    assert process.owned_pids(f"unit-{os.getpid()}") == [labelled.pid]
    assert process.owned_pids(f"unit-{os.getpid()}-other") == []
    assert process.owned_pids("") == []

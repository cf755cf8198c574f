"""Processes are found by the words of their command line and of their environment."""

import os
import signal
import subprocess
import sys
import time

import pytest

from bmwg.drivers.nodes import process
from bmwg.methodology.errors import DriverError


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


_BEGINS = """
import sys, tempfile, time
from bmwg.drivers.nodes import process
process.end_in_order()
with tempfile.TemporaryDirectory(dir=sys.argv[1]):
    print("begun", flush=True)
    time.sleep(60)
"""


def test_a_command_that_is_late_removes_what_it_has_begun(tmp_path):
    words = [sys.executable, "-c", _BEGINS, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as command:
        assert command.stdout.readline() == b"begun\n"
        assert list(tmp_path.iterdir())
        command.terminate()
        assert command.wait(10) == 128 + signal.SIGTERM
    assert not list(tmp_path.iterdir())


class Started:
    """Processes of an owner that let SIGTERM pass, and of which one may outlive SIGKILL too."""

    def __init__(self, *pids, stays=0):
        self.there, self.sent, self._stays = set(pids), [], stays

    def kill(self, pid, number):
        self.sent.append((number, pid))
        if number == signal.SIGKILL and pid != self._stays:
            self.there.discard(pid)

    def same(self, pid, ticks):
        return pid in self.there and ticks == 7


@pytest.fixture
def owned_by(monkeypatch):
    def made(started):
        monkeypatch.setattr(process, "_END_S", 0.02)
        monkeypatch.setattr(process, "_KILLED_S", 0.02)
        monkeypatch.setattr(process, "owned_pids", lambda owner: sorted(started.there))
        monkeypatch.setattr(process, "start_ticks", lambda pid: 7)
        monkeypatch.setattr(process, "same", started.same)
        monkeypatch.setattr(os, "kill", started.kill)
        return started

    return made


def test_what_an_owner_started_is_ended_together(owned_by):
    started = owned_by(Started(1, 2, 3))
    assert process.terminate_owned(owner="one") == 3
    assert [number for number, _ in started.sent] == [signal.SIGTERM] * 3 + [signal.SIGKILL] * 3
    assert started.there == set()


def test_one_that_outlives_sigkill_keeps_no_other_of_its_owner_from_being_ended(owned_by):
    started = owned_by(Started(1, 2, 3, stays=1))
    with pytest.raises(DriverError, match=r"NODE-12 +process 1\n"):
        process.terminate_owned(owner="one")
    assert started.there == {1}

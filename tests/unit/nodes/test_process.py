"""Processes are found by the words of their command line and of their environment."""

import contextlib
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


@contextlib.contextmanager
def deaf(owner, count):
    """Start so many processes of an owner that let SIGTERM pass."""
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    with contextlib.ExitStack() as stack:
        with process.owned(owner):
            started = [
                stack.enter_context(subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE))
                for _ in range(count)
            ]
        for child in started:
            stack.callback(child.kill)
            child.stdout.readline()
        yield [child.pid for child in started]


def test_what_an_owner_started_is_ended_together(monkeypatch):
    sent, real = [], os.kill
    monkeypatch.setattr(process, "_END_S", 0.2)
    monkeypatch.setattr(os, "kill", lambda pid, number: (sent.append((pid, number)), real(pid, number)))
    with deaf(f"deaf-{os.getpid()}", 3) as pids:
        assert process.terminate_owned(owner=f"deaf-{os.getpid()}") == 3
        assert [number for _, number in sent] == [signal.SIGTERM] * 3 + [signal.SIGKILL] * 3
        assert {pid for pid, _ in sent} == set(pids)


def test_one_that_outlives_sigkill_keeps_no_other_of_its_owner_from_being_ended(monkeypatch):
    real = process.same
    monkeypatch.setattr(process, "_END_S", 0.2)
    with deaf(f"deaf-{os.getpid()}", 3) as pids:
        stays = min(pids)
        ticks = {pid: process.start_ticks(pid) for pid in pids}
        monkeypatch.setattr(process, "same", lambda pid, at: pid == stays or real(pid, at))
        with pytest.raises(DriverError, match=rf"NODE-12 .*process {stays}\n"):
            process.terminate_owned(owner=f"deaf-{os.getpid()}")
        assert not any(real(pid, ticks[pid]) for pid in pids if pid != stays)

"""Commands end, in time and in size, whatever they do."""

import subprocess
import sys
import time

import pytest

from bmwg.drivers.nodes import bounded


def python(code):
    return [sys.executable, "-S", "-c", code]


def test_what_a_command_says_and_its_status_are_returned():
    ended = bounded.run(
        python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), deadline_s=20
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "out\n", "err\n")


def test_one_that_does_not_end_is_killed_at_its_deadline():
    begun_s = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        bounded.run(["sleep", "60"], deadline_s=0.2)
    assert time.monotonic() - begun_s < 10


def test_one_that_says_too_much_is_killed():
    with pytest.raises(bounded.TooMuchOutputError):
        bounded.run(["yes"], deadline_s=30, limit_octets=100_000)


def test_a_child_that_keeps_the_pipes_open_does_not_keep_us():
    begun_s = time.monotonic()
    ended = bounded.run(["sh", "-c", "echo said; sleep 20 & exit 4"], deadline_s=15)
    assert (ended.returncode, ended.stdout) == (4, "said\n")
    assert time.monotonic() - begun_s < 10


def test_a_command_that_is_not_there_is_an_error_of_the_system():
    with pytest.raises(FileNotFoundError):
        bounded.run(["/nowhere/at-all"], deadline_s=1)


def test_one_that_outlives_its_end_is_given_up(monkeypatch):
    """As one does that a NIC's driver holds; who waits for it without a deadline fails here at once."""

    class Held(subprocess.Popen):
        def wait(self, timeout=None):
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)

    monkeypatch.setattr(subprocess, "Popen", Held)
    with pytest.raises(subprocess.TimeoutExpired):
        bounded.run(["sleep", "60"], deadline_s=0.2)

"""Programs of a node: what ends with them, and whom their number never ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.waiting import eventually

from bmwg.drivers.nodes import process, programs

_BREEDING = """
breed() { sleep 0.005; [ "$1" -eq 0 ] || (breed $(($1 - 1))) & }
breed 2000
sleep 600
"""
_CHILDREN = 20
_MANY = f"for i in $(seq {_CHILDREN}); do sleep 600 & done; wait"


def test_whatever_a_stopped_program_has_begun_has_ended_when_stop_returns(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    programs.write_files(folder=str(folder), files={})
    started = programs.start(command=["sh", "-c", _MANY], folder=str(folder), packages=[])
    assert eventually(lambda: len(programs.session(started["pid"])) == 1 + _CHILDREN)
    programs.hold(**started, held=True)  # a process that is held does not answer SIGTERM
    members = {pid: process.start_ticks(pid) for pid in programs.session(started["pid"])}
    programs.stop(**started, folder=str(folder), within_s=1.0)
    assert [pid for pid, ticks in members.items() if process.same(pid, ticks)] == []
    assert not folder.exists()


def test_a_program_that_goes_on_starting_others_is_held_whole(tmp_path: Path) -> None:
    """Each child starts another one and ends: whoever is listed has a successor that is not."""
    folder = tmp_path / "run"
    programs.write_files(folder=str(folder), files={})
    started = programs.start(command=["sh", "-c", _BREEDING], folder=str(folder), packages=[])
    try:
        for _ in range(20):
            programs.hold(**started, held=True)
            assert {process.state(one) for one in programs.session(started["pid"])} <= {"T", "Z", "D", ""}
            programs.hold(**started, held=False)
        assert process.state(started["pid"]) != "T"
    finally:
        programs.stop(**started, folder=str(folder))


def test_a_program_that_has_the_number_by_now_is_left_alone(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "600"], start_new_session=True)
    try:
        before = process.start_ticks(other.pid)
        programs.stop(pid=other.pid, start_ticks=before - 1, folder=str(tmp_path / "none"))
        assert process.same(other.pid, before)
        assert os.getsid(other.pid) == other.pid
    finally:
        other.kill()
        other.wait(5)

"""CPU time of threads and processes that ended is in what a program, pod or guest used (RFC8204-3.1-03)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bmwg.drivers.machines import qemu_use
from bmwg.drivers.nodes import cgroups, cpu_time, programs

BURNT_NS = 300_000_000
_TICKS_NS = 20_000_000  # what whole ticks of user and system time may leave out
_TELL = """
print("done", flush=True)
sys.stdin.read()
"""
_THREAD = f"""
import sys, threading, time
def burn():
    while time.thread_time_ns() < {BURNT_NS}:
        pass
thread = threading.Thread(target=burn)
thread.start()
thread.join()
{_TELL}
"""
_CHILD = f"""
import os, sys, time
if os.fork() == 0:
    while time.process_time_ns() < {BURNT_NS}:
        pass
    os._exit(0)
os.wait()
{_TELL}
"""
_ORPHAN = f"""
import os, sys, time
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
read_end, write_end = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time_ns() < {BURNT_NS}:
            pass
    os._exit(0)
os.wait()
os.close(write_end)
os.read(read_end, 1)
{_TELL}
"""


@contextmanager
def told(program: str, *words: str) -> Iterator[int]:
    """Have a program burn CPU time and say so; it stands until this ends. Yields its process."""
    command = [sys.executable, "-c", program, *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        yield child.pid
        child.stdin.close()


def test_a_thread_that_ended_is_in_the_time_of_its_program() -> None:
    with told(_THREAD) as pid:
        assert programs.sample(pid=pid)["cpu_ns"] >= BURNT_NS


def test_a_child_that_ended_is_in_the_time_of_its_program() -> None:
    with told(_CHILD) as pid:
        assert programs.sample(pid=pid)["cpu_ns"] >= BURNT_NS - _TICKS_NS


def test_a_thread_that_ended_is_in_the_time_of_an_emulator() -> None:
    with told(_THREAD) as pid:
        assert qemu_use.use_of(pid)["cpu_ns"] >= BURNT_NS


@pytest.mark.root
def test_a_process_that_nobody_waited_for_is_in_the_time_of_its_cgroup() -> None:
    able = [root for root in cgroups.roots() if (root / "cpuacct.usage").exists()] or cgroups.roots()
    if not able:
        pytest.skip("no cgroups are mounted")
    name = f"cpu-time-{os.getpid()}"
    folder = able[0] / name
    folder.mkdir()
    try:
        with told(_ORPHAN, str(folder / "cgroup.procs")) as pid:
            assert programs.use_of([pid], folders=[folder])["cpu_ns"] >= BURNT_NS
    finally:
        assert cgroups.remove(name) == []


def test_a_cgroup_of_version_2_counts_in_microseconds(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 51234\nuser_usec 50000\n")
    (tmp_path / "cgroup.procs").write_text("")
    assert cpu_time.of_cgroups([tmp_path]) is None  # what it would count runs elsewhere
    (tmp_path / "cgroup.procs").write_text("7\n")
    assert cpu_time.of_cgroups([tmp_path]) == 51_234_000


def test_a_cgroup_whose_hierarchy_is_mounted_twice_counts_once(tmp_path: Path) -> None:
    """As cpu and cpuacct of version 1, which are one hierarchy, may be; two containers are two."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder, used in zip(folders, ("51234", "7"), strict=True):
        folder.mkdir()
        (folder / "cpuacct.usage").write_text(used)
        (folder / "cgroup.procs").write_text("7\n")
    again = tmp_path / "again"
    again.symlink_to(folders[0])
    assert cpu_time.of_cgroups([folders[0], again]) == 51_234
    assert cpu_time.of_cgroups([*folders, again]) == 51_241


def test_a_hierarchy_that_does_not_count_is_not_taken_for_one_that_does(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("nr_periods 10\nnr_throttled 9\n")  # of version 1
    (tmp_path / "cgroup.procs").write_text("7\n")
    assert cpu_time.of_cgroups([tmp_path]) is None

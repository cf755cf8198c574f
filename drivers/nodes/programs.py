"""Programs that run on a node: started, watched, sampled and ended by node functions.

Ids: PROG-01 the program is not there, PROG-02 it ended at once or cannot be held, PROG-03 its port is taken.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.nodes import cpu_time, mounts, process
from bmwg.methodology.errors import DriverError, TestbedError

_TAIL_LINES = 5
_HOLD_S = 10.0
# states of /proc/PID/stat: stopped, ended (or none: gone), or in the kernel, which it leaves as a stopped one
_HELD = "TtZXD"
_children: dict[int, subprocess.Popen[bytes]] = {}


def write_files(*, folder: str, files: dict[str, str], shared: bool = True) -> None:
    """Node function: make a folder with these texts in it. Everybody may write to a shared one."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if shared:
        place.chmod(0o777)  # a program that gives up root must write there
    for name, text in files.items():
        (place / name).write_text(text)


def require_free(*, address: str, port: int) -> None:
    """Node function: DriverError PROG-03 when something listens on this address and TCP port already.

    Asked before a program starts: else whoever has the port would answer in its place.
    """
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that wait are no listener
        try:
            tried.bind((address, port))
        except OSError as error:
            raise DriverError(
                "PROG-03",
                f"{address} port {port}",
                expected="a free port",
                found=error.strerror or str(error),
            ) from error


def start(*, command: list[str], folder: str, packages: list[str]) -> dict[str, int]:
    """Node function: start a program in a session of its own, its output in `folder`/output.

    Returns pid and start time (ticks). Raises TestbedError PROG-01, DriverError PROG-02.
    """
    if shutil.which(command[0]) is None:
        raise TestbedError(
            "PROG-01",
            f"no `{command[0]}` in PATH",
            hint=f"apt-get install --no-install-recommends {' '.join(packages)}" if packages else "",
        )
    with open(Path(folder, "output"), "wb") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    _children[child.pid] = child
    ticks = process.start_ticks(child.pid)
    if ticks == 0:
        child.wait(1)
        raise DriverError("PROG-02", " ".join(command), expected="a running program", found=said(folder))
    return {"pid": child.pid, "start_ticks": ticks}


def said(folder: str) -> str:
    """Return the last lines of a program's output."""
    try:
        lines = Path(folder, "output").read_text(errors="replace").strip().splitlines()
    except OSError:
        return "no output"
    return " | ".join(lines[-_TAIL_LINES:]) or "no output"


def fault(*, pid: int, start_ticks: int, folder: str) -> str | None:
    """Node function: why the program no longer runs; None while it does."""
    return None if process.same(pid, start_ticks) else f"the program has ended: {said(folder)}"


def hold(*, pid: int, start_ticks: int, held: bool) -> None:
    """Node function: stop the processes of a program's session where they are, or have them go on.

    Returns when each of them is stopped: one may start another while they are looked for. Raises DriverError
    PROG-02 where one is not stopped in time.
    """
    if not process.same(pid, start_ticks):
        return
    asked = set[int]()
    end_s = time.monotonic() + _HOLD_S
    while members := [one for one in session(pid) if one not in asked or process.state(one) not in _HELD]:
        for member in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGSTOP if held else signal.SIGCONT)
        if not held:
            return
        if time.monotonic() > end_s:
            raise DriverError("PROG-02", f"processes {members}", expected="stopped", found="still running")
        asked.update(members)
        time.sleep(0.005)


def stop(*, pid: int, start_ticks: int, folder: str, within_s: float = 5.0) -> None:
    """Node function: end the program with its whole session and remove its folder. Idempotent.

    Raises DriverError NODE-12 when something outlives SIGKILL.
    """
    if process.start_ticks(pid) in (0, start_ticks):  # else another program has its number by now
        members = _running(pid)
        with contextlib.suppress(DriverError):  # one that stays is told with what else of its session does
            process.terminate(pid=pid, start_ticks=start_ticks, within_s=within_s)
        if left := process.kill_all(lambda: _running(pid), within_s=within_s):
            raise DriverError(
                "NODE-12", f"processes {left}", expected="gone after SIGKILL", found="still there"
            )
        child = _children.pop(pid, None)
        if child is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(1)
        for member in members:
            process.reap(member, deadline_s=1.0)  # one whose parent ended before it is the agent's now
    remove_folder(folder=folder)


def _running(leader: int) -> list[int]:
    """Processes of a session that have not ended."""
    return [member for member in session(leader) if process.start_ticks(member)]


def remove_folder(*, folder: str) -> None:
    """Node function: remove a program's folder, and wait for programs that have ended. Idempotent."""
    for pid in [pid for pid, child in _children.items() if child.poll() is not None]:
        del _children[pid]
    shutil.rmtree(folder, ignore_errors=True)


def remove_tree(folder: str, end_s: float) -> list[str]:
    """Remove a folder that an ending program may still write to; return it where it stays."""
    mounts.unmount_below(folder)
    while Path(folder).exists():
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > end_s:
            return [folder]
        time.sleep(0.01)
    return []


def session(leader: int) -> list[int]:
    """Processes of a session, the leader among them."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(ProcessLookupError, FileNotFoundError):
                if os.getsid(int(name)) == leader:
                    found.append(int(name))
    return found


def sample(*, pid: int) -> dict[str, JsonValue]:
    """Node function: what the program and its session use; fields of `instance.Sample`."""
    return use_of(session(pid))


def use_of(pids: Iterable[int], *, folders: Iterable[Path] = ()) -> dict[str, JsonValue]:
    """CPU time (ns, user and system) and memory (proportional share, octets) of processes, now.

    CPU time is that of the cgroups in `folders`, which hold these processes, where one of them counts it:
    there it has processes that ended too. Else it is `cpu_time.of_processes`.
    """
    pids = list(pids)
    cpu_ns = cpu_time.of_cgroups(folders)
    if cpu_ns is None:
        cpu_ns = cpu_time.of_processes(pids)
    at_ns = time.monotonic_ns()  # before memory, which takes longer to read
    memory_octets = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            memory_octets += _share_octets(pid)
    return {"at_ns": at_ns, "cpu_ns": cpu_ns, "memory_octets": memory_octets}


def polling_of(pid: int, pollers: re.Pattern[str]) -> dict[str, JsonValue]:
    """CPU time (ns) of the threads of a process whose names match, and which these are.

    To be asked before `use_of`: pollers never have more time than all threads together then. The time of one
    that ended is lost, so two readings with other threads say nothing of the time in between.
    """
    polling_ns, threads = 0, []
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            thread = Path(f"/proc/{pid}/task/{task}")
            with contextlib.suppress(OSError):  # a thread may end meanwhile
                if pollers.match((thread / "comm").read_text()):
                    polling_ns += int((thread / "schedstat").read_text().split()[0])
                    threads.append(int(task))
    return {"polling_cpu_ns": polling_ns, "pollers": sorted(threads)}


def _share_octets(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def available(*, programs: dict[str, str]) -> list[list[str]]:
    """Node function: which programs are absent, `[program, package]` each."""
    return [[name, package] for name, package in programs.items() if shutil.which(name) is None]

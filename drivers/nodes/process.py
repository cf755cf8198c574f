"""Small acts on processes: identity, death with the parent, host name. Linux only."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from bmwg.methodology.errors import DriverError

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)
_END_S = 5.0  # choice: half of it by SIGTERM
_KILLED_S = 10.0  # choice: a killed one goes when it gets a CPU; at a load average of 11 that took over 2.5 s
OWNER_VARIABLE = "BMWG_OWNER"  # in the environment of what a run starts: whose it is
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent_pid: int) -> None:
    """Have the kernel kill this process when the thread that started it ends; ends at once if it is gone."""
    if _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise DriverError("NODE-11", "prctl(PR_SET_PDEATHSIG)", found=os.strerror(ctypes.get_errno()))
    if os.getppid() != parent_pid:  # it died before the request
        os.kill(os.getpid(), signal.SIGKILL)


def set_hostname(name: str) -> None:
    """Set the host name of this UTS namespace."""
    try:
        socket.sethostname(name)
    except OSError as error:
        raise DriverError("NODE-11", f"host name {name!r}", found=str(error)) from error


@contextlib.contextmanager
def owned(owner: str) -> Iterator[None]:
    """Label what this process starts until the block ends: `terminate_owned` finds it, whatever it is."""
    before = os.environ.get(OWNER_VARIABLE)
    os.environ[OWNER_VARIABLE] = owner
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(OWNER_VARIABLE, None)
        else:
            os.environ[OWNER_VARIABLE] = before


def start_ticks(pid: int) -> int:
    """Start time of a process in clock ticks since boot; 0 when there is no such process or only a zombie.

    A pid alone may be used again; pid and start time together name one process.
    """
    fields = _fields(pid)
    return 0 if not fields or fields[0] in ("Z", "X") else int(fields[19])


def state(pid: int) -> str:
    """State of a process as the kernel's letter; empty when there is none."""
    return next(iter(_fields(pid)), "")


def _fields(pid: int) -> list[str]:
    """Fields of a process' /proc/PID/stat behind its name; none when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def terminate(*, pid: int, start_ticks: int, within_s: float = _END_S) -> bool:
    """End exactly this process, first by SIGTERM; `False` when it had already gone. Idempotent.

    Does not reap: its parent does. Raises DriverError NODE-12 when it outlives SIGKILL.
    """
    return _end({pid: start_ticks}, within_s) > 0


def _end(ticks: Mapping[int, int], within_s: float) -> int:
    """End these processes together, by pid and start time; return how many there were."""
    left = {pid for pid in ticks if same(pid, ticks[pid])}
    count = len(left)
    for number, wait_s in ((signal.SIGTERM, within_s / 2), (signal.SIGKILL, max(within_s / 2, _KILLED_S))):
        end_s = time.monotonic() + wait_s
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while left := {pid for pid in left if same(pid, ticks[pid])}:
            if time.monotonic() > end_s:
                break
            time.sleep(0.005)
        else:
            return count
    numbers = ", ".join(map(str, sorted(left)))
    raise DriverError("NODE-12", f"process {numbers}", expected="gone after SIGKILL", found="still there")


def end_in_order() -> None:
    """Have SIGTERM end this process as an exception does: what it has begun is then removed.

    For commands of the set-up, which are ended so where they are late.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def kill(*pids: int) -> None:
    """End these processes at once; those that have gone are passed over."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def kill_all(found: Callable[[], Collection[int]], *, within_s: float) -> list[int]:
    """End what is found at once, and look again until nothing is; return what is left past the deadline."""
    end_s = time.monotonic() + max(within_s, _KILLED_S)
    while (pids := found()) and time.monotonic() < end_s:
        kill(*pids)
        time.sleep(0.02)
    return sorted(pids)


def interrupt(*, pid: int, start_ticks: int) -> bool:
    """Node function: have exactly this process break off the call that it serves; `False` when it is gone."""
    if not same(pid, start_ticks):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)
    return True


def terminate_owned(*, owner: str) -> int:
    """Node function: end every process whose environment carries this owner's label; returns how many.

    It is right before the process' pid is known. Idempotent; never ends the caller or its ancestors. All are
    ended together, so that a call takes as long as for one. Raises DriverError NODE-12.
    """
    return _end({pid: start_ticks(pid) for pid in owned_pids(owner)}, _END_S)


def owned_pids(owner: str) -> list[int]:
    """Processes whose environment carries this owner's label, without the caller and its ancestors."""
    wanted = f"{OWNER_VARIABLE}={owner}".encode()
    spared = set(_ancestors())
    return [pid for pid, labels in each("environ") if owner and wanted in labels and pid not in spared]


def each(file: str) -> Iterator[tuple[int, list[bytes]]]:
    """Each process that this one may read, with the words of its `cmdline` or `environ` (b"" where none)."""
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            words = Path(f"/proc/{pid}/{file}").read_bytes().split(b"\0")
        except OSError:
            continue
        yield pid, words


def _ancestors() -> list[int]:
    pids = [os.getpid()]
    while pids[-1] > 1:
        stat = Path(f"/proc/{pids[-1]}/stat").read_text()
        pids.append(int(stat.rpartition(")")[2].split()[1]))
    return pids


def this() -> dict[str, int]:
    """Node function: pid and start time (clock ticks since boot) of the agent itself."""
    return {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}


def same(pid: int, ticks: int) -> bool:
    """Whether this very process still runs."""
    return ticks != 0 and start_ticks(pid) == ticks


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that `reap` can collect them."""
    if _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise DriverError("NODE-11", "prctl(PR_SET_CHILD_SUBREAPER)", found=os.strerror(ctypes.get_errno()))


def reap(pid: int, *, deadline_s: float) -> None:
    """Collect a child that is ending; does nothing when `pid` is no child of ours."""
    end_s = time.monotonic() + deadline_s
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(pid, os.WNOHANG)[0] == 0 and time.monotonic() < end_s:
            time.sleep(0.002)

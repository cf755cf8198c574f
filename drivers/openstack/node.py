"""Node functions that start an embedded OpenStack on a node and end it.

It runs in a PID, IPC and mount namespace of its own inside the node's network namespace: when its first
process ends, the kernel ends every service and every guest of it. Ids: CLOUD-01 its root is not made,
CLOUD-02 a service did not start, CLOUD-03 it cannot be ended, CLOUD-20 a server has
no process.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.machines import qemu_use
from bmwg.drivers.nodes import process
from bmwg.drivers.openstack import settings
from bmwg.methodology.errors import DriverError, TestbedError

_INSIDE = "bmwg.drivers.openstack.inside"
_UNSHARE = ["unshare", "--pid", "--fork", "--mount", "--uts", "--ipc", "--kill-child=SIGKILL"]
_UNSHARE += ["--propagation", "private"]
START_DEADLINE_S = 600.0  # choice: more than the services themselves are given
_started: dict[str, subprocess.Popen[bytes]] = {}


def start(*, work: str, given: dict[str, JsonValue], within_s: float = START_DEADLINE_S) -> list[JsonValue]:
    """Node function: start it below the folder `work` and wait until it is ready; returns each step's time.

    `given` is what `inside` takes. Raises TestbedError CLOUD-02; nothing of it runs then.
    """
    folder = Path(work)
    for name in ("layers", "logs"):
        (folder / name).mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chmod(folder / "logs", 0o777)  # the services' own users write there; `work` is closed to others
    (folder / "progress").unlink(missing_ok=True)  # of a start before this one
    command = ["setpriv", "--pdeathsig", "KILL", "--", *_UNSHARE, sys.executable, "-m", _INSIDE, work]
    with (folder / "output").open("wb") as output:
        started = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    _started[work] = started
    try:
        assert started.stdin is not None
        with started.stdin as stream:
            stream.write(json.dumps({**given, "layers": f"{work}/layers", "logs": f"{work}/logs"}).encode())
        return _wait(folder, started, within_s)
    except BaseException:
        stop(work=work)
        raise


def _wait(folder: Path, started: subprocess.Popen[bytes], within_s: float) -> list[JsonValue]:
    end_s = time.monotonic() + within_s
    while True:
        status = started.poll()
        said = progress(work=str(folder))
        failed = next((line for line in said if "failed" in line), None)
        if any("ready" in line for line in said):
            return [line for line in said if "step" in line]
        if failed or status is not None or time.monotonic() > end_s:
            raise TestbedError(
                "CLOUD-02",
                f"the embedded OpenStack did not start{': ' + failed['failed'] if failed else ''}",
                expected=f"all services within {within_s:g} s",
                found=failed["found"] if failed else f"status {status}: {_output(folder)}",
                hint=f"each service's own words are below {folder}/logs",
            )
        time.sleep(0.1)


def _output(folder: Path) -> str:
    with contextlib.suppress(OSError):
        return " | ".join((folder / "output").read_text(errors="replace").splitlines()[-6:]) or "silence"
    return "no output"


def progress(*, work: str) -> list[Any]:
    """Node function: what its first process has said: steps with their times, services that ended."""
    try:
        lines = (Path(work) / "progress").read_text().splitlines()
    except OSError:
        return []
    return [json.loads(line) for line in lines]


def fault(*, work: str) -> str | None:
    """Node function: why it no longer serves; None while all of its services run."""
    started = _started.get(work)
    if started is None or started.poll() is not None:
        return "the embedded OpenStack has ended"
    ended = [line["ended"] for line in progress(work=work) if "ended" in line]
    return f"services of the embedded OpenStack have ended: {', '.join(ended)}" if ended else None


def sample(*, server_id: str) -> JsonValue:
    """Node function: what a server's QEMU uses on this node, its compute host; fields of `Sample`.

    Nova's own diagnostics give no memory that can be believed: its libvirt driver divides KiB by 2**20.
    """
    pid, _ = _process_of(server_id)
    try:
        return qemu_use.use_of(pid)
    except (OSError, KeyError) as error:
        raise _gone(server_id) from error


def accelerator(*, server_id: str) -> str:
    """Node function: how a server's instructions run, as its QEMU was told: `kvm`, `tcg`; "" if not told."""
    return _told(server_id, b"-accel")


def cpu_model(*, server_id: str) -> str:
    """Node function: the CPU that a server's QEMU was told to have, without its features; "" if not told."""
    return _told(server_id, b"-cpu")


def _told(server_id: str, option: bytes) -> str:
    _, words = _process_of(server_id)
    told = next((one for name, one in pairwise(words) if name == option), b"")
    return told.partition(b",")[0].decode()


def console(*, server_id: str, here: bool = False) -> list[str]:
    """Node function: the lines that a server has written since its QEMU was started.

    With `here` that QEMU is this node's, and no other's of this machine: there are two while a server moves.
    It is Nova's file of them: its API adds to it what it reads of the console besides, a second time.
    """
    pid, _ = _process_of(server_id, here=here)
    path = Path(f"/proc/{pid}/root{settings.STATE}/instances/{server_id}/console.log")
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise _gone(server_id) from error


def _process_of(server_id: str, *, here: bool = False) -> tuple[int, list[bytes]]:
    for pid, words in process.each("cmdline"):
        if b"-uuid" in words and server_id.encode() in words and (not here or _is_here(pid)):
            return pid, words
    raise _gone(server_id)


def _is_here(pid: int) -> bool:
    """Whether a process is in the network namespace of this node."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/thread-self/ns/net").st_ino
    except OSError:
        return False


def _gone(server_id: str) -> DriverError:
    return DriverError("CLOUD-20", f"server {server_id}", expected="its QEMU process", found="none")


def stop(*, work: str) -> None:
    """Node function: end it with all that it runs and remove its state; its logs stay. Idempotent."""
    started = _started.pop(work, None)
    remove(work=work)
    if started is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(5.0)


def remove(*, work: str, within_s: float = 20.0) -> bool:
    """Node function: end what names this folder on its command line and remove its state.

    Right whether it was started or not, and after its starter has died. Idempotent; raises CLOUD-03.
    """
    there = os.path.exists(work) or bool(_members(work))
    if left := process.kill_all(lambda: _members(work), within_s=within_s):
        raise DriverError("CLOUD-03", f"OpenStack of {work}", expected="ended", found=f"processes {left}")
    shutil.rmtree(f"{work}/layers", ignore_errors=True)
    return there


def _members(work: str) -> list[int]:
    """Processes of a cloud that hold it: its starters and its first process; the rest end with them."""
    wanted = (_INSIDE.encode(), work.encode())
    found = [pid for pid, words in process.each("cmdline") if all(word in words for word in wanted)]
    return [pid for pid in found if pid != os.getpid() and process.start_ticks(pid)]

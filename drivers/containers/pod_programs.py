"""Programs inside a pod that runs already: in its namespaces and cgroups, so that its limits hold for them.

A program that is started here ends with the pod at the latest: it is of the pod's process namespace. Node
functions. A container of an engine (`entered_by`) is entered by the engine's API, or by a program of its own.
What a program there finds of the node's environment names no folder for temporary files and no language.
Ids: EXEC-01 the pod has ended, EXEC-02 nothing listens, EXEC-03 the cgroup is gone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers import engine_pods
from bmwg.drivers.nodes import bounded, cgroups, process, programs
from bmwg.methodology.errors import DriverError, TestbedError

# Joins each cgroup that is named before `--`, then is the program: only what runs in a cgroup is in it.
_JOIN = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done; shift; exec "$@"'
_BY_ENGINE = "bmwg.drivers.containers.engine_exec"
# A pod has other folders than its node, where a test or a user may have named one for temporary files. And
# programs print numbers as the language of the node's user has them: whoever reads them knows one.
_ENVIRONMENT = ("env", "-u", "TMPDIR", "-u", "TEMP", "-u", "TMP", "LC_ALL=C")
_NAMESPACES = ("--uts", "--ipc", "--net", "--pid")
_ROOT = "--mount"
_POLL_S = 0.01
_LISTENS = "0A"  # of a TCP socket in /proc/net/tcp; one of UDP has no such state


def start(
    *,
    pid: int,
    start_ticks: int,
    command: list[str],
    folder: str,
    mend: str = "",
    cpus: str = "",
    cgroup: str = "",
    entered_by: dict[str, JsonValue] | None = None,
    programs_of_node: bool = False,
) -> dict[str, int]:
    """Node function: start a program in the pod of process `pid`, its output in `folder`/output.

    Returns pid and start time (ticks) of its session, for `programs.stop`. `mend` is the line that supplies
    the program, `cpus` a list of CPUs to put it on (empty: those that it finds), `cgroup` one that it joins
    beside those of the process. `programs_of_node`: the pod's image lacks the program, which keeps the node's
    root and has all else of the pod. Raises TestbedError PROG-01, DriverError PROG-02, EXEC-01, EXEC-03.
    """
    _require(command[0], mend)
    programs.write_files(folder=folder, files={})
    entering = _entering(pid, start_ticks, command, cpus, cgroup, entered_by, programs_of_node)
    return programs.start(command=entering, folder=folder, packages=[])


def run(
    *,
    pid: int,
    start_ticks: int,
    command: list[str],
    within_s: float,
    mend: str = "",
    cpus: str = "",
    cgroup: str = "",
    entered_by: dict[str, JsonValue] | None = None,
    programs_of_node: bool = False,
) -> dict[str, JsonValue]:
    """Node function: run a program to its end in the pod of process `pid`.

    Returns `output`, `errors`, `status`, `process_ns` and `fault`: a sentence when it did not end in time or
    said too much, else "". Raises TestbedError PROG-01, DriverError EXEC-01, EXEC-03.
    """
    _require(command[0], mend)
    entering = _entering(pid, start_ticks, command, cpus, cgroup, entered_by, programs_of_node)
    began_ns = time.monotonic_ns()
    found: dict[str, JsonValue] = {"output": "", "errors": "", "status": None, "fault": ""}
    try:
        done = bounded.run(entering, deadline_s=within_s)
        found |= {"output": done.stdout, "errors": done.stderr, "status": done.returncode}
    except subprocess.TimeoutExpired:
        found["fault"] = f"{command[0]} did not end within {within_s:g} s"
    except bounded.TooMuchOutputError:
        found["fault"] = f"{command[0]} said more than {bounded.OUTPUT_LIMIT_OCTETS} octets"
    if found["fault"]:
        _end_left(pid, cgroup, entered_by)
    return {**found, "process_ns": time.monotonic_ns() - began_ns}


def stop(
    *, folder: str, pid: int, start_ticks: int, of: int = 0, entered_by: dict[str, JsonValue] | None = None
) -> None:
    """Node function: end a program that was started in a pod, and remove its folder. Idempotent.

    `of` is the pod's first process, wanted where the pod was entered by an engine.
    """
    programs.stop(folder=folder, pid=pid, start_ticks=start_ticks)
    if entered_by:
        engine_pods.end_programs(cgroup=entered_by["cgroup"], pid=of)


def missing(*, program: str) -> bool:
    """Node function: whether a program is absent."""
    return shutil.which(program) is None


def version(*, program: str, within_s: float = 5.0) -> str:
    """Node function: the first line that a program says of its version; empty without one."""
    if shutil.which(program) is None:
        return ""
    done = bounded.run([program, "--version"], deadline_s=within_s)
    return (done.stdout or done.stderr).partition("\n")[0].strip()


def wait_listening(*, port: int, transport: str = "tcp", within_s: float = 5.0) -> None:
    """Node function, run in a pod: wait until something listens on a port. Raises DriverError EXEC-02."""
    end_s = time.monotonic() + within_s
    while not _listens(port, transport):
        if time.monotonic() > end_s:
            raise DriverError(
                "EXEC-02",
                f"port {port} ({transport})",
                expected=f"a program that listens within {within_s:g} s",
                found="none",
            )
        time.sleep(_POLL_S)


def _listens(port: int, transport: str) -> bool:
    wanted = f":{port:04X}"
    for name in (transport, f"{transport}6"):
        file = Path("/proc/self/net", name)
        for line in file.read_text().splitlines()[1:] if file.exists() else ():
            words = line.split()
            if words[1].endswith(wanted) and (transport == "udp" or words[3] == _LISTENS):
                return True
    return False


def _end_left(pid: int, cgroup: str, entered_by: dict[str, JsonValue] | None) -> None:
    """End what an ended client of ours left of its program: it would disturb whatever runs next.

    A host's programs have a cgroup of their own; in a pod it is all but the first process and its children.
    """
    if cgroup:
        engine_pods.end_programs(cgroup=cgroup, pid=0)
    elif entered_by:
        engine_pods.end_programs(cgroup=entered_by["cgroup"], pid=pid)
    else:
        for name in cgroups_of(pid):
            engine_pods.end_programs(cgroup=name, pid=pid)


def cgroups_of(pid: int) -> list[str]:
    """Name the cgroups of a process other than the root, each once; none of a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return []
    return [name for name in dict.fromkeys(line.split(":", 2)[2] for line in lines) if name != "/"]


def _require(program: str, mend: str) -> None:
    if shutil.which(program) is None:
        raise TestbedError("PROG-01", f"no `{program}` in PATH", hint=mend)


def _entering(
    pid: int,
    start_ticks: int,
    command: list[str],
    cpus: str,
    cgroup: str,
    entered_by: dict[str, JsonValue] | None,
    programs_of_node: bool,
) -> list[str]:
    """Return the command by which a process of the node becomes a program of the pod."""
    if not process.same(pid, start_ticks):
        raise DriverError("EXEC-01", f"{command[0]} in the pod of process {pid}", found="the pod has ended")
    put = ["taskset", "--cpu-list", cpus] if cpus else []
    if entered_by:
        by = entered_by.get("command") or [
            *(sys.executable, "-m", _BY_ENGINE),
            *(entered_by["token"], entered_by["container"]),
        ]
        found = shutil.which(command[0]) or command[0]  # the file that was probed, whatever PATH is in there
        return [*_ENVIRONMENT, *by, *put, found, *command[1:]]
    places = dict.fromkeys(str(place) for name in cgroups_of(pid) for place in cgroups.folders(name))
    if cgroup:
        own = dict.fromkeys(str(place) for place in cgroups.folders(cgroup))
        if not own:
            raise DriverError("EXEC-03", f"{command[0]} in cgroup {cgroup}", found="no such cgroup")
        places |= own
    root = [] if programs_of_node else [_ROOT]
    enter = ["nsenter", f"--target={pid}", *root, *_NAMESPACES, "--"]
    return ["sh", "-c", _JOIN, "sh", *places, "--", *_ENVIRONMENT, *put, *enter, *command]

"""Pods as OCI containers by crun: node functions, run on the pod's node.

A pod is created first (its namespaces exist, its program does not run), gets its interfaces, then is
started. The bundle lies in the node's own /run; crun's state in `state_dir`, which the run owns and which
must be visible to whoever cleans up. Ids: POD-02 no crun, POD-03 crun refused, POD-04 deadline, POD-05 not
running, POD-06 not removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers import bundle
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes import bounded, cgroups, mounts, process, programs
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.record import booted

_BUNDLES = Path("/run/bmwg-pods")
_PID_FILE = "pid"
_ERROR_LINES = 20
_LOG_TAIL_OCTETS = 8192
_FAULT_LINES = 3
_SAID_OCTETS, _SAID_LINES = 65536, 400  # choice: all that a function says until it forwards


def probe() -> dict[str, str] | None:
    """Node function: what is missing to run pods here (fields of `drivers.api.Missing`), or `None`."""
    if shutil.which("crun") is None:
        return {"what": "crun", "reason": "no `crun` in PATH", "mend": "apt-get install crun"}
    return cgroups.lacking()


def cgroup_of(pod_id: str) -> str:
    """Name the pod's cgroup, the same in every hierarchy."""
    return f"/bmwg-{pod_id}"


def create(*, spec: dict[str, JsonValue], state_dir: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: make the pod; returns pid, start time (ticks), network namespace and cgroup.

    Its program is not started yet. On failure nothing is left.
    """
    lack = probe()
    if lack:
        raise TestbedError("POD-02", f"pods need {lack['what']}", found=lack["reason"], hint=lack["mend"])
    pod = PodSpec.from_builtins(spec)
    folder = _BUNDLES / pod.pod_id
    rootfs = folder / "rootfs"
    begin(pod, rootfs)
    try:
        mounts.bind_read_only(source="/", target=str(rootfs))
        mounts.unmount(target=f"{rootfs}/run")  # roots of other pods lie there; this one gets its own
        document = bundle.config(
            pod,
            rootfs=str(rootfs),
            cgroup=cgroup_of(pod.pod_id),
            cpuset_mems=cgroups.default_mems(),
            hugetlb=cgroups.has_controller("hugetlb"),
        )
        (folder / "config.json").write_text(json.dumps(document, indent=1))
        Path(state_dir).mkdir(parents=True, exist_ok=True)
        _make(pod.pod_id, state_dir, within_s)
        pid = int(state(pod_id=pod.pod_id, state_dir=state_dir, within_s=within_s)["pid"])
    except BaseException:
        with contextlib.suppress(DriverError):
            delete(pod_id=pod.pod_id, state_dir=state_dir)
        raise
    return {
        "pod_id": pod.pod_id,
        "pid": pid,
        "start_ticks": process.start_ticks(pid),
        "netns_path": f"/proc/{pid}/ns/net",
        "cgroup": cgroup_of(pod.pod_id),
    }


def begin(pod: PodSpec, folder: Path) -> None:
    """Make a pod's first folder. TestbedError POD-03: its name is taken, or hugepages have no limit."""
    if (pod.hugepages_2mi or pod.hugepages_1gi) and not cgroups.has_controller("hugetlb"):
        raise TestbedError(
            "POD-03", f"pod {pod.pod_id}: hugepages", expected="a hugetlb cgroup controller", found="none"
        )
    process.adopt_orphans()
    try:
        folder.mkdir(parents=True)
    except FileExistsError as error:
        raise TestbedError(
            "POD-03", f"pod {pod.pod_id}", expected="a new name", found="one is there"
        ) from error


def _make(pod_id: str, state_dir: str, within_s: float) -> None:
    folder = _BUNDLES / pod_id
    files = ("--bundle", str(folder), "--pid-file", str(folder / _PID_FILE))
    _crun(state_dir, "create", *files, pod_id, deadline_s=within_s, log=folder / "log")


def start(*, pod_id: str, state_dir: str, within_s: float = 10.0) -> None:
    """Node function: start the program of a created pod."""
    _crun(state_dir, "start", pod_id, deadline_s=within_s)


def restart(*, pod_id: str, state_dir: str, pid: int, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: kill the pod's container and start a new one in the same network namespace.

    `pid` is the present container's. Returns the new pid and start time (ticks), and when the act began and
    ended, in nanoseconds of the node's monotonic clock.
    """
    folder = _BUNDLES / pod_id
    document = json.loads((folder / "config.json").read_text())
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)  # holds it while no container does
    try:
        os.set_inheritable(descriptor, True)
        for namespace in document["linux"]["namespaces"]:
            if namespace["type"] == "network":
                namespace["path"] = f"/proc/{os.getpid()}/fd/{descriptor}"
        (folder / "config.json").write_text(json.dumps(document, indent=1))
        began_ns = time.monotonic_ns()
        _crun(state_dir, "delete", "--force", pod_id, deadline_s=within_s)
        process.reap(pid, deadline_s=1.0)
        _make(pod_id, state_dir, within_s)
        _crun(state_dir, "start", pod_id, deadline_s=within_s)
        ended_ns = time.monotonic_ns()
    finally:
        os.close(descriptor)
    new = int(state(pod_id=pod_id, state_dir=state_dir, within_s=within_s)["pid"])
    return {
        "pid": new,
        "start_ticks": process.start_ticks(new),
        "began_ns": began_ns,
        "ended_ns": ended_ns,
    }


def update(
    *, pod_id: str, state_dir: str, quota_us: int = 0, memory_octets: int = 0, within_s: float = 10.0
) -> None:
    """Node function: change limits of a pod that runs: CPU time of each period, memory; of 0 it stays.

    Raises DriverError POD-03 where crun or the kernel refuses.
    """
    words = ["--cpu-period", str(bundle.PERIOD_US), "--cpu-quota", str(quota_us)] if quota_us else []
    words += ["--memory", str(memory_octets)] if memory_octets else []
    _crun(state_dir, "update", *words, pod_id, deadline_s=within_s)


def state(*, pod_id: str, state_dir: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: `{"status", "pid"}`; status is created, running, stopped or absent."""
    if not Path(state_dir, pod_id).exists():
        return {"status": "absent", "pid": 0}
    said = _crun(state_dir, "state", pod_id, deadline_s=within_s)
    try:
        found = json.loads(said)
        return {"status": str(found["status"]), "pid": int(found["pid"])}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DriverError(
            "POD-03", f"pod {pod_id}: crun state", expected="status and pid", found=repr(said[:200])
        ) from error


def require_running(*, pod_id: str, state_dir: str, within_s: float = 10.0) -> None:
    """Node function: DriverError POD-05 unless the pod runs."""
    status = state(pod_id=pod_id, state_dir=state_dir, within_s=within_s)["status"]
    if status != "running":
        log = _BUNDLES / pod_id / "log"
        words = tail(log)
        raise DriverError("POD-05", f"pod {pod_id}", expected="running", found="\n".join([status, *words]))


def fault(*, pod_id: str, pid: int, start_ticks: int) -> str | None:
    """Node function: why the pod's first process no longer runs, with its last words; None while it does."""
    return ended(_BUNDLES / pod_id / "log", pid, start_ticks)


def ended(log: Path, pid: int, start_ticks: int) -> str | None:
    """Say why a pod's first process no longer runs, with its last words; None while it does."""
    if process.same(pid, start_ticks):
        return None
    words = " | ".join(tail(log)[-_FAULT_LINES:])
    return f"its first process has ended: {words or 'no output'}"


def said(*, pod_id: str) -> list[str]:
    """Node function: the last lines of what the pod's program has printed."""
    return tail(_BUNDLES / pod_id / "log", octets=_SAID_OCTETS, lines=_SAID_LINES)


def sample(*, pod_id: str) -> dict[str, JsonValue]:
    """Node function: what all processes of the pod use; fields of `instance.Sample`."""
    cgroup = cgroup_of(pod_id)
    return programs.use_of(cgroups.members(cgroup), folders=cgroups.folders(cgroup))


def delete(*, pod_id: str, state_dir: str, within_s: float = 10.0) -> bool:
    """Node function: end and remove the pod with its mounts, state and cgroups; `False` when there was none.

    Idempotent; works also on the remains of a pod that was half made.
    """
    end_s = time.monotonic() + within_s
    folder = _BUNDLES / pod_id
    there = folder.exists() or Path(state_dir, pod_id).exists() or bool(cgroups.folders(cgroup_of(pod_id)))
    if Path(state_dir, pod_id).exists():
        with contextlib.suppress(DriverError):  # what it leaves is removed and judged below
            _crun(state_dir, "delete", "--force", pod_id, deadline_s=within_s)
    with contextlib.suppress(FileNotFoundError, ValueError):  # crun forgets the pid of a pod that ended
        process.reap(int((folder / _PID_FILE).read_text()), deadline_s=max(0.1, end_s - time.monotonic()))
    mounts.unmount(target=str(folder / "rootfs"))
    kill_members(cgroup_of(pod_id), end_s)
    left = cgroups.remove(cgroup_of(pod_id), deadline_s=max(0.1, end_s - time.monotonic()))
    shutil.rmtree(Path(state_dir, pod_id), ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        (folder / "rootfs").rmdir()  # never a recursive removal where the host's root may be mounted
        shutil.rmtree(folder)
    if left:
        raise DriverError("POD-06", f"pod {pod_id}", expected="no cgroup left", found=", ".join(left))
    return there


def describe(*, pod_id: str, state_dir: str, within_s: float = 10.0) -> dict[str, JsonValue]:
    """Node function: the pod as the kernel has it, for the platform record."""
    return {
        "hosting": "pod",
        "image": "host root, read-only",
        booted.KEY: booted.ROOT_OF_ITS_NODE.as_builtins(),
        "runtime": _version(within_s),
        **state(pod_id=pod_id, state_dir=state_dir, within_s=within_s),
        **cgroups.read_limits(cgroup_of(pod_id)),
    }


def _version(within_s: float) -> str:
    try:
        done = bounded.run(["crun", "--version"], deadline_s=within_s)
    except (OSError, subprocess.SubprocessError) as error:
        return f"unknown ({error})"
    lines = done.stdout.splitlines()
    return lines[0] if done.returncode == 0 and lines else f"unknown (exit status {done.returncode})"


def kill_members(cgroup: str, end_s: float) -> None:
    """End what is still in a pod's cgroup (its runtime's state was lost, say): all of it is the pod's."""
    for pid in cgroups.members(cgroup):
        left_s = max(0.2, end_s - time.monotonic())
        process.terminate(pid=pid, start_ticks=process.start_ticks(pid), within_s=left_s)
        process.reap(pid, deadline_s=0.0)


def _crun(state_dir: str, *arguments: str, deadline_s: float, log: Path | None = None) -> str:
    """Run crun. With `log`, the pod inherits that file as its output, so no pipe of ours is left in it."""
    command = ["crun", "--root", state_dir, "--cgroup-manager", "cgroupfs", *arguments]
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        if log is None:
            done = bounded.run(command, deadline_s=deadline_s, env=environment)
        else:
            done = _logged(command, log, deadline_s, environment)
    except FileNotFoundError as error:
        raise TestbedError("POD-02", "no `crun` in PATH", hint="apt-get install crun") from error
    except subprocess.TimeoutExpired as error:
        raise DriverError(
            "POD-04", " ".join(command), expected=f"an end within {deadline_s:g} s", found="none"
        ) from error
    except bounded.TooMuchOutputError as error:
        raise DriverError("POD-03", " ".join(command), expected="a few lines", found=str(error)) from error
    if done.returncode != 0:
        tail = done.stderr.strip().splitlines()[-_ERROR_LINES:]
        raise DriverError(
            "POD-03",
            " ".join(command),
            expected="exit status 0",
            found="\n".join([f"exit status {done.returncode}", *tail]),
        )
    return done.stdout


def tail(log: Path, *, octets: int = _LOG_TAIL_OCTETS, lines: int = _ERROR_LINES) -> list[str]:
    """Return the last lines of a pod's output, of which a pod may write as much as it likes."""
    try:
        with log.open("rb") as written:
            written.seek(max(0, log.stat().st_size - octets))
            tail = written.read(octets)
    except FileNotFoundError:
        return []
    return tail.decode(errors="replace").strip().splitlines()[-lines:]


def _logged(command: list[str], log: Path, deadline_s: float, environment: dict[str, str]) -> bounded.Ended:
    """Run it with the file as its output, of which the end is returned when it failed."""
    with log.open("wb") as output:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=deadline_s,
            check=False,
            env=environment,
        )
    said = ""
    if done.returncode != 0:
        said = "\n".join(tail(log))
    return bounded.Ended(returncode=done.returncode, stdout="", stderr=said)

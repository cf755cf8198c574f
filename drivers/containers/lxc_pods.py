"""Pods as containers of LXC: node functions, run on the pod's node.

The container has the pod spec that crun's pods have: the node's root file system read-only, a /run and a /tmp
of its own, the same capabilities and limits; beside them LXC's own filter of system calls. It runs as soon as
it is made. Its files lie in the node's own /run. Ids: POD-02 no LXC, POD-03 LXC refused, POD-04 deadline,
POD-05 not running, POD-06 not removed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers import bundle, engine_pods, lxc_config, oci
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.nodes import bounded, cgroups, mounts, process
from bmwg.methodology.errors import DriverError, TestbedError
from bmwg.methodology.record import booted

MEND = "apt-get install --no-install-recommends lxc"
_PODS = Path("/run/bmwg-lxc")
_LOCKS = "/run/lxc/lock"  # LXC makes a folder below it for each that has containers
_PROGRAMS = ("lxc-start", "lxc-attach", "lxc-info", "lxc-stop")
# LXC limits what may be gained, and a program of root has what it inherited besides
NOTHING_INHERITED = ("setpriv", "--inh-caps=-all", "--")
_FILTER = "share/lxc/config/common.seccomp"  # of the package, beside bin/lxc-start
_HYBRID = Path("/sys/fs/cgroup/unified")  # of version 2 beside version 1, where LXC has a folder as well
_POLL_S = 0.01


def probe() -> dict[str, str] | None:
    """Node function: what is missing for LXC here (fields of `drivers.api.Missing`), or `None`."""
    for name in _PROGRAMS:
        if shutil.which(name) is None:
            return {"what": "LXC", "reason": f"no `{name}` in PATH", "mend": MEND}
    if not _filter_file().is_file():
        return {"what": "LXC's filter of system calls", "reason": f"no {_filter_file()}", "mend": MEND}
    if lack := cgroups.lacking():
        return lack
    if below := _below(Path("/proc/1/cgroup").read_text()):
        return {
            "what": "LXC's cgroups",
            "reason": f"process 1 is in {below}, and LXC makes containers below that",
            "mend": "the machine's own process namespace, or a cgroup namespace",
        }
    if _is_chroot():
        return {
            "what": "a root of LXC's own",
            "reason": "/ is not its mount namespace's root, and lxc-attach enters that one",
            "mend": "a mount namespace whose root is /, by pivot_root in place of chroot",
        }
    return None


def _below(cgroups_of_first: str) -> str:
    """Return the cgroup of process 1 that LXC makes containers below; empty where that is the root."""
    paths = (line.split(":", 2)[2] for line in cgroups_of_first.splitlines())
    return next((path for path in paths if path.removesuffix("/init.scope") not in ("", "/")), "")


def _is_chroot() -> bool:
    """Whether what enters this mount namespace has another root: a pod's limits would not hold for it."""
    words = ["nsenter", "--mount=/proc/self/ns/mnt", "--", "cat", "/proc/self/mountinfo"]
    entered = bounded.run(words, deadline_s=5.0)
    if entered.returncode == 1:  # it did not enter: whoever makes a pod is told why
        return False
    return _root_mount(entered.stdout) != _root_mount(Path("/proc/self/mountinfo").read_text())


def _root_mount(mountinfo: str) -> str:
    """Return the number of the mount on top of `/`; empty where none is (proc(5))."""
    mounted = (line.split() for line in mountinfo.splitlines())
    return next((fields[0] for fields in reversed([*mounted]) if fields[4] == "/"), "")


def _filter_file() -> Path:
    return Path(shutil.which("lxc-start") or "/usr/bin/lxc-start").parents[1] / _FILTER


def cgroups_of(pod_id: str) -> tuple[str, str, str]:
    """Name the cgroups of a container, of the process that watches it, and that in which this one ends."""
    name = oci.cgroup_of(pod_id)
    return name, f"{name}-monitor", f"{name}-last"


def named(pod_id: str) -> list[str]:
    """Return the words by which LXC's programs are told which container is meant."""
    return ["-P", str(_PODS / pod_id / "lxc"), "-n", pod_id]


def start(*, spec: dict[str, JsonValue], within_s: float = 20.0) -> dict[str, JsonValue]:
    """Node function: make the pod's container and start its program; on failure nothing is left.

    Returns the pid and start time (ticks) of its first process. Raises TestbedError POD-02, POD-03,
    DriverError POD-03, POD-04, POD-05.
    """
    if lack := probe():
        raise TestbedError("POD-02", f"pods need {lack['what']}", found=lack["reason"], hint=lack["mend"])
    pod = PodSpec.from_builtins(spec)
    folder = _PODS / pod.pod_id
    oci.begin(pod, folder)
    try:
        for name in ("root", "mount", "lxc"):
            (folder / name).mkdir()
        (folder / "output").touch()
        mounts.bind_read_only(source="/", target=str(folder / "root"))
        mounts.unmount(target=f"{folder}/root/run")  # a pod gets a /run of its own
        cgroup, monitor_cgroup, last_cgroup = cgroups_of(pod.pod_id)
        around = lxc_config.Around(
            root=str(folder / "root"),
            mount_point=str(folder / "mount"),
            output=str(folder / "output"),
            cgroup=cgroup,
            monitor_cgroup=monitor_cgroup,
            last_cgroup=last_cgroup,
            system_call_filter=str(_filter_file()),
            folders=frozenset(source for source, _, _ in pod.binds if os.path.isdir(source)),
            version=cgroups.version(),
            hugetlb=cgroups.has_controller("hugetlb"),
        )
        (folder / "config").write_text(lxc_config.text(pod, around))
        log = folder / "log"
        files = ["-f", str(folder / "config"), "-p", str(folder / "pid"), "-o", str(log), "-l", "ERROR"]
        start = ["lxc-start", *named(pod.pod_id), *files, "-d", "--", *lxc_config.command(pod)]
        _run([*NOTHING_INHERITED, *start], within_s, log)
        pid = _first(pod.pod_id, within_s)
        (folder / "first").write_text(str(pid))
        ticks = process.start_ticks(pid)
        if not ticks:
            raise _ended(pod.pod_id)
        if not pod.netns:  # else whoever made the namespace has set them
            _set(bundle.sysctls(pod), pid, within_s)
        return {"pid": pid, "start_ticks": ticks}
    except BaseException:
        with contextlib.suppress(DriverError):
            delete(pod_id=pod.pod_id)
        raise


def _set(sysctls: dict[str, str], pid: int, within_s: float) -> None:
    """Set a namespace's own settings: LXC itself cannot where a container lacks CAP_NET_ADMIN."""
    settings = [f"{key}={value}" for key, value in sysctls.items()]
    _run(["nsenter", f"--net=/proc/{pid}/ns/net", "sysctl", "-q", "-w", *settings], within_s)


def _first(pod_id: str, within_s: float) -> int:
    """Return the first process of a container. Raises DriverError POD-05 for one that has ended already."""
    done = bounded.run(["lxc-info", *named(pod_id), "-p", "-H"], deadline_s=within_s)
    said = done.stdout.strip()
    if not said.isdigit():
        raise _ended(pod_id)
    return int(said)


def _ended(pod_id: str) -> DriverError:
    words = ["ended", *oci.tail(_PODS / pod_id / "output")]
    return DriverError("POD-05", f"pod {pod_id}", expected="running", found="\n".join(words))


def said(*, pod_id: str) -> list[str]:
    """Node function: the last lines of what the pod's program has printed."""
    return oci.tail(_PODS / pod_id / "output")


def fault(*, pod_id: str, pid: int, start_ticks: int) -> str | None:
    """Node function: why the pod's first process no longer runs, with its last words; None while it does."""
    return oci.ended(_PODS / pod_id / "output", pid, start_ticks)


def sample(*, pod_id: str) -> dict[str, JsonValue]:
    """Node function: what all processes of the pod use; fields of `instance.Sample`."""
    return engine_pods.sample(cgroup=oci.cgroup_of(pod_id))


def describe(*, pod_id: str, pid: int) -> dict[str, JsonValue]:
    """Node function: the pod as the kernel has it, for the platform record."""
    return {
        "hosting": "pod",
        "image": "host root, read-only",
        booted.KEY: booted.ROOT_OF_ITS_NODE.as_builtins(),
        "status": "running" if process.start_ticks(pid) else "absent",
        "pid": pid,
        "programs_enter_by": "lxc-attach, under LXC's filter of system calls",
        "system_call_filter": engine_pods.system_call_filter(pid),
        **cgroups.read_limits(oci.cgroup_of(pod_id)),
    }


def version() -> str:
    """Node function: the version that LXC tells."""
    done = bounded.run(["lxc-start", "--version"], deadline_s=5.0)
    return done.stdout.strip() or f"unknown (exit status {done.returncode})"


def delete(*, pod_id: str, within_s: float = 10.0) -> bool:
    """Node function: end and remove the pod with its mounts and cgroups; `False` when there was none.

    Idempotent; works also on the remains of a pod that was half made, and where its node has gone.
    """
    end_s = time.monotonic() + within_s
    folder = _PODS / pod_id
    names = cgroups_of(pod_id)
    there = folder.exists() or any(cgroups.folders(name) for name in names)
    if monitor := _written(folder / "pid"):  # it removes this file as it ends
        with contextlib.suppress(DriverError, OSError):  # what it leaves is removed and judged below
            _run(["lxc-stop", *named(pod_id), "-k"], within_s / 2, folder / "log")
        while process.start_ticks(monitor) and time.monotonic() < end_s:  # it removes its own cgroups
            time.sleep(_POLL_S)
    mounts.unmount(target=str(folder / "root"))
    left = []
    for name in names:
        oci.kill_members(name, end_s)
        left += cgroups.remove(name, deadline_s=max(0.1, end_s - time.monotonic()))
        with contextlib.suppress(OSError):
            (_HYBRID / name.lstrip("/")).rmdir()
    _collect(_written(folder / "first"))
    with contextlib.suppress(OSError):
        os.removedirs(f"{_LOCKS}{folder}/lxc")
    with contextlib.suppress(FileNotFoundError):
        (folder / "root").rmdir()  # never a recursive removal where the host's root may be mounted
    if not (folder / "root").exists():
        shutil.rmtree(folder, ignore_errors=True)
    if left:
        raise DriverError("POD-06", f"pod {pod_id}", expected="no cgroup left", found=", ".join(left))
    return there


def _written(file: Path) -> int:
    """Return the pid in a file; 0 without one."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0


def _collect(first: int) -> None:
    """Collect what has ended of a pod: its watcher, whose number nobody has any more, and its first process.

    This one becomes a child of whoever started the watcher where that was killed.
    """
    if first and not process.start_ticks(first):
        process.reap(first, deadline_s=0.0)
    for task in Path("/proc/self/task").iterdir():
        for text in (task / "children").read_text().split():
            with contextlib.suppress(OSError):
                name, _, state = Path(f"/proc/{text}/stat").read_text().partition("(")[2].rpartition(") ")
                if name == "lxc-start" and state.startswith("Z"):
                    process.reap(int(text), deadline_s=0.1)


def _run(command: list[str], within_s: float, log: Path | None = None) -> None:
    """Run a program to its end. Raises DriverError POD-03 with what its log says, POD-04."""
    try:
        done = bounded.run(command, deadline_s=within_s, env={**os.environ, "LC_ALL": "C"})
    except subprocess.TimeoutExpired as error:
        raise DriverError(
            "POD-04", " ".join(command), expected=f"an end within {within_s:g} s", found="none"
        ) from error
    if done.returncode != 0:
        words = [f"exit status {done.returncode}", *done.stderr.strip().splitlines()[-4:]]
        words += oci.tail(log) if log else []
        raise DriverError("POD-03", " ".join(command), expected="exit status 0", found="\n".join(words))

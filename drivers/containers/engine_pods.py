"""Pods as containers of the run's own Docker daemon or podman, by their API: node functions.

The container has the pod spec that crun's pods have: the node's root file system read-only, a /run and a /tmp
of its own, no capability that nobody asked for, the same limits. It is made with a network namespace that has
no interface yet, or joins that of another container. What an API has no field for (hugepages) is written into
its cgroup. Ids: POD-05 not running, EXEC-01 the container has ended.
"""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import time
from pathlib import Path
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.containers import bundle
from bmwg.drivers.containers.bundle import PodSpec
from bmwg.drivers.containers.docker_daemon import PODMAN, cgroup_of, client, refusals
from bmwg.drivers.nodes import cgroups, process, programs
from bmwg.methodology.errors import DriverError
from bmwg.methodology.record import booted

_OWN = ("proc", "sys", "dev", "run", "tmp")  # what a container has of its own; all else is the node's
_TMPFS = {"/run": "rw,nosuid,nodev,mode=755,size=64m", "/tmp": "rw,nosuid,nodev,mode=1777,size=256m"}
_POLL_S = 0.02
_LAST_LINES = 8
_ROOT = booted.Booted(besides="none: the root of its node, read-only, in an image of links and empty folders")
_SHOWN = ("/etc/passwd", "/etc/group", "/var/tmp")  # where these are no mounts, podman makes copies of them


def create(*, token: str, spec: dict[str, JsonValue]) -> str:
    """Node function: make the container of a pod and return its id; nothing runs in it yet.

    Raises DriverError DOCK-02, POD-05.
    """
    pod = PodSpec.from_builtins(spec)
    with client(token) as docker, refusals(f"pod {pod.pod_id}"):
        made = docker.api.create_container(
            image=_image(docker),
            command=list(pod.arguments),
            environment=list(pod.environment),
            name=pod.pod_id,
            hostname=None if pod.netns else pod.pod_id,  # who joins a network has its owner's name
            user="0:0",
            host_config=docker.api.create_host_config(**_host_config(docker, token, pod)),
        )
    return str(made["Id"])


def start(
    *, token: str, container: str, spec: dict[str, JsonValue], within_s: float = 10.0
) -> dict[str, JsonValue]:
    """Node function: start a container; return pid and start (ticks) of its first process, and its cgroup.

    Raises DriverError DOCK-02, POD-05.
    """
    pod = PodSpec.from_builtins(spec)
    with client(token) as docker, refusals(f"pod {pod.pod_id}"):
        docker.api.start(container)
    first = _first(token, container, within_s)
    cgroup = _cgroup(token, container)
    _limit_hugepages(cgroup, pod)
    return {"pid": first, "start_ticks": process.start_ticks(first), "cgroup": cgroup}


def update(*, token: str, container: str, engine: str, quota_us: int = 0, memory_octets: int = 0) -> None:
    """Node function: change limits of a container that runs: CPU time of each period, memory; of 0 it stays.

    Raises DriverError DOCK-02 where the daemon or the kernel refuses.
    """
    with client(token) as docker, refusals(f"container {container[:12]}: its limits"):
        if engine == PODMAN:  # 4.3 has no such call among those of Docker's API
            cpu = {"cpu": {"period": bundle.PERIOD_US, "quota": quota_us}} if quota_us else {}
            memory = {"memory": {"limit": memory_octets}} if memory_octets else {}
            path = f"{docker.api.base_url}/v4.0.0/libpod/containers/{container}/update"
            docker.api.post(path, json={**cpu, **memory}).raise_for_status()
            return
        wanted: dict[str, int] = {"cpu_period": bundle.PERIOD_US, "cpu_quota": quota_us} if quota_us else {}
        wanted |= {"mem_limit": memory_octets, "memswap_limit": -1} if memory_octets else {}
        docker.api.update_container(container, **wanted)


def prepare(*, token: str) -> None:
    """Node function: make the image of all pods. Raises DriverError DOCK-02."""
    with client(token) as docker, refusals("the image of pods"):
        _image(docker)


def _image(docker: Any) -> str:
    """Return the daemon's only image, made unless it is there: the links of the node's root, and places for
    what else is shown of it.
    """
    if there := docker.images.list():
        return str(there[0].id)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry in sorted(Path("/").iterdir()):
            if entry.is_symlink():
                archive.add(entry, arcname=entry.name)
            elif entry.is_dir():
                folder = tarfile.TarInfo(entry.name)
                folder.type, folder.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(folder)
    docker.api.import_image_from_data(buffer.getvalue(), repository="bmwg-root", tag="run")
    return str(docker.images.list()[0].id)  # podman names it otherwise


def _host_config(docker: Any, token: str, pod: PodSpec) -> dict[str, Any]:
    binds = {
        str(entry): {"bind": str(entry), "mode": "ro"}
        for entry in sorted(Path("/").iterdir())
        if entry.is_dir() and not entry.is_symlink() and entry.name not in _OWN
    }
    binds |= {name: {"bind": name, "mode": "ro"} for name in _SHOWN if os.path.exists(name)}
    for source, destination, writable in pod.binds:
        binds[source] = {"bind": destination, "mode": "rw" if writable else "ro"}
    quota = {"cpu_period": bundle.PERIOD_US, "cpu_quota": round(pod.cpu_limit * bundle.PERIOD_US)}
    return {
        "binds": binds,
        "tmpfs": _TMPFS,
        "read_only": True,
        "network_mode": f"container:{_owner_of(docker, token, pod)}" if pod.netns else "none",
        "cap_drop": ["ALL"],
        "cap_add": list(pod.capabilities),
        "security_opt": ["no-new-privileges"],
        "cgroup_parent": cgroup_of(token),
        "cpuset_cpus": pod.cpus,
        "mem_limit": pod.memory_octets,
        "memswap_limit": -1,  # as a pod of crun's: swap has no limit of its own
        "sysctls": {} if pod.netns else bundle.sysctls(pod),  # whoever made the network has set them
        **(quota if pod.cpu_limit else {}),
    }


def _owner_of(docker: Any, token: str, pod: PodSpec) -> str:
    """Return the container of this daemon whose network namespace the pod is to join."""
    wanted = os.stat(pod.netns).st_ino
    for container in docker.api.containers():
        if wanted in {_network_of(pid) for pid in cgroups.members(_cgroup(token, container["Id"]))}:
            return str(container["Id"])
    raise DriverError(
        "POD-05", f"pod {pod.pod_id}", expected=f"a container with network {pod.netns}", found="none"
    )


def _network_of(pid: int) -> int:
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    return 0


def _limit_hugepages(cgroup: str, pod: PodSpec) -> None:
    sizes = {
        "2MB": pod.hugepages_2mi * bundle.HUGEPAGE_OCTETS,
        "1GB": pod.hugepages_1gi * bundle.LARGE_PAGE_OCTETS,
    }
    for folder in cgroups.folders(cgroup):
        for size, octets in sizes.items():
            for name in (f"hugetlb.{size}.limit_in_bytes", f"hugetlb.{size}.max"):
                if (folder / name).exists():  # a processor may have no pages of 1 GiB
                    (folder / name).write_text(str(octets))


def _cgroup(token: str, container: str) -> str:
    """Name the container's cgroup below the daemon's: Docker and podman name it differently."""
    parent = cgroup_of(token)
    for folder in cgroups.folders(parent):
        for child in sorted(folder.iterdir()):
            if child.is_dir() and container in child.name and "conmon" not in child.name:
                return f"{parent}/{child.name}"
    raise DriverError(
        "POD-05", f"container {container[:12]}", expected="its cgroup", found=f"none in {parent}"
    )


def _first(token: str, container: str, within_s: float) -> int:
    """Wait for the first process of a container: number 1 in its own namespace."""
    end_s = time.monotonic() + within_s
    ended = None
    while ended is None and time.monotonic() < end_s:
        with contextlib.suppress(DriverError):
            for pid in cgroups.members(_cgroup(token, container)):
                if number_inside(pid) == 1:
                    return pid
        time.sleep(_POLL_S)
        ended = _ended(token, container)
    raise DriverError(
        "POD-05", f"container {container[:12]}", expected="a first process", found=ended or "none"
    )


def _ended(token: str, container: str) -> str | None:
    """Say how a container has ended and its last words; None while it is none that has."""
    with client(token) as docker, refusals(f"container {container[:12]}"):
        state = docker.api.inspect_container(container)["State"]
        if state["Status"] != "exited":
            return None
        said = docker.api.logs(container, tail=_LAST_LINES).decode(errors="replace").split("\n")
    return " | ".join([f"the container is exited, status {state['ExitCode']}", *filter(None, said)])


def number_inside(pid: int) -> int:
    """Return the number of a process in its own process namespace; 0 of one that has ended."""
    return int((_status(pid, "NSpid") or ["0"])[-1])


def _status(pid: int, name: str) -> list[str]:
    """Return what stands behind a name in a process's status; empty where nothing does."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return line.split()[1:]
    return []


def end_programs(*, cgroup: str, pid: int) -> None:
    """Node function: end what runs in a container beside its first process `pid` and that one's children.

    A client that started a program by the API may end and leave the program. Idempotent.
    """
    for member in cgroups.members(cgroup):
        with contextlib.suppress(ProcessLookupError, OSError, IndexError):
            parent = int(Path(f"/proc/{member}/stat").read_text().rpartition(")")[2].split()[1])
            if member != pid and parent != pid:
                process.kill(member)
                process.reap(member, deadline_s=0.5)  # one that a client of ours left is the agent's


def fault(*, token: str, container: str, pid: int = 0, start_ticks: int = 0, cgroup: str = "") -> str | None:
    """Node function: why a container's first process no longer runs; None while it does.

    Where that process is not known, the container runs as long as there is one in its `cgroup`.
    """
    if cgroups.members(cgroup) if cgroup else process.same(pid, start_ticks):
        return None
    try:
        ended = _ended(token, container)
    except Exception as error:
        return f"its first process has ended, and its daemon does not answer: {error}"
    return f"its first process has ended: {ended or 'its container is not yet said to have'}"


def sample(*, cgroup: str) -> dict[str, JsonValue]:
    """Node function: what all processes of the pod use; fields of `instance.Sample`."""
    return programs.use_of(cgroups.members(cgroup), folders=cgroups.folders(cgroup))


def describe(*, token: str, container: str, pid: int, cgroup: str) -> dict[str, JsonValue]:
    """Node function: the pod as the kernel has it, for the platform record."""
    with client(token) as docker, refusals(f"container {container[:12]}"):
        status = docker.api.inspect_container(container)["State"]["Status"]
    return {
        "hosting": "pod",
        "image": "host root, read-only",
        booted.KEY: _ROOT.as_builtins(),
        "status": status,
        "pid": pid,
        "programs_enter_by": "the engine's API (exec), under its filter of system calls",
        "system_call_filter": system_call_filter(pid),
        **cgroups.read_limits(cgroup),
    }


def system_call_filter(pid: int) -> str:
    """Say under which filter of system calls a process runs."""
    modes = {"0": "none", "1": "strict", "2": "filter (seccomp)"}
    mode = next(iter(_status(pid, "Seccomp")), "unknown")
    return modes.get(mode, mode)


def delete(*, token: str, container: str) -> None:
    """Node function: end and remove the pod. Idempotent; the daemon's own end removes what is left."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    with contextlib.suppress(DockerException, RequestException, OSError), client(token) as docker:
        docker.api.remove_container(container, force=True)

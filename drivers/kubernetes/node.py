"""One node of an embedded cluster: node functions that furnish, start, watch and remove it.

All of its programs run below one first process in a PID namespace of its own (`first`); its cgroups have one
root, its files one folder in the run's, its sockets lie in the node's own /run. Ids: KUBE-01 programs absent,
KUBE-02 a node did not start, KUBE-03 not removed.
"""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from bmwg.drivers.api.protocols import JsonValue
from bmwg.drivers.kubernetes import cilium, flannel, image, programs, settings
from bmwg.drivers.kubernetes.settings import Layout
from bmwg.drivers.nodes import bounded, cgroups, cpu_placement, mounts, process
from bmwg.drivers.nodes import programs as running
from bmwg.methodology.errors import DriverError, TestbedError

_UNSHARE = ["unshare", "--pid", "--fork", "--mount", "--mount-proc", "--kill-child=SIGKILL"]
_FIRST = "bmwg.drivers.kubernetes.first"
_NAMESPACE = "k8s.io"  # of containerd: where its CRI plugin looks
_TAIL_LINES = 4
_OUR_PLUGINS = {
    settings.NETWORK_PLUGIN: "bmwg.drivers.kubernetes.multinet",
    "bmwg-tc": "bmwg.drivers.network.ebpf_cni",
}


def start(*, layout: dict[str, JsonValue], control_plane: bool) -> dict[str, JsonValue]:
    """Node function: write this node's configuration and start its programs; returns pid and start time.

    Nothing is waited for. Raises TestbedError KUBE-01.
    """
    node = settings.layout_of(layout)
    lack = programs.missing(node.version)
    if lack:
        raise TestbedError("KUBE-01", f"no {lack['what']}", found=lack["reason"], hint=lack["mend"])
    folder = Path(node.folder)
    folder.mkdir(parents=True, exist_ok=True)
    make_cgroup(cgroup=node.cgroup)
    cpu_placement.set_apart(cgroup=node.program_cgroup, cpus=node.program_cpus, mems=cgroups.default_mems())
    mounts.in_memory(target="/var/log")  # a kubelet and containerd write there, whatever they are told
    _show_short(folder / "kubelet")
    _write_configuration(node)
    wanted = settings.node_programs(node)
    if control_plane:
        wanted = settings.control_plane(node) + wanted
    order = folder / "order.json"
    told = {"folder": node.folder, "cgroup": node.program_cgroup, "programs": wanted}
    order.write_text(json.dumps({**told, "bpf_root": "" if node.cilium is None else cilium.BPF_ROOT}))
    begun = running.start(
        command=[*_UNSHARE, "--propagation", "private", sys.executable, "-m", _FIRST, str(order)],
        folder=node.folder,
        packages=[],
    )
    return {"process": begun}


def _show_short(folder: Path) -> None:
    """Show the kubelet its folder where it looks by itself: a socket has no room for a long path."""
    folder.mkdir(exist_ok=True)
    Path(settings.KUBELET_ROOT).mkdir(parents=True, exist_ok=True)
    mounts.bind(source=str(folder), target=settings.KUBELET_ROOT)


def _write_configuration(node: Layout) -> None:
    folder = Path(node.folder)
    texts = {
        "kubelet.yaml": yaml.safe_dump(settings.kubelet(node)),
        "kube-proxy.yaml": yaml.safe_dump(settings.kube_proxy(node)),
        "kubelet.kubeconfig": yaml.safe_dump(settings.kubeconfig(node, f"kubelet-{node.name}")),
        "containerd.toml": settings.containerd(node),
        "cni-conf/10-bmwg.conflist": json.dumps(settings.cni(node), indent=1),
    }
    if node.flannel is not None:
        texts["flannel.json"] = flannel.configuration(node.flannel)
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    plugins = folder / "cni-bin"
    plugins.mkdir(exist_ok=True)
    _link_plugins(plugins, node.plugin_dirs)
    for name, module in _OUR_PLUGINS.items():
        ours = plugins / name
        python = shlex.join([sys.executable, "-m", module])
        ours.write_text(f"#!/bin/sh\nexec {python}\n")
        ours.chmod(0o755)


def _link_plugins(folder: Path, sources: Sequence[str]) -> None:
    """Show the plugins of all these folders in one; DriverError KUBE-31 for two programs of one name."""
    for source in sources:
        for plugin in sorted(Path(source).iterdir()):
            link = folder / plugin.name
            if not link.is_symlink():
                link.symlink_to(plugin)
            elif not filecmp.cmp(link, plugin, shallow=False):
                raise DriverError(
                    "KUBE-31",
                    f"CNI plugin {plugin.name} on a Kubernetes node",
                    expected="one program of that name in the folders of all network options",
                    found=f"{os.readlink(link)} and {plugin}, which differ",
                    hint="a kubelet has one folder of plugins; measure these options in runs of their own",
                )


def make_cgroup(*, cgroup: str) -> None:
    """Node function: make the root of a node's cgroups in every hierarchy, with all CPUs and memory nodes."""
    with open("/proc/self/mountinfo") as lines:
        mounted = [line.split(" - ") for line in lines]
    kind = "cgroup2" if cgroups.version() == 2 else "cgroup"
    for left, right in mounted:
        if right.split()[0] != kind:
            continue
        root = Path(left.split()[4])
        place = root / cgroup.lstrip("/")
        place.mkdir(exist_ok=True)
        for name in ("cpuset.cpus", "cpuset.mems"):
            if kind == "cgroup" and (root / name).exists():
                (place / name).write_text((root / name).read_text())
        if kind == "cgroup2":
            cgroups.hand_down(folder=root)
            cgroups.hand_down(folder=place)


def runtime_answers(*, folder: str) -> bool:
    """Node function: whether containerd answers on this node."""
    try:
        done = bounded.run(["ctr", "--address", settings.SOCKET, "version"], deadline_s=5.0)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def import_image(*, folder: str, archive: str, within_s: float = 60.0) -> dict[str, JsonValue]:
    """Node function: give containerd the image of pods from an archive; returns its names and digests.

    Raises DriverError KUBE-02.
    """
    ctr = ["ctr", "--address", settings.SOCKET, "--namespace", _NAMESPACE]
    command = [*ctr, "images", "import", "--no-unpack", archive]
    done = bounded.run(command, deadline_s=within_s)
    if done.returncode != 0:
        raise DriverError(
            "KUBE-02", shlex.join(command), expected="exit status 0", found=done.stderr.strip()[-400:]
        )
    listed = bounded.run([*ctr, "images", "ls", "-q"], deadline_s=10.0)
    return {"images": listed.stdout.split()}


def state(*, folder: str, pid: int, start_ticks: int) -> dict[str, JsonValue]:
    """Node function: whether the node runs, how often each program was started, its last words."""
    try:
        told = json.loads(Path(folder, "programs.json").read_text())
    except (OSError, ValueError):
        told = {}
    return {"runs": process.same(pid, start_ticks), "programs": told, "said": said(folder=folder)}


def said(*, folder: str) -> dict[str, str]:
    """Node function: the last lines of each program's log."""
    words = {}
    for log in sorted(Path(folder).glob("*.log")):
        with contextlib.suppress(OSError):
            lines = log.read_text(errors="replace").strip().splitlines()
            words[log.stem] = " | ".join(lines[-_TAIL_LINES:])[-800:]
    return words


def container_pid(*, cgroup: str, pod_uid: str, container: str) -> dict[str, JsonValue] | None:
    """Node function: first process of a container (or of a pod's sandbox) by its cgroup; None without.

    The kernel tells process ids there as this node's agent sees them.
    """
    for folder in cgroups.folders(cgroup):
        for place in folder.rglob(container):
            if pod_uid not in str(place):
                continue
            pids = [int(text) for text in (place / "cgroup.procs").read_text().split()]
            if pids:
                return {"pid": min(pids), "start_ticks": process.start_ticks(min(pids)), "cgroup": str(place)}
    return None


def attached(*, cache_dir: str, pod_uid: str) -> dict[str, JsonValue] | None:
    """Node function: what our CNI plugin attached to a pod, and when; None while it has not.

    The latest sandbox's.
    """
    found = None
    for file in sorted(Path(cache_dir).glob("*.added"), key=lambda one: one.stat().st_mtime_ns):
        told = json.loads(file.read_text())
        if told["pod_uid"] == pod_uid:
            found = {**told, "container_id": file.stem}
    return found


def detached(*, folder: str, pod_uid: str) -> dict[str, JsonValue] | None:
    """Node function: when CNI DEL of a pod began and ended (ns of the node's clock); None where it did not.

    It is told once.
    """
    file = Path(folder, "cni-ended", f"{pod_uid}.json")
    try:
        told: dict[str, JsonValue] = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    file.unlink(missing_ok=True)
    return told


def left(*, folder: str, within_s: float = 10.0) -> list[str]:
    """Node function: records of attached networks and of addresses that stay of pods; waits for none."""
    end_s = time.monotonic() + within_s
    while True:
        records = [file.name for file in Path(folder, "cni-cache").glob("*") if file.is_file()]
        addresses = [file.name for file in Path(folder, "addresses").rglob("*.*.*.*") if file.is_file()]
        if not (records or addresses) or time.monotonic() > end_s:
            return sorted([*records, *addresses])
        time.sleep(0.1)


def sample(*, cgroup: str, pod_uid: str) -> dict[str, JsonValue]:
    """Node function: what all processes of a pod use; fields of `instance.Sample`."""
    mine = [own for folder in cgroups.folders(cgroup) for own in folder.rglob(f"pod{pod_uid}")]
    pids = set[int]()
    for procs in (procs for own in mine for procs in own.rglob("cgroup.procs")):
        with contextlib.suppress(OSError):
            pids |= {int(text) for text in procs.read_text().split()}
    return running.use_of(sorted(pids), folders=mine)


def sample_containers(*, cgroup: str, containers: list[str]) -> dict[str, JsonValue]:
    """Node function: what the processes of these containers use together; fields of `instance.Sample`."""
    wanted, pids, mine = set(containers), set[int](), []
    for folder in cgroups.folders(cgroup):
        for procs in folder.rglob("cgroup.procs"):
            if procs.parent.name in wanted:
                mine.append(procs.parent)
                with contextlib.suppress(OSError):
                    pids |= {int(text) for text in procs.read_text().split()}
    return running.use_of(sorted(pids), folders=mine)


def kill(*, pid: int, start_ticks: int) -> dict[str, JsonValue]:
    """Node function: kill one process; returns when, in nanoseconds of the node's monotonic clock."""
    began_ns = time.monotonic_ns()
    if process.same(pid, start_ticks):
        process.kill(pid)
    return {"began_ns": began_ns}


def now_ns() -> int:
    """Node function: the node's monotonic clock."""
    return time.monotonic_ns()


def yield_cpus(*, pid: int, names: list[str], niceness: int = 19) -> dict[str, int]:
    """Node function: have these programs step back where anything else wants a CPU; counts threads.

    The control plane shares this machine's CPUs with tester and device; in a cluster it is another machine's.
    """
    changed: dict[str, int] = {}
    for child in _descendants(pid):
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{child}/exe").resolve().name
            if name not in names:
                continue
            for task in os.listdir(f"/proc/{child}/task"):
                os.setpriority(os.PRIO_PROCESS, int(task), niceness)
                changed[name] = changed.get(name, 0) + 1
    return changed


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended since
            for text in task.read_text().split():
                found += [int(text), *_descendants(int(text))]
    return found


def stop(*, folder: str, cgroup: str, pid: int, start_ticks: int) -> None:
    """Node function: end the node's programs with all that they run, and remove what they made.

    Idempotent.
    """
    if process.same(pid, start_ticks):
        process.kill(*running.session(pid))
    end_s = time.monotonic() + 5.0
    while process.same(pid, start_ticks) and time.monotonic() < end_s:
        time.sleep(0.01)
    process.reap(pid, deadline_s=1.0)
    for path in ("/var/log", settings.KUBELET_ROOT):
        mounts.unmount(target=path)
    remove(folder=folder, cgroup=cgroup)


def remove(*, folder: str, cgroup: str, within_s: float = 60.0) -> bool:
    """Node function: remove what a node that no longer runs has left: processes by cgroup, cgroups, files.

    Idempotent. Raises DriverError KUBE-03 when something stays.
    """
    end_s = time.monotonic() + within_s
    there = Path(folder).exists() or bool(cgroups.folders(cgroup))
    # all of it is the node's; on a busy machine even the killed take their time
    process.kill_all(lambda: cgroups.members(cgroup), within_s=within_s)
    left = cgroups.remove(cgroup, deadline_s=max(0.5, end_s - time.monotonic()))
    left += running.remove_tree(folder, end_s)
    if left:
        raise DriverError("KUBE-03", "a Kubernetes node's files and cgroups", found=", ".join(left))
    return there


def build_image(*, archive: str) -> dict[str, JsonValue]:
    """Node function: build the archive of the pods' image from this machine's packages."""
    return image.build(Path(archive))

"""The configuration of a pod's container for LXC: a pure function from what is wanted to its text.

Written after lxc.container.conf(5) of LXC 5.0; nothing here touches the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bmwg.drivers.containers import bundle
from bmwg.drivers.containers.bundle import PodSpec

OUTPUT = "/run/bmwg-output"  # in the pod: what its program prints
# LXC gives the first process of a container that it starts as a daemon no output of its own.
_SPEAKING = ("/bin/sh", "-c", f'exec "$@" >{OUTPUT} 2>&1', "sh")
_TMPFS = (  # as of crun's pods
    ("run", "rw,nosuid,nodev,mode=755,size=64m"),
    ("tmp", "rw,nosuid,nodev,mode=1777,size=256m"),
    ("dev/shm", "rw,nosuid,nodev,mode=1777,size=64m,create=dir"),
)
_TERMINALS = "16"  # choice: what has LXC mount a /dev/pts


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What lies around a container on its node: paths, the names of its cgroups, the filter's file.

    `root` is already read-only, LXC mounts it at `mount_point`. `folders` are the sources of binds that are
    folders. LXC's own process is in `monitor_cgroup`, and ends in `last_cgroup`. `version` is that of the
    cgroups, `hugetlb` says whether that limit can be set.
    """

    root: str
    mount_point: str
    output: str
    cgroup: str
    monitor_cgroup: str
    last_cgroup: str
    system_call_filter: str
    folders: frozenset[str]
    version: int
    hugetlb: bool


def command(spec: PodSpec) -> tuple[str, ...]:
    """Return the first process of a container: the pod's program, once its output is a file."""
    return (*_SPEAKING, *spec.arguments)


def text(spec: PodSpec, around: Around) -> str:
    """Render the file."""
    return "".join(f"{key} = {value}\n" for key, value in _lines(spec, around))


def _lines(spec: PodSpec, around: Around) -> Iterator[tuple[str, str]]:
    yield "lxc.rootfs.path", f"dir:{around.root}"
    yield "lxc.rootfs.mount", around.mount_point
    yield "lxc.uts.name", spec.pod_id
    yield "lxc.autodev", "1"
    yield "lxc.pty.max", _TERMINALS
    yield "lxc.mount.auto", "proc:mixed sys:mixed"
    for path, options in _TMPFS:
        yield "lxc.mount.entry", f"tmpfs {path} tmpfs {options} 0 0"
    for source, destination, writable in ((around.output, OUTPUT, True), *spec.binds):
        kind = "dir" if source in around.folders else "file"
        options = f"rbind,{'rw' if writable else 'ro'},create={kind}"
        yield "lxc.mount.entry", f"{_escaped(source)} {_escaped(destination.lstrip('/'))} none {options} 0 0"
    if spec.netns:
        yield "lxc.namespace.share.net", spec.netns
    else:
        yield "lxc.net.0.type", "empty"
        yield "lxc.net.0.flags", "up"  # its loopback, which other runtimes bring up
    capabilities = sorted({*(() if spec.least else bundle.CAPABILITIES), *spec.capabilities})
    names = " ".join(name.removeprefix("CAP_").lower() for name in capabilities)
    yield "lxc.cap.keep", names or "none"
    yield "lxc.no_new_privs", "1"
    yield "lxc.seccomp.profile", around.system_call_filter
    yield "lxc.apparmor.profile", "unconfined"
    yield "lxc.environment", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    for setting in spec.environment:
        yield "lxc.environment", setting
    yield "lxc.cgroup.dir.container", around.cgroup.lstrip("/")
    yield "lxc.cgroup.dir.monitor", around.monitor_cgroup.lstrip("/")
    yield "lxc.cgroup.dir.monitor.pivot", around.last_cgroup.lstrip("/")
    yield from _limits(spec, around)


def _limits(spec: PodSpec, around: Around) -> Iterator[tuple[str, str]]:
    pages: tuple[tuple[str, int], ...] = (("2MB", spec.hugepages_2mi * bundle.HUGEPAGE_OCTETS),)
    if spec.hugepages_1gi:  # a processor may have none of these
        pages += (("1GB", spec.hugepages_1gi * bundle.LARGE_PAGE_OCTETS),)
    quota = round(spec.cpu_limit * bundle.PERIOD_US)
    if around.version == 2:
        yield "lxc.cgroup2.cpuset.cpus", spec.cpus
        yield "lxc.cgroup2.memory.max", str(spec.memory_octets)
        if spec.cpu_limit:
            yield "lxc.cgroup2.cpu.max", f"{quota} {bundle.PERIOD_US}"
        for size, octets in pages if around.hugetlb else ():
            yield f"lxc.cgroup2.hugetlb.{size}.max", str(octets)
        return
    yield "lxc.cgroup.cpuset.cpus", spec.cpus
    yield "lxc.cgroup.memory.limit_in_bytes", str(spec.memory_octets)
    if spec.cpu_limit:
        yield "lxc.cgroup.cpu.cfs_period_us", str(bundle.PERIOD_US)
        yield "lxc.cgroup.cpu.cfs_quota_us", str(quota)
    for size, octets in pages if around.hugetlb else ():
        yield f"lxc.cgroup.hugetlb.{size}.limit_in_bytes", str(octets)


def _escaped(path: str) -> str:
    """Write a path as a field of fstab(5)."""
    return path.replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")

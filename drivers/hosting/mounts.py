"""Mounts of a namespace node: /sys of its own network namespace, own /run and CNI state.

pyroute2 has no mount(2) and os has none in Python 3.11, so libc is called; no shell, no `mount` binary.
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from bmwg.methodology.errors import TestbedError

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_BIND, _MS_MOVE, _MS_REC = 4096, 8192, 16384
_libc = ctypes.CDLL(None, use_errno=True)
_BENEATH_SYS = ("/sys/fs/cgroup", "/sys/fs/bpf")
_CNI_STATE = "/var/lib/cni"  # where reference plugins keep addresses (host-local) and results


def _mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    result = _libc.mount(
        source.encode(),
        target.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        data.encode() if data else None,
    )
    if result != 0:
        raise TestbedError(
            "NODE-11",
            f"mount of {kind or source} on {target}",
            found=os.strerror(ctypes.get_errno()),
            hint="run as root; inside a container it must be a privileged one",
        )


def furnish(keep: list[str]) -> None:
    """Give this mount namespace its own /run, /sys and CNI state; cgroup and bpf mounts stay visible.

    `keep` are paths that stay visible although they lie under /run. Does nothing to the host: the
    namespace's propagation is private.
    """
    kept = {path: os.open(path, os.O_PATH) for path in keep if _under(path, "/run") and os.path.exists(path)}
    kept |= {path: os.open(path, os.O_PATH) for path in _BENEATH_SYS if os.path.ismount(path)}
    try:
        _mount("tmpfs", "/run", "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")
        _mount("sysfs", "/sys", "sysfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        for path, descriptor in kept.items():
            _rebind(descriptor, path)
    finally:
        for descriptor in kept.values():
            os.close(descriptor)
    os.makedirs("/run/lock", exist_ok=True)
    os.makedirs("/run/netns", exist_ok=True)
    os.makedirs(_CNI_STATE, exist_ok=True)
    _mount("tmpfs", _CNI_STATE, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=700")
    if not os.access("/proc/sys/net/ipv4/ip_forward", os.W_OK) or not _proc_is_writable():
        _mount("proc", "/proc", "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def _rebind(descriptor: int, path: str) -> None:
    if not os.path.isdir(path):
        os.makedirs(path)
    _mount(f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)


def _under(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)


def _proc_is_writable() -> bool:
    return not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY

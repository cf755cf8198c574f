"""Mounts of a namespace node: /sys of its own network namespace, own /run and CNI state.

pyroute2 has no mount(2) and os has none in Python 3.11, so libc is called; no shell, no `mount` binary.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from pathlib import Path

from bmwg.methodology.errors import TestbedError

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 2, 4, 8, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_MOUNT_ATTR_RDONLY, _AT_RECURSIVE, _SYS_MOUNT_SETATTR = 1, 0x8000, 442  # the same on every architecture
_CLONE_NEWNS = 0x20000
_libc = ctypes.CDLL(None, use_errno=True)
_MNT_DETACH = 2
_RUN_LIMIT = "mode=755,size=64m"  # choice: what the programs of pods may print, all together
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


def bind_read_only(*, source: str, target: str) -> None:
    """Bind a whole mount tree at `target`, private and read-only all the way down (Linux 5.12 or newer)."""
    _mount(source, target, None, _MS_BIND | _MS_REC)
    attributes = struct.pack("QQQQ", _MOUNT_ATTR_RDONLY, 0, _MS_PRIVATE, 0)
    number = ctypes.c_long(_SYS_MOUNT_SETATTR)
    path = ctypes.c_char_p(target.encode())
    if _libc.syscall(number, -1, path, _AT_RECURSIVE, attributes, ctypes.c_size_t(len(attributes))) != 0:
        reason = os.strerror(ctypes.get_errno())
        unmount(target=target)
        raise TestbedError("NODE-11", f"read-only bind of {source} at {target}", found=reason)


def bind(*, source: str, target: str) -> None:
    """Show the file or folder `source` at `target` too, in this mount namespace."""
    _mount(source, target, None, _MS_BIND | _MS_REC)


def file_system(*, kind: str, target: str, data: str | None = None) -> None:
    """Mount a file system of the kernel's own (`proc`, `tmpfs`, `overlay` ...) on a folder that is there."""
    _mount(kind, target, kind, 0, data)


def in_memory(*, target: str) -> None:
    """Mount an empty file system in memory at `target`, which is made."""
    os.makedirs(target, exist_ok=True)
    _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=755")


def cover(*, path: str, layers: str) -> None:
    """Lay a writable layer of this mount namespace over a folder: what is written there lands in `layers`."""
    for name in ("upper", "work"):
        os.makedirs(f"{layers}/{name}")
    _mount("overlay", path, "overlay", 0, f"lowerdir={path},upperdir={layers}/upper,workdir={layers}/work")


def pin_netns(*, pid: int, target: str) -> None:
    """Node function: hold the network namespace of a process at `target`, however that process ends."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    _mount(f"/proc/{pid}/ns/net", target, None, _MS_BIND)


def unpin(*, target: str) -> None:
    """Node function: let go of what `pin_netns` holds. Idempotent."""
    unmount(target=target)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(target)


def unmount(*, target: str) -> bool:
    """Detach the mount tree at `target`; `False` when there was none. Idempotent."""
    if not os.path.ismount(target):
        return False
    if _libc.umount2(target.encode(), _MNT_DETACH) != 0:
        raise TestbedError("NODE-11", f"unmount of {target}", found=os.strerror(ctypes.get_errno()))
    return True


def unmount_below(folder: str) -> None:
    """Detach the mounts below a folder, the deepest first: whoever removes it must never walk into one."""
    with open("/proc/self/mountinfo") as lines:
        points = [line.split()[4] for line in lines]
    for point in sorted((one for one in points if one.startswith(f"{folder}/")), reverse=True):
        unmount(target=point)


def fresh_sys() -> None:
    """Give the calling process a mount namespace with the /sys of its present network namespace.

    Where a container runtime was the first to mount it, the file system itself is read-only, and not its
    mount in the container alone: that one stays as it is.
    """
    if _libc.unshare(_CLONE_NEWNS) != 0:
        raise TestbedError("NODE-11", "unshare(CLONE_NEWNS)", found=os.strerror(ctypes.get_errno()))
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("sysfs", "/sys", "sysfs", flags)
    if os.statvfs("/sys").f_flag & os.ST_RDONLY:
        _mount("sysfs", "/sys", None, _MS_REMOUNT | flags)


def furnish(keep: list[str]) -> None:
    """Give this mount namespace its own /run, /sys and CNI state; cgroup and bpf mounts stay visible.

    `keep` are paths that stay visible although they lie under /run. Does nothing to the host: the
    namespace's propagation is private.
    """
    kept = {path: os.open(path, os.O_PATH) for path in keep if _under(path, "/run") and os.path.exists(path)}
    kept |= {path: os.open(path, os.O_PATH) for path in _BENEATH_SYS if os.path.ismount(path)}
    try:
        _mount("tmpfs", "/run", "tmpfs", _MS_NOSUID | _MS_NODEV, _RUN_LIMIT)
        _mount("sysfs", "/sys", "sysfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        for path, descriptor in kept.items():
            _rebind(descriptor, path)
        _hide_hybrid_hierarchy()
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


def _hide_hybrid_hierarchy() -> None:
    """Cover a version 2 hierarchy that stands beside version 1: crun refuses to work with both.

    Covered, not unmounted: crun still makes a folder there, which must not land in the host's tmpfs.
    """
    path = "/sys/fs/cgroup/unified"
    if os.path.ismount(path):
        _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, "mode=755")


def _under(path: str, folder: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)


def _proc_is_writable() -> bool:
    return not os.statvfs("/proc/sys").f_flag & os.ST_RDONLY

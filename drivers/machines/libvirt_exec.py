"""Becomes a libvirtd that shares nothing with the machine's own; arguments: folder, image, then its command.

Runs as the first process of a PID namespace, in a mount namespace of its own. libvirt's folders are compiled
in: each is an empty one here, so that no domain or network of the machine's own libvirt is seen, started or
written. The guests' disk image (or an empty word) is shown in the folder, for it may lie in one of these, as
libvirt's own images do. The user that the distribution's libvirt would give QEMU to is made up where the
machine lacks it.
"""

from __future__ import annotations

import grp
import os
import pwd
import sys
from collections.abc import Sequence
from pathlib import Path

from bmwg.drivers.machines.guest_kernel import CACHE
from bmwg.drivers.nodes import mounts

_FOLDERS = ("/etc/libvirt", "/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt", "/run/libvirt")
_USER = "libvirt-qemu"  # compiled into Debian's libvirt, and looked up even where the configuration says root
_NUMBER = 64055
IMAGE_NAME = "image"  # in the daemon's folder
# QEMU runs as root and shows this host's root read-only: there is nothing to confine or to give away
_QEMU_CONF = """user = "+0"
group = "+0"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
"""


def main() -> int:
    """Cover what is shared, start the daemon, collect who loses its parent, end with the daemon."""
    folder, image, *command = sys.argv[1:]
    descriptor = os.open(image, os.O_PATH) if image else -1
    for number, path in enumerate(_FOLDERS):
        _empty(path, layers=f"{folder}/layers/{number}", kept=(folder, str(CACHE.parent)))
    os.makedirs(f"{folder}/log", exist_ok=True)
    mounts.bind(source=f"{folder}/log", target="/var/log/libvirt")
    if image:
        Path(folder, IMAGE_NAME).touch()
        mounts.bind(source=f"/proc/self/fd/{descriptor}", target=f"{folder}/{IMAGE_NAME}")
        os.close(descriptor)
    Path("/etc/libvirt/qemu.conf").write_text(_QEMU_CONF)
    _add_user(folder)
    child = os.fork()
    if child == 0:
        os.execvp(command[0], command)
    while True:
        pid, status = os.wait()  # QEMU's first process ends at once and leaves it to us
        if pid == child:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _empty(path: str, *, layers: str, kept: Sequence[str]) -> None:
    """Put an empty folder at `path` for this mount namespace; where there is none, in a layer of its parent.

    The folders `kept` of that parent stay as they are: what comes into them later must be seen on both sides.
    """
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        shown = [folder for folder in kept if os.path.dirname(folder) == parent]
        descriptors = [os.open(folder, os.O_PATH) for folder in shown]
        mounts.cover(path=parent, layers=layers)
        for folder, descriptor in zip(shown, descriptors, strict=True):
            mounts.bind(source=f"/proc/self/fd/{descriptor}", target=folder)
            os.close(descriptor)
    mounts.in_memory(target=path)


def _add_user(folder: str) -> None:
    for file, known, line in (
        ("/etc/passwd", pwd.getpwnam, f"{_USER}:x:{_NUMBER}:{_NUMBER}::/nonexistent:/usr/sbin/nologin\n"),
        ("/etc/group", grp.getgrnam, f"{_USER}:x:{_NUMBER}:\n"),
    ):
        try:
            known(_USER)
        except KeyError:
            copy = Path(folder) / os.path.basename(file)
            copy.write_text(Path(file).read_text().rstrip("\n") + f"\n{line}")
            mounts.bind(source=str(copy), target=file)


if __name__ == "__main__":
    sys.exit(main())

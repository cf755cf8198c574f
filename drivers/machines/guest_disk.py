"""A disk of a guest's own, beside its root: made as a file of the node, and mounted in the guest.

Node functions. Ids: VM-16 the guest does not have the disk, or cannot use it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bmwg.drivers.machines import guest_run
from bmwg.drivers.machines.guest_initramfs import DISK_MODULES
from bmwg.drivers.machines.qemu import OWN_DISK
from bmwg.methodology.errors import DriverError

FILE_SYSTEM = "ext4"
_BLOCKS = Path("/sys/block")


def make(*, path: str, octets: int) -> None:
    """Node function: make the file that is to be a guest's disk. It takes up what the guest writes."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as made:
        made.truncate(octets)


def mount(*, folder: str, within_s: float = 60.0) -> int:
    """Node function, run in the guest: make a file system on its own disk, and have it in a folder.

    Returns the disk's size in octets. Raises DriverError VM-10, VM-16.
    """
    guest_run.load(modules=list(DISK_MODULES))
    found = [place for place in sorted(_BLOCKS.glob("vd*")) if _serial(place) == OWN_DISK]
    if len(found) != 1:
        raise DriverError(
            "VM-16",
            "the guest's own disk",
            expected=f"one disk with the serial number {OWN_DISK}",
            found=", ".join(place.name for place in _BLOCKS.glob("vd*")) or "no disk",
        )
    device = f"/dev/{found[0].name}"
    Path(folder).mkdir(parents=True, exist_ok=True)
    # not lazily: else the guest's kernel would write its tables while a program is measured
    ready = "lazy_itable_init=0,lazy_journal_init=0"
    _done(["mkfs.ext4", "-q", "-F", "-E", ready, device], within_s)
    _done(["mount", "-t", FILE_SYSTEM, device, folder], within_s)
    os.chmod(folder, 0o777)  # as the folder of the other forms
    return int((found[0] / "size").read_text()) * 512


def _serial(place: Path) -> str:
    file = place / "serial"
    return file.read_text().strip() if file.exists() else ""


def _done(command: list[str], within_s: float) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False)
        said = (ran.stderr.strip()[-200:] or f"exit status {ran.returncode}") if ran.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    if said:
        raise DriverError("VM-16", f"{command[0]} on the guest's own disk", expected="done", found=said)

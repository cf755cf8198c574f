"""Files of jobs on a node: what room there is, what a program wrote, that they go again. Node functions.

Id: FILE-01 a file that a program was to make is not there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from pathlib import Path

from bmwg.drivers.nodes import process, programs
from bmwg.methodology.errors import DriverError

_LIMIT_OCTETS = 1 << 20  # choice: no summary of a program is larger
_POLL_S = 0.02


def free_octets(*, folder: str) -> int:
    """Node function: octets that the file system of a folder has left; the folder is made."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def file_system(*, folder: str) -> str:
    """Node function: the kind of file system that a folder is on, as the kernel's list of mounts has it."""
    device = os.stat(folder).st_dev
    mine = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, _, about = line.partition(" - ")
        if place.split()[2] == mine:
            return about.split()[0]
    return ""


def read(*, folder: str, name: str) -> str:
    """Node function: the text of a file, at most so much; empty when there is none."""
    try:
        with Path(folder, name).open(encoding="utf-8", errors="replace") as file:
            return file.read(_LIMIT_OCTETS)
    except FileNotFoundError:
        return ""


def remove(*, folder: str, names: list[str]) -> None:
    """Node function: remove files of a folder. Idempotent."""
    for name in names:
        Path(folder, name).unlink(missing_ok=True)


def last_cache_octets() -> int:
    """Node function: the size of the last cache of the first CPU; 0 where the kernel tells none."""
    sizes = [0]
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text().strip()
        number, unit = text.rstrip("KMG"), text[-1:]
        sizes.append(int(number) << {"K": 10, "M": 20, "G": 30}.get(unit, 0))
    return max(sizes)


def wait_for(*, folder: str, name: str, within_s: float, pid: int, start_ticks: int, said_in: str) -> None:
    """Node function: wait until a program has made a file. Raises DriverError FILE-01, with what it said."""
    end_s = time.monotonic() + within_s
    while not Path(folder, name).exists():
        ended = not process.same(pid, start_ticks)
        if ended or time.monotonic() > end_s:
            raise DriverError(
                "FILE-01",
                f"{name}, which a program was to make",
                expected=f"it is there within {within_s:g} s",
                found=f"the program {'has ended' if ended else 'has not made it'}: {programs.said(said_in)}",
            )
        time.sleep(_POLL_S)


def empty(*, folder: str) -> None:
    """Node function: remove all that a folder holds, and leave it."""
    for entry in Path(folder).iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def readable(*, file: str) -> bool:
    """Node function: whether a file is there to be read."""
    return Path(file).is_file() and os.access(file, os.R_OK)


def copy(*, file: str, folder: str, name: str) -> None:
    """Node function: copy a file, with its permissions, into a folder."""
    shutil.copy(file, Path(folder, name))


def sha256(*, file: str) -> str:
    """Node function: the SHA-256 of a file, in hexadecimal digits; empty when it cannot be read."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""

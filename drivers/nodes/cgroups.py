"""Where this machine's cgroup controllers are (version 1 or 2) and what they say of one cgroup.

It changes two things, both for the ledger: it removes a dead pod's empty cgroups, and takes back what the
root of version 2 hands down.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue

ROOT = Path("/sys/fs/cgroup")


def version() -> int:
    """Give the version whose controllers are in use below /sys/fs/cgroup; 0 when there is none."""
    if (ROOT / "cgroup.controllers").exists():
        return 2
    return 1 if (ROOT / "cpuset").is_dir() else 0


def has_controller(name: str) -> bool:
    """Tell whether limits of this controller can be set."""
    if version() == 2:
        return name in (ROOT / "cgroup.controllers").read_text().split()
    return (ROOT / name).is_dir()


def root_of(name: str) -> Path:
    """Give the root of the hierarchy that a controller is in; it need not be there."""
    return ROOT if version() == 2 else ROOT / name


def roots() -> list[Path]:
    """List the roots of every hierarchy of the version whose controllers are in use."""
    kind = "cgroup2" if version() == 2 else "cgroup"
    with open("/proc/self/mountinfo") as lines:
        mounted = [line.split(" - ") for line in lines]
    found = sorted({Path(left.split()[4]) for left, right in mounted if right.split()[0] == kind})
    return [root for root in found if root.is_relative_to(ROOT)]


def folders(cgroup: str) -> list[Path]:
    """List the folders of a cgroup in every hierarchy where it exists."""
    name = cgroup.lstrip("/")
    return [root / name for root in roots() if (root / name).is_dir()]


def members(cgroup: str) -> set[int]:
    """List the processes in a cgroup and in those below it, in whichever hierarchy they are."""
    found: set[int] = set()
    for folder in folders(cgroup):
        for procs in folder.rglob("cgroup.procs"):
            with contextlib.suppress(OSError):  # it may go meanwhile
                found |= {int(text) for text in procs.read_text().split()}
    return found - {0}  # 0: one that this process cannot see


def lacking() -> dict[str, str] | None:
    """Say what a pod's limits lack here (fields of `drivers.api.Missing`), or `None`."""
    if version() != 0:
        return None
    return {
        "what": "cgroups",
        "reason": "no cgroup hierarchy with controllers below /sys/fs/cgroup",
        "mend": "mount -t cgroup2 cgroup2 /sys/fs/cgroup",
    }


def default_mems() -> str:
    """Give the memory nodes that a new cpuset may use."""
    for name in ("cpuset.mems.effective", "cpuset/cpuset.mems"):
        if (ROOT / name).exists():
            return (ROOT / name).read_text().strip() or "0"
    return "0"


def default_cpus() -> str:
    """Node function: give the CPU numbers that a new cpuset may use, as a list such as `0-3`."""
    for name in ("cpuset.cpus.effective", "cpuset/cpuset.effective_cpus", "cpuset/cpuset.cpus"):
        if (ROOT / name).exists() and (text := (ROOT / name).read_text().strip()):
            return text
    return f"0-{(os.cpu_count() or 1) - 1}"


def held_back() -> list[str]:
    """Node function: name the controllers that the root of version 2 does not hand down."""
    if version() != 2:
        return []
    offered = (ROOT / "cgroup.controllers").read_text().split()
    handed_down = (ROOT / "cgroup.subtree_control").read_text().split()
    return [name for name in offered if name not in handed_down]


def hand_down(*, folder: Path = ROOT) -> None:
    """Have a cgroup of version 2 hand all of its controllers down to those below it."""
    offered = (folder / "cgroup.controllers").read_text().split()
    (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in offered))


def hold_back(*, controllers: list[str]) -> list[str]:
    """Node function: no longer hand these controllers down from the root; names those that stay.

    They stay while a cgroup of another run lies there, whose limits would go with them, and where the kernel
    says that somebody uses them. Idempotent.
    """
    if version() != 2 or any(ROOT.glob("bmwg-*")):
        return list(controllers)
    stay = []
    for name in controllers:
        try:
            (ROOT / "cgroup.subtree_control").write_text(f"-{name}")
        except OSError:
            stay.append(name)
    return stay


def read_limits(cgroup: str) -> dict[str, JsonValue]:
    """Read back what the kernel enforces; `None` with a reason where it cannot be told."""
    files = {
        1: {
            "cpuset_cpus": "cpuset/{}/cpuset.effective_cpus",
            "cpu_shares": "cpu/{}/cpu.shares",
            "cpu_quota_us": "cpu/{}/cpu.cfs_quota_us",
            "cpu_period_us": "cpu/{}/cpu.cfs_period_us",
            "memory_limit_octets": "memory/{}/memory.limit_in_bytes",
            "hugetlb_2mi_limit_octets": "hugetlb/{}/hugetlb.2MB.limit_in_bytes",
        },
        2: {
            "cpuset_cpus": "{}/cpuset.cpus.effective",
            "cpu_weight": "{}/cpu.weight",
            "cpu_quota_and_period_us": "{}/cpu.max",
            "memory_limit_octets": "{}/memory.max",
            "hugetlb_2mi_limit_octets": "{}/hugetlb.2MB.max",
        },
    }.get(version(), {})
    found: dict[str, JsonValue] = {"cgroup": cgroup, "cgroup_version": version()}
    for key, pattern in files.items():
        path = ROOT / pattern.format(cgroup.lstrip("/"))
        try:
            text = path.read_text().strip()
        except OSError as error:
            found[key] = None
            found[f"{key}_reason"] = f"{path.name}: {os.strerror(error.errno or 0)}"
        else:
            number = key.endswith(("_octets", "_us", "_shares", "_weight")) and text.lstrip("-").isdigit()
            found[key] = int(text) if number else text
    return found


def remove(cgroup: str, *, deadline_s: float = 2.0) -> list[str]:
    """Remove the emptied cgroup (depth first); returns what is still there past the deadline. Idempotent."""
    end_s = time.monotonic() + deadline_s
    while True:
        left = folders(cgroup)
        for folder in left:
            for path in sorted(folder.rglob("*"), reverse=True):
                if path.is_dir():
                    with contextlib.suppress(OSError):
                        path.rmdir()
            with contextlib.suppress(OSError):
                folder.rmdir()
        left = folders(cgroup)
        if not left or time.monotonic() > end_s:
            return [str(path) for path in left]
        time.sleep(0.01)

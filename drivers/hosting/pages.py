"""Hugepages of a machine, and where the memory of a process lies as the kernel says: sizes, NUMA nodes."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from bmwg.drivers.api import JsonValue
from bmwg.drivers.hosting import mounts

_ON_NODE = re.compile(r" N(\d+)=(\d+)")
_SIZE = re.compile(r" kernelpagesize_kB=(\d+)")
_NAMES = {2048: "2 MiB", 1048576: "1 GiB"}
_POOLS = Path("/sys/kernel/mm/hugepages")


def free(size_kib: int) -> int:
    """Return how many pages of a size are free on this machine; none where it has none of that size."""
    with contextlib.suppress(OSError):
        return int((_POOLS / f"hugepages-{size_kib}kB" / "free_hugepages").read_text())
    return 0


def lacking(*, hugepages_2mi: int, hugepages_1gi: int) -> dict[str, str] | None:
    """Return why there are fewer free pages than wanted (fields of `Missing`), or None."""
    for wanted, size_kib, name, key in (
        (hugepages_2mi, 2048, "2 MiB", "hugepages_2mi"),
        (hugepages_1gi, 1048576, "1 GiB", "hugepages_1gi"),
    ):
        if wanted and free(size_kib) < wanted:
            return {
                "what": f"{wanted} hugepages of {name}",
                "reason": f"{free(size_kib)} are free",
                "mend": f"echo {wanted} > {_POOLS}/hugepages-{size_kib}kB/nr_hugepages, or {key}: 0",
            }
    return None


def mount(folder: Path, size: str) -> Path:
    """Mount a file system of hugepages of one size at a new folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    mounts.file_system(kind="hugetlbfs", target=str(folder), data=f"pagesize={size}")
    return folder


def unmount(folder: Path) -> None:
    """Take it away. Idempotent."""
    mounts.unmount(target=str(folder))


def set_aside(*, size_kib: int, pages: int) -> int:
    """Node function: ask the kernel for so many pages; returns how many there are then."""
    pool = _POOLS / f"hugepages-{size_kib}kB" / "nr_hugepages"
    if not pool.exists():
        return 0
    pool.write_text(str(pages))
    return int(pool.read_text())


def of_process(*, pid: int) -> dict[str, JsonValue]:
    """Node function: pages in use by size and NUMA node; empty `octets_by_node` where a kernel tells none."""
    try:
        return read_maps(Path(f"/proc/{pid}/numa_maps").read_text())
    except OSError:
        return {"hugepages": {}, "octets_by_node": {}}


def read_maps(said: str) -> dict[str, JsonValue]:
    """Read `/proc/<pid>/numa_maps`: hugepages by size, and octets of all pages by NUMA node."""
    hugepages: dict[str, int] = {}
    octets: dict[str, int] = {}
    for line in said.splitlines():
        size = _SIZE.search(line)
        page_kib = int(size[1]) if size else 4
        for node, pages in _ON_NODE.findall(line):
            octets[node] = octets.get(node, 0) + int(pages) * page_kib * 1024
            if " huge" in line:
                name = _NAMES.get(page_kib, f"{page_kib} KiB")
                hugepages[name] = hugepages.get(name, 0) + int(pages)
    return {"hugepages": hugepages, "octets_by_node": dict(sorted(octets.items()))}

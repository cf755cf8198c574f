"""Hugepages of a machine, and where the memory of a process lies as the kernel says: sizes, NUMA nodes."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from bmwg.drivers.api.protocols import JsonValue

_ON_NODE = re.compile(r" N(\d+)=(\d+)")
_SIZE = re.compile(r" kernelpagesize_kB=(\d+)")
_NAMES = {2048: "2 MiB", 1048576: "1 GiB"}
_POOLS, _NODES = Path("/sys/kernel/mm/hugepages"), Path("/sys/devices/system/node")


def pool(size_kib: int, numa_node: int | None = None) -> Path:
    """Return the kernel's folder of pages of a size: the machine's, or those of one NUMA node."""
    name = f"hugepages-{size_kib}kB"
    return _POOLS / name if numa_node is None else _NODES / f"node{numa_node}" / "hugepages" / name


def free(size_kib: int, numa_node: int | None = None) -> int:
    """Return how many pages of a size are free on this machine, or on one NUMA node of it; 0 without any."""
    with contextlib.suppress(OSError):
        return int((pool(size_kib, numa_node) / "free_hugepages").read_text())
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
    if hugepages_2mi and (large := free(1048576)):  # DPDK takes the largest first, whatever was meant
        return {
            "what": f"{hugepages_2mi} hugepages of 2 MiB for a vSwitch",
            "reason": f"{large} of 1 GiB are free, and DPDK in Open vSwitch takes those first",
            "mend": "hugepages_1gi, or a machine without free pages of 1 GiB",
        }
    return None


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

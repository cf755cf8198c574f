"""Memory of a run's processes, read from /proc."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path


def family(root: int) -> list[int]:
    """This process and all that descend from it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat[stat.rindex(")") + 2 :].split()[1])
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def resident_mib(root: int) -> dict[str, float]:
    """Resident memory of a runner and its children by role, and the proportional share of all together.

    By role, pages that processes share count in full in each.
    """
    roles: Counter[str] = Counter()
    for pid in family(root):
        try:
            name = (Path("/proc") / str(pid) / "comm").read_text().strip()
            rollup = (Path("/proc") / str(pid) / "smaps_rollup").read_text()
        except OSError:
            continue
        role = "tester" if name.startswith("bmwg-tester") else "runner" if pid == root else "agents"
        rss, pss = (int(re.search(rf"^{key}:\s+(\d+)", rollup, re.M)[1]) for key in ("Rss", "Pss"))  # type: ignore[index]
        roles[role] += rss
        roles["pss of all"] += pss
    return {role: round(kib / 1024, 1) for role, kib in sorted(roles.items())}

"""Reads what an Open vSwitch says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bmwg.drivers.api.protocols import JsonValue
from bmwg.methodology.answers.data_plane import EMC_HITS, MEGAFLOW_HITS, SIMPLE_HITS, SMC_HITS

CACHES = {  # by the switch's own words
    SIMPLE_HITS: "simple match",
    EMC_HITS: "emc",
    SMC_HITS: "smc",
    MEGAFLOW_HITS: "megaflow",
}


def pollers(said: str) -> list[dict[str, JsonValue]]:
    """Read what `dpif-netdev/pmd-rxq-show` says: a polling thread's CPU, NUMA node and receive queues."""
    found: list[dict[str, Any]] = []
    for line in said.splitlines():
        if thread := re.match(r"pmd thread numa_id (\d+) core_id (\d+):", line):
            found.append({"cpu": int(thread[2]), "numa_node": int(thread[1]), "isolated": None, "queues": []})
        elif isolated := re.match(r"\s+isolated : (true|false)", line):
            found[-1]["isolated"] = isolated[1] == "true"
        elif queue := re.match(r"\s+port: (\S+)\s+queue-id:\s+(\d+) \((\w+)\)", line):
            found[-1]["queues"].append(
                {"port": queue[1], "queue": int(queue[2]), "enabled": queue[3] == "enabled"}
            )
    return found


def upcalls(said: str) -> tuple[int, int] | None:
    """Read of `dpif-netdev/pmd-stats-show` the upcalls of all threads: done, failed; None: it says none."""
    done = re.findall(r"^\s*miss with success upcall: (\d+)$", said, re.MULTILINE)
    failed = re.findall(r"^\s*miss with failed upcall: (\d+)$", said, re.MULTILINE)
    return (sum(map(int, done)), sum(map(int, failed))) if done and len(done) == len(failed) else None


def hits(said: str) -> dict[str, int]:
    """Read of `dpif-netdev/pmd-stats-show` how many frames each cache knew; empty: it says none."""
    found = {
        name: re.findall(rf"^\s*{word} hits: (\d+)$", said, re.MULTILINE) for name, word in CACHES.items()
    }
    return {name: sum(map(int, counts)) for name, counts in found.items() if counts}


def received(said: str) -> int | None:
    """Read of `dpif-netdev/pmd-stats-show` the frames that all threads took; None: it says none."""
    found = re.findall(r"^\s*packets received: (\d+)$", said, re.MULTILINE)
    return sum(map(int, found)) if found else None


def matches(destinations: Sequence[str]) -> tuple[str, ...]:
    """Return what a flow matches beside its port, once for each destination prefix; once empty for none."""
    if not destinations:
        return ("",)
    return tuple(
        f",ipv6,ipv6_dst={destination}" if ":" in destination else f",ip,nw_dst={destination}"
        for destination in destinations
    )


def plain(value: Any) -> JsonValue:
    """Return a value of the database's wire format (RFC 7047 section 5.1) as plain data."""
    if isinstance(value, list) and value and value[0] == "map":
        return dict(value[1])
    if isinstance(value, list) and value and value[0] == "set":
        return value[1]
    return value

"""Cheap looks at the machine between trials: who took the CPUs, how fast they ran, what else was carried."""

from __future__ import annotations

import time
from typing import Any

from bmwg.drivers.platform_record.source import LocalSource
from bmwg.drivers.platform_record.values import JsonValue, Source, Unread, integer
from bmwg.drivers.watch import awake

_TICKS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def sample(source: Source | None = None) -> dict[str, JsonValue]:
    """Counters since boot, to be subtracted by `between`; about a millisecond of work, no process started.

    `ticks` is by CPU in units of 1/`ticks_per_s` s; `interfaces` counts frames of this network namespace;
    `frequency_khz` is what each CPU reports now, `latency_limit_us` what `drivers.awake` says is in force on
    this very machine. What cannot be read is left out, never 0.
    """
    import os

    eye = source or LocalSource()
    answer: dict[str, Any] = {
        "at": eye.now(),
        "monotonic_ns": time.monotonic_ns(),
        "ticks_per_s": os.sysconf("SC_CLK_TCK"),
    }
    for name, read in (
        ("ticks", _ticks),
        ("softnet", _softnet),
        ("interfaces", _interfaces),
        ("frequency_khz", _clocks),
    ):
        try:
            answer[name] = read(eye)
        except (OSError, Unread, ValueError, LookupError):
            continue
    if source is None and (limit_us := awake.limit_us()) is not None:
        answer["latency_limit_us"] = limit_us
    return answer


def _ticks(source: Source) -> dict[str, dict[str, int]]:
    rows = [row.split() for row in _now(source, "/proc/stat").splitlines() if row.startswith("cpu")]
    return {row[0][3:]: dict(zip(_TICKS, map(int, row[1:9]), strict=True)) for row in rows if row[0] != "cpu"}


def _softnet(source: Source) -> dict[str, dict[str, int]]:
    """Frames that found a full backlog, and polls that ran out of budget, by CPU."""
    found = {}
    for number, row in enumerate(_now(source, "/proc/net/softnet_stat").splitlines()):
        parts = row.split()
        cpu = str(int(parts[12], 16)) if len(parts) > 12 else str(number)
        found[cpu] = {"dropped": int(parts[1], 16), "squeezed": int(parts[2], 16)}
    return found


def _interfaces(source: Source) -> dict[str, dict[str, int]]:
    found = {}
    for row in _now(source, "/proc/net/dev").splitlines()[2:]:
        name, numbers = row.rsplit(":", 1)
        parts = numbers.split()
        found[name.strip()] = {"rx_frames": int(parts[1]), "tx_frames": int(parts[9])}
    return found


def _clocks(source: Source) -> dict[str, int]:
    found = {}
    for cpu in _ticks(source):
        try:
            text = _now(source, f"/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq")
        except OSError:
            continue
        found[cpu] = integer(text)
    if not found:
        raise Unread("no CPU reports its frequency")
    return found


def _now(source: Source, path: str) -> str:
    """A file as it is now: a source may keep the text of what it read before."""
    return source.read_bytes(path).decode("ascii", "replace")


def between(first: dict[str, JsonValue], second: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What happened from one sample to the next; pure.

    `steal_ns` and `softirq_ns` by CPU, `softnet` counts by CPU, `foreign_frames` by interface (both ways;
    lo left
    out), the lowest and highest frequency. A CPU or interface that is in one sample only, or whose counter
    ran backwards, is left out.
    """
    answer: dict[str, Any] = {"duration_ns": second["monotonic_ns"] - first["monotonic_ns"]}
    tick_ns = 1_000_000_000 // int(first["ticks_per_s"])
    pairs = _both(first, second, "ticks")
    for key in ("steal", "softirq"):
        gone = {cpu: new[key] - old[key] for cpu, old, new in pairs}
        answer[f"{key}_ns"] = {cpu: ticks * tick_ns for cpu, ticks in gone.items() if ticks >= 0}
    answer["softnet"] = {
        cpu: {key: new[key] - old[key] for key in old}
        for cpu, old, new in _both(first, second, "softnet")
        if all(new[key] >= old[key] for key in old)
    }
    carried = {
        name: sum(new.values()) - sum(old.values())
        for name, old, new in _both(first, second, "interfaces")
        if name != "lo"
    }
    answer["foreign_frames"] = {name: frames for name, frames in carried.items() if frames >= 0}
    clocks = [*first.get("frequency_khz", {}).values(), *second.get("frequency_khz", {}).values()]
    if clocks:
        answer["frequency_khz"] = {"lowest": min(clocks), "highest": max(clocks)}
    if "latency_limit_us" in first and "latency_limit_us" in second:
        answer["latency_limit_us"] = max(first["latency_limit_us"], second["latency_limit_us"])
    return answer


def _both(
    first: dict[str, Any], second: dict[str, Any], key: str
) -> list[tuple[str, dict[str, int], dict[str, int]]]:
    old, new = first.get(key, {}), second.get(key, {})
    return [(name, old[name], new[name]) for name in sorted(old.keys() & new.keys())]

"""Memory: size, modules, hugepages."""

from __future__ import annotations

import re
from typing import Any

from bmwg.drivers.platform_record.collectors.cpu import flags
from bmwg.drivers.platform_record.values import (
    Group,
    NotApplicable,
    Unread,
    entries,
    integer,
    key_values,
    text_or_none,
)

_TABLES = "/sys/firmware/dmi/tables/DMI"
_TYPES = {
    0x18: "DDR3",
    0x1A: "DDR4",
    0x1E: "LPDDR4",
    0x20: "HBM",
    0x21: "HBM2",
    0x22: "DDR5",
    0x23: "LPDDR5",
    0x07: "RAM",
}
_USAGE = {  # ltp-3.2.8
    "free": "MemFree",
    "active": "Active",
    "inactive": "Inactive",
    "buffers": "Buffers",
    "cached": "Cached",
    "swap_cached": "SwapCached",
    "swap_free": "SwapFree",
}
_HUGE = "/sys/kernel/mm/hugepages"
_NODES = "/sys/devices/system/node"


def memory(group: Group) -> None:
    """Sizes in octets; hugepages by size and node; modules from the SMBIOS tables."""
    group.file("total_octets", "/proc/meminfo", lambda text: _kib(text, "MemTotal") * 1024)
    group.file("available_octets", "/proc/meminfo", lambda text: _kib(text, "MemAvailable") * 1024)
    group.file("swap_octets", "/proc/meminfo", lambda text: _kib(text, "SwapTotal") * 1024)
    group.file("usage_octets", "/proc/meminfo", _usage)
    group.take("modules", "file", _TABLES, lambda: _modules(group))
    group.take("type", "file", _TABLES, lambda: _types(_modules(group)))
    group.take("channels", "file", _TABLES, lambda: _channels(_modules(group)))
    group.take(
        "hugepages", "file", f"{_HUGE}, {_NODES}/node*/hugepages", lambda: _hugepages(group, "nr_hugepages")
    )
    group.take(
        "hugepages_free",
        "file",
        f"{_HUGE}, {_NODES}/node*/hugepages",
        lambda: _hugepages(group, "free_hugepages"),
    )
    group.file(
        "transparent_hugepages",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        _chosen,
        absent="the kernel has no transparent hugepages",
    )
    group.file("same_page_merging", "/sys/kernel/mm/ksm/run", integer, absent="the kernel has no KSM")


def _usage(text: str) -> dict[str, int]:
    """How memory and swap were in use, octets; used is what could not be given out."""
    usage = {name: _kib(text, key) * 1024 for name, key in _USAGE.items()}
    used = {
        "used": (_kib(text, "MemTotal") - _kib(text, "MemAvailable")) * 1024,
        "swap_used": (_kib(text, "SwapTotal") - _kib(text, "SwapFree")) * 1024,
    }
    return usage | used


def _kib(text: str, key: str) -> int:
    return int(key_values(text)[key].removesuffix("kB"))


def _chosen(text: str) -> str:
    if not (match := re.search(r"\[(\S+)\]", text)):
        raise ValueError(f"no choice is marked in {text.strip()[:60]!r}")
    return match[1]


def _hugepages(group: Group, file: str) -> dict[str, Any]:
    """Pages by size, in all and on each node."""
    answer: dict[str, Any] = {}
    sizes = entries(group.source, _HUGE)
    if not sizes:
        raise NotApplicable("the kernel has no hugepages")
    for size in sizes:
        kib = int(size.removeprefix("hugepages-").removesuffix("kB"))
        counts = {"all": integer(group.source.read_file(f"{_HUGE}/{size}/{file}"))}
        for node in entries(group.source, _NODES):
            if text := text_or_none(group.source, f"{_NODES}/{node}/hugepages/{size}/{file}"):
                counts[node] = integer(text)
        answer[f"{kib}KiB"] = counts
    return answer


def _modules(group: Group) -> list[dict[str, Any]]:
    try:
        table = group.source.read_bytes(_TABLES)
    except FileNotFoundError:
        if "hypervisor" in flags(group):
            raise NotApplicable("not visible: the hypervisor shows its guest no memory modules") from None
        raise Unread("the kernel shows no SMBIOS tables") from None
    modules = memory_modules(table)
    if not modules:
        raise Unread("the SMBIOS tables name no memory module")
    return modules


def _types(modules: list[dict[str, Any]]) -> list[str]:
    """What the filled slots hold: of an empty one the firmware tells a type too, or that it is unknown."""
    filled = {str(module["type"]) for module in modules if module["size_mib"]}
    if not filled:
        raise Unread("the SMBIOS tables name no filled slot")
    return sorted(filled)


def _channels(modules: list[dict[str, Any]]) -> dict[str, Any]:
    """Which banks are filled, as the firmware names them: the closest to channels that SMBIOS has."""
    filled = sorted({module["bank"] for module in modules if module["size_mib"] and module["bank"]})
    if not filled:
        raise Unread("the firmware names no bank of a filled slot")
    return {"filled_banks": filled, "count": len(filled)}


def memory_modules(table: bytes) -> list[dict[str, Any]]:
    """Memory devices (type 17) of the SMBIOS structure table, empty slots with size 0.

    Offsets after the DMTF's SMBIOS reference specification, 7.18. Sizes in MiB, speeds in MT/s.
    """
    modules, at = [], 0
    while at + 4 <= len(table):
        kind, length = table[at], table[at + 1]
        if length < 4 or at + length > len(table):
            raise ValueError(f"structure at octet {at} has length {length}")
        end = table.find(b"\0\0", at + length)
        if end < 0:
            raise ValueError(f"structure at octet {at} has no end")
        if kind == 17 and length >= 0x17:
            modules.append(_module(table[at : at + length], table[at + length : end].split(b"\0")))
        if kind == 127:
            break
        at = end + 2
    return modules


def _module(body: bytes, strings: list[bytes]) -> dict[str, Any]:
    def text(offset: int) -> str | None:
        number = body[offset] if offset < len(body) else 0
        return (
            strings[number - 1].decode("ascii", "replace").strip() or None
            if 0 < number <= len(strings)
            else None
        )

    def word(offset: int, octets: int = 2) -> int:
        return int.from_bytes(body[offset : offset + octets], "little")

    size_mib = word(0x0C)
    if size_mib == 0x7FFF and len(body) >= 0x20:
        size_mib = word(0x1C, 4) & 0x7FFFFFFF
    elif size_mib == 0xFFFF:
        size_mib = 0
    elif size_mib & 0x8000:
        size_mib = (size_mib & 0x7FFF) // 1024
    return {
        "slot": text(0x10),
        "bank": text(0x11),
        "size_mib": size_mib,
        "type": _TYPES.get(body[0x12], f"type {body[0x12]:#04x}"),
        "speed_mtps": word(0x15) or None,
        "configured_mtps": (word(0x20) or None) if len(body) >= 0x22 else None,
        "rank": (body[0x1B] & 0x0F or None) if len(body) > 0x1B else None,
        "manufacturer": text(0x17) if len(body) > 0x17 else None,
        "part": text(0x1A) if len(body) > 0x1A else None,
    }

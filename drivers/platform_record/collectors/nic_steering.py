"""What a NIC's hardware does with frames before a queue has them, and its module: as ethtool tells.

Which queue a flow comes to follows from the hash, its key and its table (RSS) and from flow rules; two NICs
that differ in these are two devices under test.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from bmwg.drivers.platform_record.values import Group, NotApplicable, Unread, key_values

_HASHED = "udp4"  # of the frames that are sent (RFC 2544 appendix C)
_MODULE = {
    "identifier": "Identifier",
    "type": "Transceiver type",
    "vendor": "Vendor name",
    "part": "Vendor PN",
    "length_m": "Length (Copper)",
}
_RULES = re.compile(r"Total (\d+) rules")
_ROW = re.compile(r"\s*\d+:((?:\s+\d+)+)\s*")
_KEY = re.compile(r"(?:[0-9a-f]{2}:)+[0-9a-f]{2}")


def take(group: Group, name: str) -> None:
    """Take hash, flow rules and transceiver of a NIC."""
    questions: tuple[tuple[str, Callable[[str], Any], list[str]], ...] = (
        ("rss", rss, ["-x", name]),
        ("rss_fields", fields, ["-n", name, "rx-flow-hash", _HASHED]),
        ("flow_rules", rules, ["-n", name]),
        ("transceiver", module, ["-m", name]),
    )
    for field, read, words in questions:
        group.take(field, "command", f"ethtool {' '.join(words)}", partial(_told, group, read, words))


def _told(group: Group, read: Callable[[str], Any], words: list[str]) -> Any:
    try:
        return read(group.source.run(["ethtool", *words]))
    except Unread as error:
        if "not supported" in str(error).lower():
            raise NotApplicable("the driver tells nothing of it") from error
        raise


def rss(text: str) -> dict[str, Any]:
    """Read key and function of the receive hash, and how many entries of its table name each queue."""
    queues: dict[str, int] = {}
    for line in text.splitlines():
        if match := _ROW.fullmatch(line):
            for queue in match[1].split():
                queues[queue] = queues.get(queue, 0) + 1
    key = _KEY.search(text)
    functions = [line.split(":")[0].strip() for line in text.splitlines() if line.strip().endswith(": on")]
    if not queues and key is None:
        raise NotApplicable("the driver tells neither table nor key")
    return {
        "key": key[0] if key else None,
        "function": functions,
        "entries_by_queue": {queue: queues[queue] for queue in sorted(queues, key=int)},
    }


def fields(text: str) -> list[str]:
    """Read which fields of a frame the hash is made of."""
    found = [line.strip() for line in text.splitlines()[1:] if line.strip()]
    if not found:
        raise NotApplicable("the driver tells no fields")
    return found


def rules(text: str) -> int:
    """Read how many flow rules (ntuple) stand."""
    match = _RULES.search(text)
    if match is None:
        raise Unread(f"ethtool told no number of rules: {text.strip()[:80]}")
    return int(match[1])


def module(text: str) -> dict[str, str]:
    """Read which module a port holds; its serial number is left out."""
    told = key_values(text)
    found = {name: told[key] for name, key in _MODULE.items() if told.get(key)}
    if not found:
        raise NotApplicable("no module, or one that tells nothing")
    return found

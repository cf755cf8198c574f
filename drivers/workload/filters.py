"""Filters of RFC 2544 section 11.4 as an nftables rule set in a router's forwarding. Node functions.

The last rules let the test frames through, those before them block addresses that nobody sends, and all
else is dropped. Every rule counts. Ids: MOD-01 nft refused, MOD-02 no nft.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from bmwg.drivers.api.protocols import JsonValue, Missing
from bmwg.methodology.errors import DriverError, TestbedError

TABLE = "bmwg_filters"
MEND = "apt-get install nftables"
_DEADLINE_S = 10.0
_MATCHED, _DROPPED = "test frames", "all else"


def missing() -> Missing | None:
    """Return what this machine lacks for filters."""
    if shutil.which("nft") is None:
        return Missing(what="nft", reason="no `nft` in PATH", mend=MEND)
    return None


def rule_set(pairs: list[list[str]], rules: int) -> str:
    """Write the rule set: `rules` for each pair of source and destination address, the pair's own last."""
    lines = [
        f"table inet {TABLE} {{",
        " chain forward {",
        "  type filter hook forward priority 0; policy accept;",
    ]
    for number in range(1, rules):
        for family in sorted({_family(source) for source, _ in pairs}):
            near, far = (f"198.18.{64 + number}.9", f"198.19.{64 + number}.9")
            if family == "ip6":
                near, far = (f"2001:2:0:{0x40 + number:x}::9", f"2001:2:0:{0x80 + number:x}::9")
            lines.append(f"  {family} saddr {near} {family} daddr {far} counter drop")
    for source, destination in pairs:
        family = _family(source)
        match = f"{family} saddr {source} {family} daddr {destination}"
        lines.append(f'  {match} counter accept comment "{_MATCHED}"')
    lines += [f'  counter drop comment "{_DROPPED}"', " }", "}", ""]
    return "\n".join(lines)


def _family(address: str) -> str:
    return "ip6" if ":" in address else "ip"


def install(*, pairs: list[list[str]], rules: int) -> dict[str, JsonValue]:
    """Node function: load the rule set into this network namespace; returns it as evidence."""
    text = rule_set(pairs, rules)
    _nft("-f", "-", given=text)
    return {"rules": rules, "rule_set": text}


def remove() -> bool:
    """Node function: remove the rule set; `False` when there was none. Idempotent."""
    listed = json.loads(_nft("-j", "list", "tables"))["nftables"]
    if not any(entry.get("table", {}).get("name") == TABLE for entry in listed):
        return False
    _nft("delete", "table", "inet", TABLE)
    return True


def counts() -> dict[str, int]:
    """Node function: frames that the rules for the test frames let through, and frames dropped."""
    listed = json.loads(_nft("-j", "list", "table", "inet", TABLE))["nftables"]
    rules: list[dict[str, Any]] = [entry["rule"] for entry in listed if "rule" in entry]
    found = {"matched_frames": 0, "filtered_frames": 0}
    for rule in rules:
        packets = sum(part["counter"]["packets"] for part in rule["expr"] if "counter" in part)
        if rule.get("comment") == _MATCHED:
            found["matched_frames"] += packets
        elif rule.get("comment") == _DROPPED:
            found["filtered_frames"] += packets
    return found


def _nft(*arguments: str, given: str = "") -> str:
    try:
        done = subprocess.run(
            ["nft", *arguments], input=given, capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
    except FileNotFoundError as error:
        raise TestbedError("MOD-02", "filters need nftables", found="no `nft` in PATH", hint=MEND) from error
    except subprocess.TimeoutExpired as error:
        raise DriverError(
            "MOD-01", "nft", expected=f"an end within {_DEADLINE_S:g} s", found="none"
        ) from error
    if done.returncode != 0:
        raise DriverError(
            "MOD-01",
            f"nft {' '.join(arguments)}",
            expected="exit status 0",
            found=f"{done.returncode}: {done.stderr.strip()[:500]}",
        )
    return done.stdout

"""The upgrade map: lines of earlier versions of the journal's format, in the form of today.

A line is held against the schema of its own version, and its hash is that of its own text; only then is it
read by this map. Nothing is made up: what an earlier line does not say stays absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bmwg.methodology.records import UNNAMED

TRIAL_SCHEMAS: Mapping[str, str] = {"trial/1.0": "trial_1", "trial/2.0": "trial"}
_HOST = "host."


def of_today(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line of any version that is read in the form of trial/2.0."""
    upgrade = _UPGRADES.get(line["schema"])
    return line if upgrade is None else upgrade(line)


def _from_1(line: dict[str, Any]) -> dict[str, Any]:
    """A trial had one fault at most, and what the machine did stood among a tester's counters."""
    result = line["result"]
    counters = result["auxiliary"]
    body = {key: value for key, value in result.items() if key not in ("fault", "auxiliary")}
    body["auxiliary"] = {name: count for name, count in counters.items() if not name.startswith(_HOST)}
    return {
        **line,
        "kind": UNNAMED,
        "result": body,
        "faults": [] if result["fault"] is None else [result["fault"]],
        "host": {name: count for name, count in counters.items() if name.startswith(_HOST)},
    }


_UPGRADES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"trial/1.0": _from_1}

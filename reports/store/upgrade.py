"""The upgrade map: lines of earlier versions of the journal's format, in the form of today.

Every line has the first version yet, so the map is empty. A line is held against the schema of its own
version, and its hash is that of its own text; only then is it read by this map. Nothing is made up: what an
earlier line does not say stays absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Line = dict[str, Any]
TRIAL_SCHEMAS: Mapping[str, str] = {"trial/1.0": "trial"}  # version: name of its schema
UPGRADES: Mapping[str, Callable[[Line], Line]] = {}  # version: what gives a line the form of the next one


def of_today(line: Line) -> Line:
    """Return a line of any version that is read in the form of today."""
    while (upgrade := UPGRADES.get(line["schema"])) is not None:
        line = upgrade(line)
    return line

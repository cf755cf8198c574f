"""The version of the clause rules: a run keeps its own version's verdicts, and a page says which judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bmwg.methodology.answers.procedures import FIRST, RULES, version

RULES_VERSION = version(RULES)


def version_of(run: Mapping[str, Any] | None) -> int:
    """Return the version of the clause rules when a run was made; the first where its header names none."""
    recorded = (run or {}).get("procedures", {})
    return int(recorded.get(RULES, FIRST))


def later_rules(measured_under: int, judged_by: int = RULES_VERSION) -> str:
    """Return a sentence where a run was made under other rules than judge it here; empty otherwise."""
    if measured_under == judged_by:
        return ""
    return (
        f"the run was made under version {measured_under} of the clause rules; the verdicts here are by "
        f"version {judged_by}, and those of its own time stand in the report and bundle made then"
    )

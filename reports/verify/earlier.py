"""A bundle whose verdicts are by earlier clause rules keeps them: they are told, not held against ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bmwg.methodology.answers.procedures import FIRST
from bmwg.reports.checker.findings import shown
from bmwg.reports.checker.judge import Judgement


def by_earlier_rules(manifest: Mapping[str, Any], judgement: Judgement) -> list[str]:
    """Return what a manifest of an earlier version of the rules states, as notes; none where it is of ours.

    A manifest that claims earlier rules than its run was made under is no such one: whoever made it had the
    later rules, and its verdicts must be theirs.
    """
    stated = manifest.get("rules_version", FIRST)
    if stated >= judgement.rules_version or stated < judgement.measured_under:
        return []
    tally = Counter(entry["verdict"] for entry in manifest["verdicts"])
    counted = ", ".join(f"{count} {shown(name)}" for name, count in sorted(tally.items())) or "none"
    notes = [
        f"the bundle's own verdicts were judged by rules of version {stated}, which this toolkit does not "
        f"hold: {counted}; those below are by version {judgement.rules_version}"
    ]
    graded = [grade for grade in manifest["grades"] if not grade["counts"] or "compliant" in grade["grade"]]
    notes += [
        f"judged by rules of version {stated}: {shown(one['document'])} {shown(one['benchmark'])}: "
        f"{shown(one['grade'])}"
        for one in graded
        if one["grade"] != "not assessed"
    ]
    return notes

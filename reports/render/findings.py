"""What was found of the machine before and during a run, and what was declared to be done otherwise."""

from __future__ import annotations

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.checker.deviations import Declared, declared
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import NONE, esc, table, title


def doctor(facts: Facts) -> list[str]:
    """Return what the doctor found before each suite, each finding once; nothing of a run without a look."""
    looks = facts.run.doctor
    if not looks:
        return []
    found: dict[tuple[str, str], list[str]] = {}
    said: dict[tuple[str, str], list[str]] = {}
    for look in looks:
        for one in look["findings"]:
            key = (one["finding_id"], one["what"])
            said[key] = [
                esc(one["finding_id"]),
                esc(one["weight"]),
                esc(one["what"]),
                esc(one["breaks"]),
                esc(one["mend"]),
            ]
            found.setdefault(key, []).append(look["suite"])
    lines = title("What the doctor found before the run", 1)
    if not said:
        suites = ", ".join(dict.fromkeys(look["suite"] for look in looks))
        return [*lines, esc(f"Nothing that blocks or distorts, before {suites}."), ""]
    rows = [[*said[key], esc(", ".join(dict.fromkeys(found[key])))] for key in sorted(said)]
    head = ["finding", "weight", "what", "what it breaks", "what mends it", "before suite"]
    return [*lines, *table(head, rows, f"{len(rows)} findings")]


def drift(facts: Facts) -> list[str]:
    """Return each change of the platform during the run, with the answers that it made invalid."""
    rows = [
        [
            esc(entry["at"]),
            esc(entry["deployment"] or NONE),
            esc(change["path"]),
            esc(change["before"]),
            esc(change["after"]),
            esc(", ".join(entry["outcomes"]) or "none"),
        ]
        for entry in facts.run.drift
        for change in entry["changes"]
    ]
    if not rows:
        return []
    head = ["noticed", "deployment", "field", "before", "after", "answers that it makes invalid"]
    return [*title("Changes of the platform during the run", 1), *table(head, rows, f"{len(rows)} changes")]


def deviations(facts: Facts) -> list[str]:
    """Return each declared deviation with its clause: the profile's, and those of the run's own file."""
    lines = title("Declared deviations", 1)
    entries, wrong = _declared(facts)
    if wrong:
        lines += ["", esc(f"The declarations were refused ({wrong}): `bmwg verify` says why."), ""]
    if not entries:
        return [*lines, esc(f"Profile {facts.run.profile['name']} declares no deviation."), ""]
    rows = [
        [esc(one.requirement or NONE), esc(one.what or NONE), esc(one.why or NONE), esc(one.by)]
        for one in entries
    ]
    head = ["requirement", "what differs", "why", "declared by"]
    return [*lines, *table(head, rows, f"{len(rows)} deviations")]


def _declared(facts: Facts) -> tuple[tuple[Declared, ...], str]:
    """Return the declarations; where they are refused, the profile's as they stand, and the error's id."""
    profile = facts.run.profile
    try:
        return declared(FolderFiles(facts.run.folder), {"profile": profile}), ""
    except ToolkitError as error:  # its text names the folder, which is not the run's
        return tuple(
            Declared(
                requirement=str(entry.get("requirement", "")),
                what=str(entry.get("what", "")),
                why=str(entry.get("why", "")),
                by=f"profile {profile['name']}",
            )
            for entry in profile["deviations"]
        ), error.error_id

"""What was declared to be done otherwise than a clause asks: by the profile, and for this one run."""

from __future__ import annotations

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.checker.deviations import Declared, declared
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import NONE, esc, table, title
from bmwg.reports.store import loads


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
    run = facts.run
    header = {"testbed": run.testbed, "profile": run.profile, "medium": {}, loads.KEY: run.loads}
    try:
        return declared(FolderFiles(run.folder), header), ""
    except ToolkitError as error:  # its text names the folder, which is not the run's
        return tuple(
            Declared(
                requirement=str(entry.get("requirement", "")),
                what=str(entry.get("what", "")),
                why=str(entry.get("why", "")),
                by=f"profile {profile['name']}",
            )
            for profile in (run.of_load(load).profile for load in run.kinds)
            for entry in profile["deviations"]
        ), error.error_id

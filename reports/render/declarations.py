"""What was declared to be done otherwise than a clause asks: by the profile, and for this one run."""

from __future__ import annotations

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.checker.deviations import Declared, declared
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import NONE
from bmwg.reports.store import loads


def deviations(facts: Facts) -> list[Block]:
    """Return each declared deviation with its clause: the profile's, and those of the run's own file."""
    lines = title("Declared deviations")
    entries, wrong = _declared(facts)
    if wrong:
        lines += paragraph(f"The declarations were refused ({wrong}): `bmwg verify` says why.")
    if not entries:
        return [*lines, *paragraph(f"Profile {facts.run.profile['name']} declares no deviation.")]
    rows = [[one.requirement or NONE, one.what or NONE, one.why or NONE, one.by] for one in entries]
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

"""What was declared to be done otherwise than a clause asks: by the profile, and for this one run."""

from __future__ import annotations

from bmwg.methodology.errors import ToolkitError
from bmwg.reports.checker.deviations import Declared, declared
from bmwg.reports.checker.judge import Judgement
from bmwg.reports.checker.source import FolderFiles
from bmwg.reports.checker.verdicts import Verdict
from bmwg.reports.render.blocks import Block, paragraph, table, title
from bmwg.reports.render.facts import Facts
from bmwg.reports.render.text import NONE, number_of
from bmwg.reports.store import loads


def deviations(facts: Facts) -> list[Block]:
    """Return each declared deviation from a clause that the run touches; the others by their ids alone."""
    lines = title("Declared deviations")
    entries, wrong = _declared(facts)
    if wrong:
        lines += paragraph(f"The declarations were refused ({wrong}): `bmwg verify` says why.")
    if not entries:
        return [*lines, *paragraph(f"Profile {facts.run.profile['name']} declares no deviation.")]
    apart = _untouched(facts.judgement)
    touched = [entry for entry in entries if entry.requirement not in apart]
    rows = [[one.requirement or NONE, one.what or NONE, one.why or NONE, one.by] for one in touched]
    head = ["requirement", "what differs", "why", "declared by"]
    lines += table(head, rows, number_of(len(rows), "deviation") + " from clauses that this run touches")
    if others := list(dict.fromkeys(one.requirement for one in entries if one.requirement in apart)):
        lines += paragraph(f"Declared as well, of clauses that this run does not touch: {', '.join(others)}.")
    return lines


def _untouched(judgement: Judgement | str | None) -> set[str]:
    """Return the clauses of which no rule found anything in this run that it applies to."""
    if not isinstance(judgement, Judgement):
        return set()
    silent = (Verdict.NOT_APPLICABLE, Verdict.NOT_ASSESSED)
    touched = {verdict.requirement for verdict in judgement.verdicts if verdict.original not in silent}
    return {clause_verdict.requirement for clause_verdict in judgement.verdicts} - touched


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

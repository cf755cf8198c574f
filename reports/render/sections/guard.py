"""The state of the platform in a report: what the doctor found, what changed, what the records answer."""

from __future__ import annotations

from collections.abc import Collection

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds import registry
from bmwg.methodology.plan import planning
from bmwg.methodology.record.coverage import Answer, coverage, run_records
from bmwg.methodology.record.drift import run_drift
from bmwg.methodology.record.facts import below
from bmwg.methodology.records import Cell
from bmwg.methodology.trial import keep_awake
from bmwg.reports.render.blocks import Block, Part, Rich, fold, paragraph, table, title
from bmwg.reports.render.text import plain, whole
from bmwg.reports.store.read import Run

_MAX_ROWS = 40  # choice: what a reader looks through; the rest stands in platform.json


def section(run: Run) -> list[Block]:
    """Return the section; a run from before the doctor looked says so."""
    lines = title("State of the platform")
    if not run.platform or "base" not in run.platform:
        return [*lines, *paragraph("The run holds no platform record.")]
    return [*lines, *_order(run), *_awake(run), *_doctor(run), *_drift(run)]


def coverage_section(run: Run) -> list[Block]:
    """Return how many configuration rows the records answer; nothing for a run without records."""
    told = _coverage(run) if run.platform and "base" in run.platform else []
    return [*title("Configuration rows"), *told] if told else []


def _order(run: Run) -> list[Block]:
    """In which order each kind of load was measured; a run from before that drew none."""
    if run.order_seed is None:
        return []
    planned: dict[str, list[Cell]] = {}
    for cell in run.plan:
        planned.setdefault(cell.cell.kind, []).append(cell.cell)
    lines: list[Block] = []
    for name, cells in planned.items():
        if said := _order_of(run.of_load(name), run.order_seed, name, cells):
            sentence = f"{f'Of {name}, ' if len(planned) > 1 else ''}{said}."
            lines += paragraph(sentence[:1].upper() + sentence[1:])
    return lines


def _order_of(run: Run, seed: int, kind: str, cells: Collection[Cell]) -> str:
    if registry.plans_itself(kind):
        return registry.kind(kind, f"run {run.run_id}").order_seed_text(run.profile, cells, seed)
    return planning.order_seed_text(seed)


def _awake(run: Run) -> list[Block]:
    """What kept CPUs from halting: it is part of what was measured. A run from before that has nothing."""
    told = below(run.platform_before, "fields", "power", "kept_awake", "value")
    if told is None:
        return []
    said = plain(f"While this run measured, {keep_awake.sentence(told)}.")
    needs = Part(text=f"{said} A device that is to be measured with its sleep states needs ")
    there = Part(text=" in the profile.")
    return paragraph(Rich(needs, Part(text="keep_awake: none", role="command"), there))


def _doctor(run: Run) -> list[Block]:
    looks = run.platform.get("doctor", ())
    if not looks:
        return paragraph("The doctor did not look before this run.")
    suites: dict[tuple[str, str, str, str], list[str]] = {}
    for look in looks:
        for found in look["findings"]:
            key = (found["finding_id"], found["weight"], found["what"], found["breaks"])
            suites.setdefault((key[0], key[1], key[2], key[3]), []).append(look["suite"])
    if not suites:
        return paragraph(f"The doctor looked before each suite ({whole(len(looks))}) and found nothing.")
    rows = [
        [finding_id, weight, what, breaks, ", ".join(dict.fromkeys(named))]
        for (finding_id, weight, what, breaks), named in suites.items()
    ]
    head = ["finding", "weight", "what was found", "what it breaks", "before suite"]
    times = "once" if len(looks) == 1 else f"{len(looks)} times"
    return table(head, rows, f"What the doctor found; it looked {times}")


def _drift(run: Run) -> list[Block]:
    lines = []
    rows = [
        [change["path"], change["before"], change["after"], _touched(entry["outcomes"])]
        for entry in run.platform.get("drift", ())
        for change in entry["changes"]
    ]
    if rows:
        head = ["what changed", "before", "after", "invalid by it"]
        lines += table(head, rows[:_MAX_ROWS], "The platform changed during the run")
        if len(rows) > _MAX_ROWS:
            lines += paragraph(f"{whole(len(rows) - _MAX_ROWS)} more changes stand in platform.json.")
    elif "drift" in run.platform:
        lines += paragraph("Between the cells nothing on the machine or its deployments changed.")
    try:
        whole_run = run_drift(run.platform)
    except (ToolkitError, KeyError, TypeError, AttributeError):
        return lines
    if whole_run:
        head = ["what changed", "before", "after"]
        rows = [[change.path, change.before, change.after] for change in whole_run]
        lines += table(head, rows[:_MAX_ROWS], "Between the records before and after the run")
    return lines


def _touched(outcomes: list[str]) -> str:
    return ", ".join(outcomes) if outcomes else "no answer: it was between two deployments"


def _coverage(run: Run) -> list[Block]:
    records = run_records(run.platform)
    if not records:
        return []
    try:
        score = coverage(records)
    except (KeyError, TypeError, AttributeError):
        return paragraph("The platform records cannot be scored: they are not in the form of this version.")
    lines = paragraph(
        f"Of {whole(len(score.rows))} configuration rows of RFC 8172, RFC 8204 and "
        f"draft-ietf-bmwg-containerized-infra the records answer {whole(score.count(Answer.ANSWERED))}; "
        f"{whole(score.count(Answer.NOT_APPLICABLE))} are not applicable, with the reason, and "
        f"{whole(score.count(Answer.MISSING))} are missing."
    )
    rows = [[row.row, gap.path, gap.reason, gap.supply] for row in score.rows for gap in row.gaps]
    if rows:
        head = ["row", "fact", "why it is missing", "how it is supplied"]
        lines += fold("Missing rows", table(head, rows[:_MAX_ROWS]))
    return lines

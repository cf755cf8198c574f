"""What must hold of trials of other kinds of load than frames: planned whole, run as planned, answered.

Each kind says for itself what its profile plans and what its trials answer (`methodology.kinds`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Kind
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import FRAMES, Outcome, OutcomeType
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.store.former_http import FILES


def _kind(evidence: Evidence) -> Kind | None:
    """Return the kind of load of a run that can be read, unless it is frames."""
    if evidence.run is None or evidence.of_frames:
        return None
    kind = kinds.kind(evidence.load, "run.json")
    return None if kind.wrong_profile(evidence.run["profile"]) else kind


@rule("VER-15", "", "a run of requests keeps them where its version keeps them")
def files_of_version(evidence: Evidence) -> Iterator[Shortfall]:
    """Files of their own stand in runs of requests from before the one journal, both, and in no other run."""
    if evidence.run is None:
        return
    wanted = not evidence.of_frames and evidence.run["schema"] == "run/1.0"
    for name in FILES:
        if evidence.files.has(name) is not wanted:
            expected = "the files of HTTP experiments" if wanted else "none: nothing of this run stands there"
            yield name, expected, "missing" if wanted else "such a file"


@rule("VER-17", "", "a run planned whole tests of its profile, with the profile's numbers")
def plan_of_profile(evidence: Evidence) -> Iterator[Shortfall]:
    """Each planned cell is the profile's, once; a test that was chosen has all its cells."""
    kind = _kind(evidence)
    if kind is None or evidence.run is None:
        return
    mine = [one for one in evidence.plan if one.cell.kind == kind.name]
    if evidence.former is None and evidence.run["schema"] == "run/1.0":
        return  # its files of their own cannot be read, which is told
    if not mine:
        yield "run.json: plan", "the plan of this run", "none"
    whole = kind.plan(evidence.run["profile"])
    seen: Counter[tuple[str, str, object]] = Counter()
    for one in mine:
        entry = (one.test_id, one.metric, one.cell)
        if entry not in whole:
            yield (
                "run.json: plan",
                "a cell of the profile, under its test",
                f"{one.test_id} {one.cell.cell_id}",
            )
        seen[entry] += 1
    tests = {one.test_id for one in mine}
    for entry in whole:
        if entry[0] in tests and seen[entry] != 1:
            yield entry[2].cell_id, f"once in the plan, like all of {entry[0]}", f"{seen[entry]} times"
    if evidence.former is not None:
        yield from evidence.former.not_of_profile(evidence.run["profile"])


@rule("VER-18", "", "each trial is of a planned cell and asks for what is planned")
def trials_of_plan(evidence: Evidence) -> Iterator[Shortfall]:
    """Each trial is of a planned cell, as its profile asks; a cell that was not tried has none."""
    kind = _kind(evidence)
    if kind is None or evidence.run is None:
        return
    planned = {one.cell.cell_id for one in evidence.plan}
    for one in evidence.executions:
        where = f"trial {one.seq}"
        if one.body.kind != kind.name:
            yield where, f"a trial of {kind.name}, as the profile asks for", one.body.kind
        elif one.cell_id not in planned:
            yield where, "a cell that the run planned", one.cell_id
        elif (differs := kind.not_as_planned(evidence.run["profile"], one)) is not None:
            yield where, *differs
    tried = Counter(one.cell_id for one in evidence.executions)
    for outcome in evidence.outcomes:
        untried = outcome.type is OutcomeType.NOT_ASSESSED and outcome.cell.kind != FRAMES
        if untried and (count := tried[outcome.cell.cell_id]):
            yield outcome.outcome_id, "no trial of a cell that was not tried", str(count)


@rule("VER-16", "", "each answer of another kind of load than frames follows from its trials")
def answers_follow(evidence: Evidence) -> Iterator[Shortfall]:
    """Compute every answer anew by its kind, and compare all that it says."""
    kind = _kind(evidence)
    for outcome in evidence.outcomes:
        if outcome.cell.kind == FRAMES:
            continue
        if kind is None or outcome.cell.kind != kind.name:
            yield outcome.outcome_id, "a profile by which it can be computed", "none"
        elif evidence.whole_journal:
            yield from _contradictions(evidence, kind, outcome)


def _contradictions(evidence: Evidence, kind: Kind, outcome: Outcome) -> Iterator[Shortfall]:
    where, run = outcome.outcome_id, evidence.run
    mine = [one for one in evidence.executions if one.cell_id == outcome.cell.cell_id]
    platform = evidence.platform or {}
    names = (where, outcome.cell.cell_id) if evidence.former is not None else (where,)
    changes = tuple(change for name in names for change in named_drift(platform, name))
    try:
        computed = kind.answer(run["profile"] if run else {}, outcome, mine, changes)
    except (ToolkitError, ValueError, KeyError, TypeError, ArithmeticError) as error:
        yield where, "trials that the procedure can be run over", f"{type(error).__name__}: {error}"
        return
    faulty = any(one.body.faults for one in mine)  # their texts were redacted in the journal
    for name in ("outcome_id", "metric", "type", "values", "trials", "statement", "reason", "quality"):
        expected, found = getattr(computed, name), getattr(outcome, name)
        if expected != found and not (name == "reason" and faulty):
            yield f"{where}: {name}", str(expected) or "none", str(found) or "none"
    if outcome.lower or outcome.upper:
        yield where, "no bound in frames/s", "one"


RULES: tuple[Rule[Evidence], ...] = (files_of_version, plan_of_profile, trials_of_plan, answers_follow)

"""What must hold of trials of other kinds of load than frames: planned whole, run as planned, answered.

Each kind says for itself what its profile plans and what its trials answer (`methodology.kinds`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bmwg.methodology.errors import ToolkitError
from bmwg.methodology.kinds import registry as kinds
from bmwg.methodology.kinds.kind import Kind
from bmwg.methodology.record.drift import named_drift
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
from bmwg.reports.store import loads

Profile = Mapping[str, Any]


def _kinds(evidence: Evidence) -> dict[str, tuple[Kind, Profile]]:
    """Return the kinds of load of a run by name, frames aside, with those profiles that can be read."""
    found = {}
    for name in evidence.loads if evidence.run is not None else ():
        if name not in kinds.kinds():
            continue
        kind, profile = kinds.kinds()[name], loads.said_of(evidence.run or {}, name)["profile"]
        if not kind.wrong_profile(profile):
            found[name] = (kind, profile)
    return found


@rule("VER-17", "", "a run planned whole tests of its profile, with the profile's numbers")
def plan_of_profile(evidence: Evidence) -> Iterator[Shortfall]:
    """Each planned cell is the profile's, once; a test that was chosen has all its cells."""
    if evidence.run is None:
        return
    for kind, profile in _kinds(evidence).values():
        yield from _of_profile(evidence, kind, profile)


def _of_profile(evidence: Evidence, kind: Kind, profile: Profile) -> Iterator[Shortfall]:
    mine = [planned_cell for planned_cell in evidence.plan if planned_cell.cell.kind == kind.name]
    if not mine:
        yield "run.json: plan", "the plan of this run", "none"
    whole = kind.plan(profile)
    seen: Counter[tuple[str, str, object]] = Counter()
    for cell in mine:
        entry = (cell.test_id, cell.metric, cell.cell)
        if entry not in whole:
            yield (
                "run.json: plan",
                "a cell of the profile, under its test",
                f"{cell.test_id} {cell.cell.cell_id}",
            )
        seen[entry] += 1
    tests = {one.test_id for one in mine}
    for entry in whole:
        if entry[0] in tests and seen[entry] != 1:
            yield entry[2].cell_id, f"once in the plan, like all of {entry[0]}", f"{seen[entry]} times"


@rule("VER-18", "", "each trial is of a planned cell and asks for what is planned")
def trials_of_plan(evidence: Evidence) -> Iterator[Shortfall]:
    """Each trial is of a planned cell, as its profile asks; a cell that was not tried has none."""
    known = _kinds(evidence)
    if not known:
        return
    planned = {(cell.cell.kind, cell.cell.cell_id) for cell in evidence.plan}
    for execution in evidence.executions:
        where, name = f"trial {execution.seq}", execution.body.kind
        if name not in known:
            yield where, f"a trial of {' or '.join(known)}, as the profile asks for", name
        elif (name, execution.cell_id) not in planned:
            yield where, "a cell that the run planned", execution.cell_id
        elif (differs := known[name][0].not_as_planned(known[name][1], execution)) is not None:
            yield where, *differs
    tried = Counter(one.cell_id for one in evidence.executions)
    for outcome in evidence.outcomes:
        untried = outcome.type is OutcomeType.NOT_ASSESSED and kinds.plans_itself(outcome.cell.kind)
        if untried and (count := tried[outcome.cell.cell_id]):
            yield outcome.outcome_id, "no trial of a cell that was not tried", str(count)


@rule("VER-16", "", "each answer of another kind of load than frames follows from its trials")
def answers_follow(evidence: Evidence) -> Iterator[Shortfall]:
    """Compute every answer anew by its kind, and compare all that it says."""
    known = _kinds(evidence)
    for outcome in evidence.outcomes:
        if not kinds.plans_itself(outcome.cell.kind):
            continue
        if outcome.cell.kind not in known:
            yield outcome.outcome_id, "a profile by which it can be computed", "none"
        elif evidence.whole_journal:
            yield from _contradictions(evidence, *known[outcome.cell.kind], outcome)


def _contradictions(
    evidence: Evidence, kind: Kind, profile: Profile, outcome: Outcome
) -> Iterator[Shortfall]:
    where = outcome.outcome_id
    mine = [one for one in evidence.executions if one.cell_id == outcome.cell.cell_id]
    platform = evidence.platform or {}
    changes = named_drift(platform, where)
    try:
        computed = kind.answer(profile, outcome, mine, changes)
    except (ToolkitError, ValueError, KeyError, TypeError, ArithmeticError) as error:
        yield where, "trials that the procedure can be run over", f"{type(error).__name__}: {error}"
        return
    faulty = any(execution.body.faults for execution in mine)  # their texts were redacted in the journal
    for name in ("outcome_id", "metric", "type", "values", "trials", "statement", "reason", "quality"):
        expected, found = getattr(computed, name), getattr(outcome, name)
        if expected != found and not (name == "reason" and faulty):
            yield f"{where}: {name}", str(expected) or "none", str(found) or "none"
    if outcome.lower or outcome.upper:
        yield where, "no bound of a search by frames", "one"


RULES: tuple[Rule[Evidence], ...] = (plan_of_profile, trials_of_plan, answers_follow)

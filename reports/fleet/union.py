"""What the runs of a fleet are together: which shard is answered by which run, and what is wrong with that.

Ids of rules: FLT-01 a shard without a complete run, FLT-02 more than one, FLT-03 a run that is not what the
plan says, FLT-04 a run of another fleet, or one that cannot be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bmwg.reports.checker.documents import Grade
from bmwg.reports.checker.findings import Finding
from bmwg.reports.fleet.attempts import Attempt, Found, attempts_in
from bmwg.reports.fleet.kept import Verified, verified
from bmwg.reports.fleet.plan import Fleet

_ORDER = (  # of grades, the worst first; what a run does not hold says nothing
    "not graded",
    "not compliant",
    "incomplete",
    "conditionally compliant",
    "unconditionally compliant",
)
_VERDICTS = ("not_met", "deviated", "not_assessed", "met", "not_applicable")  # the worst first


@dataclass(frozen=True, slots=True, kw_only=True)
class Union:
    """The runs that count, by shard, and what is wrong. `alone` names runs of no fleet, which is no fault.

    Of several complete runs the first attempt counts: nobody chooses among them, and all are named.
    """

    fleet: Fleet
    found: Found
    counting: Mapping[int, Attempt]
    problems: tuple[Finding, ...]
    alone: tuple[str, ...]


def union_of(results: Path, fleet: Fleet) -> Union:
    """Look at the runs of a folder, as folders or bundles; none is verified."""
    found = attempts_in(results, fleet, bundles=True)
    counting = {one.number: done[0] for one in fleet.shards if (done := found.complete(one.number))}
    problems = []
    for shard in fleet.shards:
        done = found.complete(shard.number)
        if not done:
            said = ", ".join(f"{attempt.run_id} {_words(attempt)}" for attempt in found.of(shard.number))
            problems.append(_problem("FLT-01", f"shard {shard.number}", "a complete run", said or "none"))
        if len(done) > 1:
            said = ", ".join(f"{one.run_id} (attempt {one.attempt})" for one in done)
            problems.append(_problem("FLT-02", f"shard {shard.number}", "one complete run", said))
    problems += [
        _problem("FLT-03", f"run {one.run_id}", f"shard {one.shard} of the plan", one.wrong)
        for one in found.attempts
        if one.wrong
    ]
    problems += [
        _problem("FLT-04", "results", "runs of this fleet that can be read", line)
        for line in found.others
        if not line.endswith(_OWN)
    ]
    return Union(
        fleet=fleet,
        found=found,
        counting=counting,
        problems=tuple(problems),
        alone=tuple(line for line in found.others if line.endswith(_OWN)),
    )


_OWN = "of no fleet"


def _words(attempt: Attempt) -> str:
    return f"{attempt.status}, {attempt.answers} of {attempt.planned} answers"


def _problem(rule_id: str, where: str, expected: str, found: str) -> Finding:
    return Finding(rule_id=rule_id, clause="", where=where, expected=expected, found=found)


def verify_union(union: Union) -> dict[int, Verified]:
    """Verify each run that counts, by shard; what was verified before is not verified again."""
    return {
        number: verified(one.place, union.fleet.shard(number).tests) for number, one in union.counting.items()
    }


def is_whole(fleet: Fleet, made: Mapping[int, Verified]) -> bool:
    """Whether each shard has a complete run that verifies."""
    return all(one.number in made and not made[one.number].findings for one in fleet.shards)


def grades_of(made: Mapping[int, Verified], *, whole: bool) -> dict[tuple[str, str], str]:
    """Return the grade of each benchmark over all shards: the worst of those that have answers of it.

    Its tests are whole in one shard each, so all of its answers are judged, and none twice. While a shard is
    open or rejected (not `whole`), any benchmark may lack answers: no grade is better than incomplete.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for one in made.values():
        for document, benchmark, grade in one.grades:
            if grade in _ORDER:
                found.setdefault((document, benchmark), []).append(grade)
    least = [] if whole else [Grade.INCOMPLETE.value]
    return {key: min([*grades, *least], key=_ORDER.index) for key, grades in sorted(found.items())}


def verdicts_of(made: Mapping[int, Verified]) -> Counter[str]:
    """Count the verdicts on clauses over all shards: of each clause of a benchmark the worst."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in made.values():
        for benchmark, requirement, verdict in one.verdicts:
            found.setdefault((benchmark, requirement), []).append(verdict)
    return Counter(min(said, key=_VERDICTS.index) for said in found.values())

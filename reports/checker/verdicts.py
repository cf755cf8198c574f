"""A verdict on a clause, and how a rule comes to one: what the procedure was, never how good the value is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from bmwg.methodology.errors import ToolkitBug
from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import UNNAMED, Outcome
from bmwg.methodology.requirements.rows import Basis, Level, Requirement, VerdictBasis, requirement
from bmwg.reports.checker.evidence import Evidence, Trial

UNNAMED_LOAD = frozenset({UNNAMED})  # rows of the catalogue that name no kind of load are of network devices
EVERY_LOAD = None
_DEMANDS = (Level.MUST, Level.MUST_NOT, Level.SHOULD, Level.SHOULD_NOT)


class Verdict(StrEnum):
    """Whether a procedure met a clause's text (design decision 6)."""

    MET = "met"
    NOT_MET = "not_met"
    NOT_APPLICABLE = "not_applicable"
    NOT_ASSESSED = "not_assessed"
    DEVIATED = "deviated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a clause is judged on: one benchmark's outcomes that were tried, and their trials.

    A run of another kind of load than frames has neither: see `evidence.executions`.
    """

    evidence: Evidence
    benchmark: str
    outcomes: tuple[Outcome, ...]
    trials: tuple[Trial, ...]

    @property
    def run(self) -> Mapping[str, Any]:
        """The run's header and answers as data. Raises ToolkitBug VER-26 where there is none to judge."""
        if self.evidence.run is None:
            raise ToolkitBug("VER-26", "a clause was judged", expected="a run that can be read", found="none")
        return self.evidence.run

    @property
    def profile(self) -> Profile:
        """The profile of a run of frames. Raises ToolkitBug VER-26: no other kind of load has one."""
        if self.evidence.profile is None:
            raise ToolkitBug(
                "VER-26", "a clause of frames was judged", expected="a profile of frames", found="none"
            )
        return self.evidence.profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one rule says to one clause, and on what that rests."""

    verdict: Verdict
    expected: str
    found: str
    basis: VerdictBasis = VerdictBasis.MEASURED


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRule:
    """The rule of one catalogue row; `benchmarks` empty stands for all of the document.

    `loads` are the kinds of load whose runs it can judge (None: every kind).
    """

    requirement: str
    benchmarks: tuple[str, ...]
    check: Callable[[Scope], Answer]
    loads: frozenset[str] | None = UNNAMED_LOAD

    def judges(self, load: str) -> bool:
        """Whether it can judge runs of a kind of load."""
        return self.loads is None or load in self.loads


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseVerdict:
    """The verdict on one row for one benchmark. `original` is what it was before a declaration counted.

    `basis` is on what it rests; None where nothing was assessed.
    """

    requirement: str
    benchmark: str
    verdict: Verdict
    original: Verdict
    declared: bool
    expected: str
    found: str
    basis: VerdictBasis | None = VerdictBasis.MEASURED

    @property
    def row(self) -> Requirement:
        """The catalogue row."""
        return requirement(self.requirement)

    @property
    def failed(self) -> bool:
        """Whether the text was not kept, declared or not; a declaration never mends a MUST."""
        return Verdict.NOT_MET in (self.verdict, self.original) or self.verdict is Verdict.DEVIATED


def clause(
    row: str, *benchmarks: str, loads: frozenset[str] | None = UNNAMED_LOAD
) -> Callable[[Callable[[Scope], Answer]], ClauseRule]:
    """Make a function the rule of a row, which `table` finds in its module.

    Without `loads` it judges runs of frames alone; `EVERY_LOAD` is for a row that asks of every run.
    """

    def made(check: Callable[[Scope], Answer]) -> ClauseRule:
        return ClauseRule(requirement=row, benchmarks=benchmarks, check=check, loads=loads)

    return made


def held(condition: bool, expected: str, found: str) -> Answer:
    """Return met or not met."""
    return Answer(verdict=Verdict.MET if condition else Verdict.NOT_MET, expected=expected, found=found)


def by_declaration(condition: bool, expected: str, found: str) -> Answer:
    """Return met or not met as a person said it; only a row of that basis lets it count."""
    return replace(held(condition, expected, found), basis=VerdictBasis.DECLARED)


def by_construction(expected: str, found: str, *, condition: bool = True) -> Answer:
    """Return met, or not, because the code can do no other; only a row of that basis lets it count."""
    return replace(held(condition, expected, found), basis=VerdictBasis.BY_CONSTRUCTION)


def not_applicable(reason: str) -> Answer:
    """Return that the clause's condition does not occur in the run."""
    return Answer(verdict=Verdict.NOT_APPLICABLE, expected="", found=reason)


def not_assessed(reason: str) -> Answer:
    """Return that the run's files do not show it either way."""
    return Answer(verdict=Verdict.NOT_ASSESSED, expected="", found=reason)


def concluded(row: Requirement, benchmark: str, answer: Answer, *, declared: bool) -> ClauseVerdict:
    """Turn an answer into the verdict: a row whose text was not read fails nobody, nor one that asks nothing.

    A row without a demanding keyword that was not kept is `deviated`; `declared` says whether it was said.
    """
    original = answer.verdict
    found = answer.found
    if original is Verdict.MET and answer.basis not in row.allowed:
        wanted = " or ".join(row.allowed)
        original, found = Verdict.NOT_ASSESSED, f"{found} ({answer.basis}: the row asks for {wanted})"
    if original is Verdict.NOT_MET and row.basis is not Basis.TEXT:
        original, found = Verdict.NOT_ASSESSED, f"{found} (the row's text was not read: no verdict)"
    verdict = original
    unkept = original is Verdict.NOT_MET and (declared or row.level not in _DEMANDS)
    unshown = original is Verdict.NOT_ASSESSED and declared and row.basis is Basis.TEXT
    if unkept or unshown:
        verdict = Verdict.DEVIATED
    return ClauseVerdict(
        requirement=row.id,
        benchmark=benchmark,
        verdict=verdict,
        original=original,
        declared=declared,
        expected=answer.expected,
        found=found,
        basis=None if original is Verdict.NOT_ASSESSED else answer.basis,
    )

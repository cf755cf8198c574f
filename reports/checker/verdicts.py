"""A verdict on a clause, and how a rule comes to one: what the procedure was, never how good the value is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from bmwg.methodology.profiles import Profile
from bmwg.methodology.records import Outcome
from bmwg.methodology.requirements import Basis, Level, Requirement, requirement
from bmwg.reports.checker.evidence import Evidence, Trial

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
    """What a clause is judged on: one benchmark's outcomes that were tried, and their trials."""

    evidence: Evidence
    profile: Profile
    benchmark: str
    outcomes: tuple[Outcome, ...]
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one rule says to one clause."""

    verdict: Verdict
    expected: str
    found: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseRule:
    """The rule of one catalogue row; `benchmarks` empty stands for all of the document."""

    requirement: str
    benchmarks: tuple[str, ...]
    check: Callable[[Scope], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseVerdict:
    """The verdict on one row for one benchmark. `original` is what it was before a declaration counted."""

    requirement: str
    benchmark: str
    verdict: Verdict
    original: Verdict
    declared: bool
    expected: str
    found: str

    @property
    def row(self) -> Requirement:
        """The catalogue row."""
        return requirement(self.requirement)

    @property
    def failed(self) -> bool:
        """Whether the text was not kept, declared or not; a declaration never mends a MUST."""
        return Verdict.NOT_MET in (self.verdict, self.original) or self.verdict is Verdict.DEVIATED


def clause(row: str, *benchmarks: str) -> Callable[[Callable[[Scope], Answer]], ClauseRule]:
    """Make a function the rule of a row. It registers nothing: each module lists its rules itself."""

    def made(check: Callable[[Scope], Answer]) -> ClauseRule:
        return ClauseRule(requirement=row, benchmarks=benchmarks, check=check)

    return made


def held(condition: bool, expected: str, found: str) -> Answer:
    """Return met or not met."""
    return Answer(verdict=Verdict.MET if condition else Verdict.NOT_MET, expected=expected, found=found)


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
    )

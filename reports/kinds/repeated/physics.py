"""What no execution of a kind with repetitions can show. The rules are those of `verify.timing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic

from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import SpecT
from bmwg.methodology.records import Validity
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule
from bmwg.reports.store.read import JOURNAL_FILE
from bmwg.reports.verify.timing import (
    Count,
    Execution,
    Within,
    clock_question,
    contradictions,
    too_close,
    too_short,
)

_MISJUDGED = "VER-03"


@dataclass(frozen=True, slots=True, kw_only=True)
class Physics(Generic[SpecT, ResultT]):
    """What a kind's executions tell of their time and of their counts.

    `lasted` are stretches that lie within an execution, `counts` limits on what it counted. Where
    `answers_invalid`, what invalid executions counted is part of answers as well.
    """

    kind: RepeatedKind[SpecT, ResultT]
    lasted: Callable[[SpecT, ResultT], Sequence[Within]]
    counts: Callable[[SpecT, ResultT], Iterator[Count]]
    answers_invalid: bool = False

    def lines(self, evidence: Evidence) -> Iterator[tuple[str, SpecT, ResultT]]:
        """Yield each execution of the kind, with where it stands."""
        for execution in evidence.executions:
            if execution.body.kind == self.kind.name:
                where = f"{JOURNAL_FILE}: line {execution.seq}"
                yield where, self.kind.spec_of(execution.body), self.kind.result_of(execution.body)

    def executions(self, evidence: Evidence) -> list[Execution]:
        """Return the executions as the rules of time take them; one with faults promises nothing.

        Counts that go together are asked of valid ones: one that was judged inconsistent says itself that
        they do not, and no answer is made of it. Where any judgement in the run was changed, they are asked
        of all.
        """
        changed = any(finding.rule_id == _MISJUDGED for finding in evidence.findings)
        of_all = changed or self.answers_invalid
        found = []
        for execution in evidence.executions:
            if execution.body.kind == self.kind.name:
                spec, result = self.kind.spec_of(execution.body), self.kind.result_of(execution.body)
                found.append(
                    Execution(
                        where=f"{JOURNAL_FILE}: line {execution.seq}",
                        begin=evidence.begins[execution.seq],
                        end=execution.at,
                        duration_ns=result.wall_ns,
                        lasted=tuple(self.lasted(spec, result)),
                        counts=tuple(self.counts(spec, result))
                        if of_all or execution.validity is Validity.VALID
                        else (),
                    )
                )
        return found

    def rules(self) -> tuple[Rule[Evidence], ...]:
        """Return the three rules of time and counts."""
        return (
            Rule(
                rule_id="VER-30",
                clause="",
                asks="an execution fits into the time between its line and the one before",
                check=lambda evidence: too_close(self.executions(evidence)),
                exit_code=2,
            ),
            Rule(
                rule_id="VER-31",
                clause="",
                asks="an execution takes at least the time that its load took",
                check=lambda evidence: too_short(self.executions(evidence)),
                exit_code=2,
            ),
            Rule(
                rule_id="VER-34",
                clause="",
                asks="what an execution counted goes together",
                check=lambda evidence: contradictions(self.executions(evidence)),
                exit_code=2,
            ),
        )

    def questions(self, evidence: Evidence) -> tuple[str, ...]:
        """Return what a reader should ask of the executions' times."""
        return tuple(clock_question(self.executions(evidence)))

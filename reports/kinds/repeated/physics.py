"""What no execution of a kind with repetitions can show. The rules of time are those of `verify.timing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from bmwg.methodology.answers.repeated import Tried
from bmwg.methodology.kinds.repeated.kind import RepeatedKind, ResultT
from bmwg.methodology.kinds.repeated.profile import SpecT
from bmwg.methodology.plan import blocks
from bmwg.methodology.records import Validity
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall
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


def in_turns(
    evidence: Evidence,
    kind: RepeatedKind[SpecT, ResultT],
    forms: Mapping[str, Sequence[Sequence[str]]],
    experiments: Mapping[str, str],
    gone: Callable[[str, int], bool],
) -> Iterator[Shortfall]:
    """Yield the first execution that was not the one due, by seed and by what stood before it in the journal.

    `forms` are the cells of an experiment, form by form, and `experiments` says of which one a cell is; what
    is of none has no turn. `gone` tells whether a cell has no turn after so many executions.
    """
    run = evidence.run or {}
    mine = [one for one in evidence.executions if one.body.kind == kind.name and one.cell_id in experiments]
    if mine and "order_seed" not in run:
        yield "run.json: order_seed", "the seed of the order of the forms", "none"
        return
    planned = kind.planned_by(run["profile"])
    tried: dict[str, list[Tried[ResultT]]] = {name: [] for name in planned}
    for execution in mine:
        if gone(execution.cell_id, len(tried[execution.cell_id])):
            continue
        experiment = experiments[execution.cell_id]
        done = {name: len(tried[name]) for form in forms[experiment] for name in form}
        over = {
            name for name in done if gone(name, done[name]) or planned[name].asked.ended(tried[name], 0.0)
        }
        due = blocks.next_up(forms[experiment], done, over, seed=run["order_seed"], experiment=experiment)
        if due != execution.cell_id:
            expected = f"an execution of {due}" if due else "none: all forms have enough"
            yield f"trial {execution.seq}", expected, execution.cell_id
            return
        tried[execution.cell_id].append(kind.retried(execution))

"""What no execution of acts can show: less time than its pods took, moments in another order.

The rules are those of `verify.timing`; here stands what an execution tells of its time and of its counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.kinds.acts.kind import result_of, spec_of
from bmwg.methodology.kinds.acts.records import KIND, ActsResult, ActsSpec
from bmwg.methodology.kinds.acts.records import contradictions as impossible
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule
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

_RUNNER_EXACT_NS = 1_000_000  # choice: the stamps of the first frame and of the first pod are taken apart


def _of(evidence: Evidence) -> list[Execution]:
    found = []
    for one in evidence.executions:
        if one.body.kind == KIND:
            spec, result = spec_of(one.body), result_of(one.body)
            found.append(
                Execution(
                    where=f"{JOURNAL_FILE}: line {one.seq}",
                    begin=evidence.begins[one.seq],
                    end=one.at,
                    duration_ns=result.wall_ns,
                    lasted=_lasted(result),
                    counts=tuple(_counts(spec, result)),
                )
            )
    return found


def _lasted(result: ActsResult) -> tuple[Within, ...]:
    latest_ns = max((at for life in result.lives for _, at in life.ordered), default=0)
    return (Within(what="until the last of them was gone", needed_ns=latest_ns),)


def _counts(spec: ActsSpec, result: ActsResult) -> Iterator[Count]:
    for number, life in enumerate(result.lives, start=1):
        end_ns = life.removed_ns if life.removed_ns is not None else result.wall_ns
        # a sender that waits so long between two frames offers no more of them
        most = (end_ns - life.asked_ns + _RUNNER_EXACT_NS) // (spec.interval_us * 1000) + 1
        yield Count(
            what=f"frames offered to {spec.noun} {number}", found=life.offered_frames, least=0, most=most
        )
        yield Count(
            what=f"frames received of {spec.noun} {number}",
            found=life.received_frames,
            most=life.offered_frames,
            least=life.reordered_frames,
        )


@rule("VER-30", "", "an execution fits into the time between its line and the one before", exit_code=2)
def lines_apart(evidence: Evidence) -> Iterator[Shortfall]:
    """Between two lines lies at least the execution's wall time."""
    yield from too_close(_of(evidence))


@rule("VER-31", "", "an execution takes at least the time that its pods or servers took", exit_code=2)
def executions_last(evidence: Evidence) -> Iterator[Shortfall]:
    """The wall time of an execution is not below the last moment that it tells of."""
    yield from too_short(_of(evidence))


@rule("VER-34", "", "moments follow each other, and counts contain each other", exit_code=2)
def counts_agree(evidence: Evidence) -> Iterator[Shortfall]:
    """No more frames are offered than the interval allows; a request comes before what it brings about."""
    yield from contradictions(_of(evidence))
    for one in evidence.executions:
        if one.body.kind == KIND and not one.body.faults:
            for found in impossible(spec_of(one.body), result_of(one.body)):
                yield f"{JOURNAL_FILE}: line {one.seq}", "moments and counts that can be", found


def questions(evidence: Evidence) -> tuple[str, ...]:
    """Return what a reader should ask of the executions' times."""
    return tuple(clock_question(_of(evidence)))


RULES: tuple[Rule[Evidence], ...] = (lines_apart, executions_last, counts_agree)

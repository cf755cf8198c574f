"""Throughput with broadcast frames, version 2: their counts were read of the forward direction alone.

Frozen. Commits after 939b29af8664, up to 77e44c9b3248, measured by it; docs/adr/0265 says what version 3 does
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bmwg.methodology import throughput
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.remarks import load_remark
from bmwg.methodology.profiles.profile import BISECTION
from bmwg.methodology.records import Outcome, OutcomeType, Quantity, TrialSpec
from bmwg.methodology.search import bisection
from bmwg.methodology.trial import JudgedTrial

_METRIC = "throughput_modified.rfc2544_11.broadcast"
_EVERY = 99
_EVIDENCE = "forward.broadcast_sent_frames"


def measure(asked: Asked) -> Answered:
    """Measure as version 2 did, or replay what it recorded."""
    goal = asked.profile.searching(BISECTION).goal(
        asked.cell,
        max_load_fps=asked.max_load_fps,
        envelope_fps=asked.envelope_fps,
        medium_fps=asked.medium_fps,
    )
    taken: list[JudgedTrial] = []

    def measured(spec: TrialSpec) -> JudgedTrial:
        taken.append(asked.trial(replace(spec, broadcast_every=_EVERY), "search"))
        return replace(taken[-1], result=replace(taken[-1].result, spec=spec))

    found = bisection.search(measured, goal)
    assert asked.throughput is not None
    outcome = throughput.outcome(found, asked.cell, outcome_id=asked.outcome_id, metric=_METRIC)
    seen = (f"{_EVIDENCE} up to {_count(taken)} in one trial",) if taken else ()
    plain = (_plain(asked.throughput), *load_remark(asked.throughput))
    rows = ("RFC2544-11.1-01", "RFC2544-11.1-02")
    outcome = replace(outcome, requirements=rows, quality=(*outcome.quality, *seen, *plain))
    if found.error is None and outcome.type is not OutcomeType.INVALID and not _count(taken):
        outcome = Outcome(
            outcome_id=asked.outcome_id,
            metric=_METRIC,
            cell=asked.cell,
            type=OutcomeType.INVALID,
            trials=outcome.trials,
            reason=f"the modifier was not at work: {_EVIDENCE} is 0 in every trial",
        )
    return Answered(outcomes=(outcome,), error=found.error)


def _count(trials: Sequence[JudgedTrial]) -> int:
    return max((dict(trial.result.auxiliary).get(_EVIDENCE, 0) for trial in trials), default=0)


def _plain(found: Outcome) -> str:
    numbers: tuple[Quantity, ...] = found.values
    value = f"{numbers[0].number} {numbers[0].unit}" if numbers else found.statement or found.type.value
    return f"without it: {value}"


RULE = FormerRule(metric=_METRIC, version=2, measure=measure, needs_throughput=True, reads_latency=True)

"""What pods and guests that are started boot or unpack, beside the times of their starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bmwg.methodology.kinds.acts.experiments import POLICY, Answer, of_cell
from bmwg.methodology.kinds.acts.kind import each
from bmwg.methodology.kinds.acts.records import ActsResult, ActsSpec
from bmwg.reports.kinds.acts.medians import median
from bmwg.reports.kinds.repeated.answers import Answered
from bmwg.reports.render.blocks import Block
from bmwg.reports.render.sections import booted
from bmwg.reports.store import Run

_STARTS = (Answer.STARTS, Answer.BATCHES, Answer.RATE)
_ENDS = "the first test frame came out behind it"


def lines(
    run: Run,
    answers: Sequence[Answered[ActsSpec, ActsResult]],
    place: Callable[[Answered[ActsSpec, ActsResult]], str],
) -> list[Block]:
    """Return the table of all starts that were measured; empty of a run that times none."""
    rows = [
        booted.Row(
            form=f"{one.planned.spec.noun}: {place(one)}",
            told=_told(run, one.deployment),
            start=median(each(one.results, lambda life: life.start_ns)),
            ends=_ENDS,
        )
        for one in answers
        if one.measured and _starts(one)
    ]
    return booted.lines(rows, "what, path and option", "start, median of the executions")


def _starts(one: Answered[ActsSpec, ActsResult]) -> bool:
    return one.outcome.metric != POLICY.metric and of_cell(one.outcome.cell).answer in _STARTS


def _told(run: Run, deployment: str) -> Mapping[str, Any] | None:
    """Return what is recorded of the pod or machine that was made and removed once, before any counted."""
    found = run.platform.get("deployments", {}).get(deployment, {})
    told: Mapping[str, Any] | None = found.get("pod") or found.get("machine")
    return told

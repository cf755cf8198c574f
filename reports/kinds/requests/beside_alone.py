"""What clients and origin alone say of a function's figure: whether they may be what limits it.

Its mark stands beside the figure wherever a reader meets it (docs/adr/0592).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bmwg.methodology.cells import neighbours
from bmwg.methodology.kinds.requests import alone
from bmwg.methodology.kinds.requests.kind import REQUESTS
from bmwg.methodology.kinds.requests.phase_search import MET
from bmwg.methodology.kinds.requests.profile import DIRECT
from bmwg.methodology.kinds.requests.records import RequestsSpec
from bmwg.methodology.records import Outcome, OutcomeType
from bmwg.reports.kinds.repeated import answers as repeated
from bmwg.reports.kinds.requests.answers import Answered

LIMITED, NOT_KNOWN = "tester limited", "tester's limit not known"


def marks(outcomes: Sequence[Outcome], profile: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the mark of each figure that is not shown to be the function's own, by the answer's id.

    `profile` is the one that the answers were planned by.
    """
    mine = [
        one
        for one in outcomes
        if one.cell.kind == REQUESTS.name and neighbours.of(one.cell) == neighbours.ALONE
    ]
    planned = REQUESTS.planned_by(profile) if mine else {}
    answers: list[Answered] = [
        repeated.Answered(
            outcome=one, planned=planned[one.cell.cell_id], results=(), deployment="", by_number={}
        )
        for one in mine
        if one.cell.cell_id in planned
    ]
    return {
        one.outcome.outcome_id: words
        for one, bare in beside(answers)
        if one.measured and (words := mark(one, bare))
    }


def beside(answers: Sequence[Answered]) -> Iterator[tuple[Answered, Answered | None]]:
    """Yield each answer with that of clients and origin alone, None where the run has none."""
    bare = {_same(one.spec): one for one in answers if one.spec.function == DIRECT}
    for one in answers:
        yield one, bare.get(_same(one.spec))


def mark(one: Answered, bare: Answered | None) -> str:
    """Return the mark of a figure; empty where it is the function's own, or nothing stands beside it."""
    if one is bare or bare is None or MET not in one.values:
        return ""
    most = bare.values.get(MET)
    if most is not None:
        return LIMITED if alone.limits(int(one.values[MET]), int(most)) else ""
    return LIMITED if bare.outcome.type is OutcomeType.TESTER_LIMITED else NOT_KNOWN


def _same(spec: RequestsSpec) -> tuple[object, ...]:
    """What cells have in common with the one of clients and origin alone that stands for them."""
    return spec.experiment, spec.tls, spec.http, spec.ip, spec.object_octets, spec.mix, spec.clients

"""Writes runs of HTTP experiments as the bench does: one journal, answers with their trials."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bmwg.methodology.answers.procedures import versions
from bmwg.methodology.kinds.requests.kind import (
    METRICS,
    answer_of,
    cell_of,
    metric_of,
    outcome_of,
    without_repetition,
)
from bmwg.methodology.kinds.requests.profile import HttpProfile, Planned
from bmwg.methodology.kinds.requests.records import HttpAnswer, Repetition
from bmwg.methodology.records import OutcomeType
from bmwg.reports.store import PlannedCell, RunHeader, RunStore
from bmwg.resources.kinds.requests.measure import record


def header(profile: HttpProfile, plan: Iterable[Planned], **changes: Any) -> RunHeader:
    """Return the header of a run that plans these cells."""
    fields: dict[str, Any] = {
        "toolkit_version": "0",
        "toolkit_commit": None,
        "toolkit_dirty": None,
        "simulated": False,
        "testbed": {"name": "row"},
        "testbed_source": None,
        "profile": profile.data,
        "medium_kind": "veth",
        "line_rate_bps": None,
        "procedures": versions(METRICS),
        "plan": tuple(
            PlannedCell(test_id=one.test_id, metric=metric_of(one.cell), cell=cell_of(one.cell))
            for one in plan
        ),
    }
    return RunHeader(**{**fields, **changes})


def shortened(profile: HttpProfile, **changes: Any) -> HttpProfile:
    """Return a profile with other numbers."""
    return HttpProfile(name=profile.name, data={**profile.data, **changes})


def answer(store: RunStore, planned: Planned, repetitions: Iterable[Repetition]) -> HttpAnswer:
    """Record the repetitions of a cell and what they say."""
    told = [(record(store, planned, one), one) for one in repetitions]
    found = answer_of(planned, told)
    store.add_outcome(outcome_of(found, planned.test_id))
    return found


def not_assessed(store: RunStore, planned: Planned, reason: str, mend: str = "") -> None:
    """Record that a cell could not be tried."""
    store.add_outcome(without_repetition(planned, OutcomeType.NOT_ASSESSED, reason), mend=mend)


def axes(cell: Any) -> Mapping[str, Any]:
    """Return what a cell varies, by name."""
    return dict(cell.axes)

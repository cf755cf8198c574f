"""The acts' room in the reports: section, and what no execution can show."""

from __future__ import annotations

from bmwg.methodology.kinds.acts.records import KIND
from bmwg.reports.kinds.acts import physics
from bmwg.reports.kinds.acts.section import section, summary
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.rooms import Room

ACTS = Room(
    kind=KIND,
    holds=lambda run: has_answers(run, KIND),
    section=section,
    summary=summary,
    plots=lambda run: (),
    rules=physics.RULES,
    questions=physics.PHYSICS.questions,
)

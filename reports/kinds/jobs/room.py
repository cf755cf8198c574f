"""The jobs' room in the reports: section, and what no execution can show."""

from __future__ import annotations

from bmwg.methodology.kinds.jobs.records import KIND
from bmwg.reports.kinds.jobs import physics
from bmwg.reports.kinds.jobs.section import published, section, summary
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.rooms import Room

JOBS = Room(
    kind=KIND,
    holds=lambda run: has_answers(run, KIND),
    section=section,
    summary=summary,
    plots=lambda run: (),
    rules=physics.RULES,
    questions=physics.PHYSICS.questions,
    published=published,
)

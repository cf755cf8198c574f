"""The streams' room in the reports: section, and what no execution can show."""

from __future__ import annotations

from bmwg.methodology.kinds.streams.records import KIND
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.kinds.streams import message_curves, physics, sweeps, turns
from bmwg.reports.kinds.streams.section import section, summary
from bmwg.reports.rooms import Room

STREAMS = Room(
    kind=KIND,
    holds=lambda run: has_answers(run, KIND),
    section=section,
    summary=summary,
    plots=lambda run: (*sweeps.plots(run), *message_curves.plots(run)),
    rules=(*physics.RULES, *turns.RULES),
    questions=physics.PHYSICS.questions,
    published=sweeps.published,
)

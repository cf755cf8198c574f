"""The streams' room in the reports: section, and what no execution can show."""

from __future__ import annotations

from bmwg.methodology.kinds.streams.records import KIND
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.kinds.streams import physics, turns
from bmwg.reports.kinds.streams.section import section, summary
from bmwg.reports.kinds.streams.sweeps import plots
from bmwg.reports.rooms import Room

STREAMS = Room(
    kind=KIND,
    holds=lambda run: has_answers(run, KIND),
    section=section,
    summary=summary,
    plots=plots,
    rules=(*physics.RULES, *turns.RULES),
    questions=physics.PHYSICS.questions,
)

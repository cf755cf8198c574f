"""The HTTP experiments' room in the reports: section, figures, and what no repetition can show."""

from __future__ import annotations

from functools import partial

from bmwg.methodology.kinds.requests.records import KIND
from bmwg.reports.kinds.repeated.answers import has_answers
from bmwg.reports.kinds.requests import physics, stood
from bmwg.reports.kinds.requests.answers import at_their_loads
from bmwg.reports.kinds.requests.beside_alone import marks
from bmwg.reports.kinds.requests.charts import http_plots
from bmwg.reports.kinds.requests.section import http_published, http_section, http_summary
from bmwg.reports.kinds.requests.sustain_charts import sustain_plots
from bmwg.reports.rooms import Room

REQUESTS = Room(
    kind=KIND,
    holds=partial(has_answers, kind=KIND),
    section=http_section,
    summary=http_summary,
    plots=lambda run: (*http_plots(run), *sustain_plots(run)),
    rules=(*physics.RULES, *stood.RULES),
    questions=physics.PHYSICS.questions,
    marks=marks,
    loads=at_their_loads,
    published=http_published,
)

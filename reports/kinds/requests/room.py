"""The HTTP experiments' room in the reports: section, figures, and what no repetition can show."""

from __future__ import annotations

from bmwg.methodology.kinds.requests import kind as requests
from bmwg.reports.kinds.requests import physics
from bmwg.reports.kinds.requests.answers import has_answers
from bmwg.reports.kinds.requests.charts import http_plots
from bmwg.reports.kinds.requests.section import http_section, http_summary
from bmwg.reports.rooms import Room

REQUESTS = Room(
    kind=requests.NAME,
    holds=has_answers,
    section=http_section,
    summary=http_summary,
    plots=http_plots,
    rules=physics.RULES,
    questions=physics.http_questions,
)

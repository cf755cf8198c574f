"""The HTTP experiments' room in the reports: section, figures, and what no repetition can show."""

from __future__ import annotations

from bmwg.methodology.kinds import requests
from bmwg.reports.http import physics
from bmwg.reports.http.answers import has_answers
from bmwg.reports.http.charts import http_plots
from bmwg.reports.http.section import http_section, http_summary
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

"""What the tester can do bounds what a device can be credited with."""

from __future__ import annotations

from collections.abc import Iterator

from bmwg.methodology.answers import throughput
from bmwg.methodology.mlrsearch import outcome as goal_outcomes
from bmwg.methodology.records import OutcomeType
from bmwg.methodology.search import tst009
from bmwg.methodology.trial.medium import cell_fps
from bmwg.reports.checker.evidence import Evidence
from bmwg.reports.checker.findings import Rule, Shortfall, rule

_FULL_RATIO = 0.999  # choice: of the medium's rate; a load is a whole number, and pacing has a width


@rule("VER-11", "", "no plain number at or above what the tester is qualified for")
def envelope_respected(evidence: Evidence) -> Iterator[Shortfall]:
    """A measured throughput stays below the tester's envelope for the same traffic (design decision 4).

    Only the medium's own full rate is a plain number at the envelope: no tester could offer more.
    """
    rate = evidence.run["medium"]["line_rate_bps"] if evidence.run else None
    for outcome in evidence.outcomes:
        searched = outcome.metric in (throughput.METRIC, tst009.METRIC)
        of_device = searched or goal_outcomes.claim(outcome.metric) is not None
        if not of_device or outcome.type is not OutcomeType.MEASURED:
            continue
        limit = evidence.envelope_fps(outcome.cell)
        value = outcome.values[0].number
        full_fps = cell_fps(rate, outcome.cell)
        if limit is None or (value >= limit and (full_fps is None or value < int(full_fps * _FULL_RATIO))):
            yield outcome.outcome_id, f"below the envelope of {limit} frames/s", f"measured {value}"


RULES: tuple[Rule[Evidence], ...] = (envelope_respected,)

"""Throughput by all three searches, version 3: no load above the answer was tried after a rest.

Frozen. Commits up to a34196f4a445 measured by it, bisection after 939b29af8664 and the others after
77e44c9b3248; docs/adr/0263 says what version 4 does otherwise. The searches themselves are those of today:
pinned by what the code of that time told (tests/unit/methodology/test_procedure_versions.py).
"""

from __future__ import annotations

from bmwg.methodology import throughput, throughput_search
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.throughput import closed
from bmwg.methodology.mlr.outcome import METRIC as MLR_METRIC
from bmwg.methodology.profiles.profile import BISECTION, MLRSEARCH, TST009
from bmwg.methodology.search import bisection
from bmwg.methodology.search.tst009 import METRIC as TST009_METRIC


def _by(algorithm: str, asked: Asked) -> Answered:
    profile = asked.profile.searching(algorithm)
    answered = throughput_search.search(
        lambda spec: asked.trial(spec, "search"),
        profile,
        asked.cell,
        outcome_id=asked.outcome_id,
        max_load_fps=asked.max_load_fps,
        envelope_fps=asked.envelope_fps,
        medium_fps=asked.medium_fps,
    )
    if answered.error is not None:
        return Answered(outcomes=answered.outcomes, error=answered.error)
    return closed(asked, profile, answered.outcomes, above=False)


def by_bisection(asked: Asked) -> Answered:
    """Search as bisection did, or replay what it recorded."""
    goal = asked.profile.searching(BISECTION).goal(
        asked.cell,
        max_load_fps=asked.max_load_fps,
        envelope_fps=asked.envelope_fps,
        medium_fps=asked.medium_fps,
    )
    found = bisection.search(lambda spec: asked.trial(spec, "search"), goal)
    outcome = throughput.outcome(found, asked.cell, outcome_id=asked.outcome_id)
    return Answered(outcomes=(outcome,), error=found.error)


def by_tst009(asked: Asked) -> Answered:
    """Search as TST009 did, or replay what it recorded."""
    return _by(TST009, asked)


def by_mlrsearch(asked: Asked) -> Answered:
    """Search as MLRsearch did, or replay what it recorded."""
    return _by(MLRSEARCH, asked)


RULES = (
    FormerRule(metric=throughput.METRIC, version=3, measure=by_bisection),
    FormerRule(metric=TST009_METRIC, version=3, measure=by_tst009),
    FormerRule(metric=MLR_METRIC, version=3, measure=by_mlrsearch),
)

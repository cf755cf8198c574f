"""Throughput by all three searches, version 5: one check that deviated made every answer unstable.

Frozen. Commits after 6211dd0befea up to f5a6afed measured by it; docs/adr/0371 says what version 6 does
otherwise, in indicative profiles alone. The searches themselves are those of today: pinned by what the code
of that time told (tests/unit/methodology/test_procedure_versions.py).
"""

from __future__ import annotations

from dataclasses import replace

from bmwg.methodology import throughput, throughput_search
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.throughput import checked, closed
from bmwg.methodology.mlr.outcome import METRIC as MLR_METRIC
from bmwg.methodology.profiles.profile import BISECTION, MLRSEARCH, TST009
from bmwg.methodology.search.steadiness import Checks
from bmwg.methodology.search.tst009 import METRIC as TST009_METRIC


def _strict(checks: Checks) -> Checks:
    return replace(checks, most=checks.count, apart_ratio=0.0, lossy_ratio=0.0, control_load=None)


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
    outcomes = answered.outcomes
    if algorithm != BISECTION:
        tried = closed(asked, profile, outcomes)
        if tried.error is not None:
            return tried
        outcomes = tried.outcomes
    return checked(asked, profile, outcomes, by=_strict)


def by_bisection(asked: Asked) -> Answered:
    """Search as bisection did, or replay what it recorded."""
    return _by(BISECTION, asked)


def by_tst009(asked: Asked) -> Answered:
    """Search as TST009 did, or replay what it recorded."""
    return _by(TST009, asked)


def by_mlrsearch(asked: Asked) -> Answered:
    """Search as MLRsearch did, or replay what it recorded."""
    return _by(MLRSEARCH, asked)


RULES = (
    FormerRule(metric=throughput.METRIC, version=5, measure=by_bisection),
    FormerRule(metric=TST009_METRIC, version=5, measure=by_tst009),
    FormerRule(metric=MLR_METRIC, version=5, measure=by_mlrsearch),
)

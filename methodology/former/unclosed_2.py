"""The searches of TST009 and RFC 9971, version 2: what they found was not tried again at their end.

Frozen. Commits after 939b29af8664, up to 77e44c9b3248, measured by it; docs/adr/0262 says what version 3 does
otherwise. The searches themselves are those of today: pinned by what the code of that time told of restless
devices (tests/unit/methodology/test_procedure_versions.py).
"""

from __future__ import annotations

from bmwg.methodology import throughput_search
from bmwg.methodology.former.rule import FormerRule
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.mlr.outcome import METRIC as MLR_METRIC
from bmwg.methodology.profiles.profile import MLRSEARCH, TST009
from bmwg.methodology.search.tst009 import METRIC as TST009_METRIC


def _by(algorithm: str, asked: Asked) -> Answered:
    answered = throughput_search.search(
        lambda spec: asked.trial(spec, "search"),
        asked.profile.searching(algorithm),
        asked.cell,
        outcome_id=asked.outcome_id,
        max_load_fps=asked.max_load_fps,
        envelope_fps=asked.envelope_fps,
        medium_fps=asked.medium_fps,
    )
    return Answered(outcomes=answered.outcomes, error=answered.error)


def by_tst009(asked: Asked) -> Answered:
    """Search as TST009 did, or replay what it recorded."""
    return _by(TST009, asked)


def by_mlrsearch(asked: Asked) -> Answered:
    """Search as MLRsearch did, or replay what it recorded."""
    return _by(MLRSEARCH, asked)


RULES = (
    FormerRule(metric=TST009_METRIC, version=2, measure=by_tst009),
    FormerRule(metric=MLR_METRIC, version=2, measure=by_mlrsearch),
)

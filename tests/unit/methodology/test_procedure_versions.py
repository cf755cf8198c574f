"""Versions count from 1; an answer is replayed by its own version's rule, where one is kept."""

from __future__ import annotations

import pytest

from bmwg.methodology.answers import former, latency, procedures, throughput
from bmwg.methodology.answers.former import FormerRule, former_rule, not_replayable, replayable
from bmwg.methodology.measurements.measurement import Answered, Asked

KEPT = 1  # a made former version: this toolkit then measures by the second


def measured_so(asked: Asked) -> Answered:
    raise NotImplementedError


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> FormerRule:
    """Have throughput a second version, and its first one kept."""
    rule = FormerRule(metric=throughput.METRIC, version=KEPT, measure=measured_so)
    monkeypatch.setattr(procedures, "CURRENT", {throughput.METRIC: KEPT + 1})
    monkeypatch.setattr(former, "RULES", (rule,))
    return rule


def test_the_versions_of_a_plan_are_named() -> None:
    named = procedures.versions([throughput.METRIC, latency.METRIC, throughput.METRIC])
    assert set(named) == {*procedures.OF_EVERY_RUN, latency.METRIC, throughput.METRIC}
    assert named == {name: procedures.version(name) for name in named}


def test_a_version_is_replayable_when_it_is_current_or_kept(second: FormerRule) -> None:
    assert replayable(throughput.METRIC) == (KEPT, KEPT + 1)
    assert former_rule(throughput.METRIC, KEPT) is second
    assert former_rule(throughput.METRIC, KEPT + 1) is None
    assert not_replayable({throughput.METRIC: KEPT}, throughput.METRIC) == ()
    later = {throughput.METRIC: KEPT + 2, procedures.TRIAL: 2}
    assert not_replayable(later, throughput.METRIC) == (
        (procedures.TRIAL, 2),
        (throughput.METRIC, KEPT + 2),
    )


def test_each_kept_rule_is_of_a_version_that_nothing_measures_by() -> None:
    for rule in former.RULES:
        assert procedures.FIRST <= rule.version < procedures.version(rule.metric)

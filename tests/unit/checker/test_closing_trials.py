"""Trials that try an answer again after its search are no part of the search that RFC 9971 describes."""

from __future__ import annotations

import pytest
from foreign import said, trials
from runs import MLR, run, verdict_of

from bmwg.methodology.mlrsearch.outcome import METRIC
from bmwg.methodology.search import closing

ROW = "RFC9971-"
GOOD = run(MLR, base="rfc9971")
LOW = run(MLR, base="rfc9971", device={"knee_fps": 15_000})


def lossy(one):
    if one["phase"] == closing.PHASE:
        for stream in one["result"]["streams"]:
            stream["received_frames"] = stream["sent_frames"] // 2
            stream["latency"] = {"buckets": [], "sum_ns": 0, "min_ns": None, "max_ns": None}


def test_half_of_a_low_answer_is_no_load_below_the_least():
    evidence = LOW()
    least = evidence.profile.search.min_load_fps
    below = [one.phase for one in evidence.trials if one.trial.result.spec.load_fps < least]
    assert set(below) == {closing.PHASE}
    assert verdict_of(evidence, f"{ROW}4.6.8.2-01").verdict == "met"


@pytest.mark.parametrize("row", ["4.8.4.1-05", "4.8.4.3"])
def test_loss_after_the_search_changes_no_bound_that_it_proved(row):
    evidence = said(GOOD, trials(METRIC, lossy))()
    after = [one.trial for one in evidence.trials if one.phase == closing.PHASE]
    assert any(one.valid and one.result.lost_frames for one in after), {one.reason for one in after}
    assert verdict_of(evidence, ROW + row).verdict == "met"

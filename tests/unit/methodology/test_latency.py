"""Percentiles, mean and maximum from histograms."""

from fractions import Fraction

import pytest
from fake_measurers import Device
from hypothesis import given
from hypothesis import strategies as st

from bmwg.methodology import latency
from bmwg.methodology.frame_times import LatencyHistogram
from bmwg.methodology.records import Cell, OutcomeType, TrialSpec
from bmwg.methodology.trial import TrialPolicy, valid_trial

CELL = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
SPEC = TrialSpec(frame_octets=64, load_fps=50_000, duration_s=1.0)


def of(values, width):
    counts = {}
    for value in values:
        counts[value // width] = counts.get(value // width, 0) + 1
    return LatencyHistogram(
        buckets=tuple((k * width, (k + 1) * width - 1, n) for k, n in sorted(counts.items())),
        sum_ns=sum(values),
        min_ns=min(values),
        max_ns=max(values),
    )


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=300), st.integers(1, 5000))
def test_a_percentile_is_never_too_good_and_within_a_bucket(values, width):
    histogram = of(values, width)
    ordered = sorted(values)
    for _, share in latency.PERCENTILES:
        true = ordered[-(-share.numerator * len(values) // share.denominator) - 1]
        assert true <= latency.percentile_ns(histogram, share) <= min(true + width - 1, max(values))
    summary = latency.summarize(histogram)
    assert summary.max_ns == max(values)
    assert summary.mean_ns == sum(values) / len(values)
    assert summary.frames == len(values)


def test_known_values():
    summary = latency.summarize(of(list(range(1, 1001)), 1))
    assert (summary.p50_ns, summary.p90_ns, summary.p99_ns, summary.p99_9_ns) == (500, 900, 990, 999)
    assert summary.max_ns == 1000
    assert summary.mean_ns == 500.5


def test_metric_ids_and_units():
    quantities = latency.summarize(of([7], 1)).quantities()
    assert [quantity.metric for quantity in quantities] == [
        "latency.all_frames.p50",
        "latency.all_frames.p90",
        "latency.all_frames.p99",
        "latency.all_frames.p99.9",
        "latency.all_frames.max",
        "latency.all_frames.mean",
    ]
    assert {quantity.unit for quantity in quantities} == {"ns"}


@pytest.mark.parametrize("share", [Fraction(0), Fraction(3, 2)])
def test_a_share_outside_is_refused(share):
    with pytest.raises(ValueError, match="share"):
        latency.percentile_ns(of([1], 1), share)


def test_an_empty_histogram_has_no_percentile():
    with pytest.raises(ValueError, match="no frame"):
        latency.percentile_ns(LatencyHistogram(), Fraction(1, 2))


def test_outcomes_of_a_good_a_lossy_and_an_only_stalling_device():
    good = latency.outcome(
        valid_trial(Device(truth_fps=10**6).record, SPEC, TrialPolicy()), CELL, outcome_id="x"
    )
    assert good.type is OutcomeType.MEASURED
    assert good.values[0].number == 1012  # upper edge 1015, but no frame took longer than 1012
    assert good.statement == "at 50000 frames/s per port and direction"
    assert good.quality == ()
    lossy = latency.outcome(
        valid_trial(Device(truth_fps=9000).record, SPEC, TrialPolicy()), CELL, outcome_id="x"
    )
    assert "41000 frames of trial 1 were lost" in lossy.quality[0]
    assert "p99.9 rests on 9000 frames" in lossy.quality[1]
    stalling = Device(truth_fps=10**6, stall_share=1.0)
    bad = latency.outcome(
        valid_trial(stalling.record, SPEC, TrialPolicy(max_repeats=2)), CELL, outcome_id="x"
    )
    assert bad.type is OutcomeType.UNSTABLE
    assert bad.statement == bad.reason
    assert bad.values == ()
    assert bad.trials == (1, 2, 3)
    assert "gap" in bad.reason
    dead = latency.outcome(valid_trial(Device(truth_fps=0).record, SPEC, TrialPolicy()), CELL, outcome_id="x")
    assert dead.type is OutcomeType.INVALID

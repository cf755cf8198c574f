"""Percentiles, mean and maximum from histograms."""

from fractions import Fraction

import pytest
from fake_measurers import Device
from hypothesis import given
from hypothesis import strategies as st

from bmwg.methodology.answers import latency
from bmwg.methodology.answers.latency import MayLose
from bmwg.methodology.benchmarks import delay_variation
from bmwg.methodology.records import Cell, OutcomeType, TrialSpec
from bmwg.methodology.search.sequential import refused
from bmwg.methodology.search.stepwise import run
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import TrialPolicy

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


def measured(device, *, streams=1, max_repeats=5, **may_lose):
    goal = delay_variation.StreamsGoal(spec=SPEC, streams=streams, max_repeats=max_repeats)
    ended = run(delay_variation.procedure(goal), device)
    return latency.outcome(ended, SPEC, CELL, outcome_id="x", may_lose=MayLose(**may_lose))


def test_outcomes_of_a_good_a_lossy_and_an_only_stalling_device():
    good = measured(Device(truth_fps=10**6))
    assert good.type is OutcomeType.MEASURED
    assert good.values[0].number == 1012  # upper edge 1015, but no frame took longer than 1012
    assert good.statement == "at 50000 frames/s per port and direction"
    assert good.quality == ("1 stream of 1 s, none lost a frame",)
    stalling = Device(truth_fps=10**6, stall_share=1.0, policy=TrialPolicy(max_repeats=2))
    bad = measured(stalling, max_repeats=2)
    assert bad.type is OutcomeType.UNSTABLE
    assert bad.statement == bad.reason
    assert bad.values == ()
    assert bad.trials == (1, 2, 3)
    assert "gap" in bad.reason
    dead = measured(Device(truth_fps=0), share=1.0)
    assert dead.type is OutcomeType.INVALID


def test_a_load_without_loss_may_lose_no_frame():
    lossy = measured(Device(truth_fps=9000))
    assert lossy.type is OutcomeType.UNSTABLE
    assert lossy.values == ()
    assert lossy.reason.startswith("1 of 1 streams at 50000 frames/s lost frames")
    beyond = "more than lie beyond p50 and p90 and p99 and p99.9"
    said = f"41000 of 50000 frames were lost and have no latency: {beyond}"
    assert lossy.quality == ("1 stream of 1 s, 1 of them lost frames", said)
    told = measured(Device(truth_fps=9000), share=1.0)
    assert told.type is OutcomeType.MEASURED
    assert said in told.quality
    assert "p99.9 rests on 9000 frames" in told.quality


@pytest.mark.parametrize("seed", range(20))
def test_streams_may_lose_in_the_share_that_the_load_was_found_by(seed):
    found = measured(Device(truth_fps=10**6, random_loss_share=0.4, seed=seed), streams=15, share=0.5)
    assert found.type is OutcomeType.MEASURED
    assert len(found.trials) == 15
    lossy = sum(int(word) for word in found.quality[0].split(", ")[1].split()[:1])
    assert 0 < lossy < 13
    many = measured(Device(truth_fps=10**6, random_loss_share=0.98, seed=seed), streams=15, share=0.5)
    assert many.type is OutcomeType.UNSTABLE


def test_a_stream_that_is_not_valid_is_sent_again():
    stalling = Device(truth_fps=10**6, stall_share=0.4, policy=TrialPolicy(max_repeats=20))
    found = measured(stalling, streams=11, max_repeats=20)
    assert found.type is OutcomeType.MEASURED
    assert len(found.trials) > 11
    assert found.quality[0] == "11 streams of 1 s, none lost a frame"


@pytest.mark.parametrize(
    ("lossy", "trials", "share", "too_many"),
    [
        (0, 15, 0.0, False),
        (1, 15, 0.0, True),
        (12, 15, 0.5, False),  # 1.8 %
        (13, 15, 0.5, True),  # 0.4 %
        (6, 11, 0.25, False),  # 3.4 %
        (7, 11, 0.25, True),  # 0.8 %
        (15, 15, 1.0, False),
    ],
)
def test_how_many_lossy_trials_are_too_many(lossy, trials, share, too_many):
    assert refused(lossy, trials, share) is too_many


@pytest.mark.parametrize(("lossy", "share"), [(16, 0.5), (-1, 0.5), (1, 1.1)])
def test_counts_that_are_none_are_refused(lossy, share):
    with pytest.raises(ValueError, match="expected"):
        refused(lossy, 15, share)

"""Validity of trials: in the stated order, and never because of loss."""

import dataclasses

import pytest
from fake_measurers import Device
from hypothesis import given
from hypothesis import strategies as st

from bmwg.methodology.records import Direction, StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.cpu_watch import HostDisturbance
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import TrialPolicy, assess, limits_for, valid_trial
from bmwg.reports.store.frame_codec import spec_from_json, spec_to_json

POLICY = TrialPolicy()
SPEC = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=1.0)


def result(spec=SPEC, fault=None, disturbance=None, **counts):
    values = {"intended_frames": 100_000, "sent_frames": 100_000, "received_frames": 100_000}
    stream = StreamCounts(**{**values, **counts})
    streams = (stream,) * (2 if spec.direction is Direction.BOTH else 1)
    return TrialResult(spec=spec, streams=streams, wall_time_ns=1, fault=fault, disturbance=disturbance)


@pytest.mark.parametrize("duration_s", [0.0, -1.0])
def test_no_trial_without_time(duration_s):
    with pytest.raises(ValueError, match="duration_s"):
        dataclasses.replace(SPEC, duration_s=duration_s)
    line = spec_to_json(SPEC) | {"duration_s": duration_s}
    with pytest.raises(ValueError, match="duration_s"):
        spec_from_json(line)


@pytest.mark.parametrize(
    ("counts", "validity"),
    [
        ({}, Validity.VALID),
        ({"received_frames": 0}, Validity.VALID),
        ({"received_frames": 99_999}, Validity.VALID),
        ({"sent_frames": 99_900, "received_frames": 99_900}, Validity.VALID),
        ({"sent_frames": 99_899, "received_frames": 99_899}, Validity.SENT_SHORT),
        ({"sent_frames": 0, "received_frames": 0}, Validity.SENT_SHORT),
        ({"largest_gap_ns": 1_000_000}, Validity.VALID),
        ({"largest_gap_ns": 1_000_001}, Validity.TESTER_STALLED),
        ({"largest_lateness_ns": 1_000_001}, Validity.TESTER_STALLED),
        (
            {"sent_frames": 50_000, "received_frames": 50_000, "largest_lateness_ns": 500_000_000},
            Validity.SENT_SHORT,
        ),
        (
            {"sent_frames": 50_000, "received_frames": 50_000, "largest_gap_ns": 5_000_000},
            Validity.TESTER_STALLED,
        ),
        ({"received_frames": 100_001}, Validity.INCONSISTENT),
        ({"sent_frames": 100_001}, Validity.INCONSISTENT),
        ({"received_frames": -1}, Validity.INCONSISTENT),
        ({"duplicate_frames": -1}, Validity.INCONSISTENT),
        (
            {"intended_frames": 90_000, "sent_frames": 90_000, "received_frames": 90_000},
            Validity.INCONSISTENT,
        ),
        ({"reordered_frames": 100_001}, Validity.INCONSISTENT),
        ({"effective_duration_ns": 1_000_000_000}, Validity.VALID),
        ({"effective_duration_ns": 1_100_000_000}, Validity.SENT_SHORT),
        ({"effective_duration_ns": 900_000_000}, Validity.TESTER_STALLED),
        ({"latency": LatencyHistogram(buckets=((1, 2, 99_999),), sum_ns=150_000)}, Validity.INCONSISTENT),
        ({"latency": LatencyHistogram(buckets=((1, 2, 100_000),), sum_ns=150_000)}, Validity.VALID),
        ({"latency": LatencyHistogram(buckets=((1, 2, 100_000),), sum_ns=200_001)}, Validity.INCONSISTENT),
        (
            {"latency": LatencyHistogram(buckets=((5, 9, 50_000), (3, 4, 50_000)), sum_ns=500_000)},
            Validity.INCONSISTENT,
        ),
    ],
)
def test_each_kind_of_trial_is_told(counts, validity):
    assessment = assess(result(**counts), POLICY)
    assert assessment.validity is validity
    assert bool(assessment.reason) is (validity is not Validity.VALID)


def test_a_fault_outranks_everything():
    broken = result(fault="the tester was killed", received_frames=100_001, largest_gap_ns=10**9)
    assert assess(broken, POLICY).validity is Validity.FAULT
    assert assess(broken, POLICY).reason == "the tester was killed"


def test_contradiction_outranks_a_stall():
    assert assess(result(received_frames=100_001, largest_gap_ns=10**9), POLICY).validity is (
        Validity.INCONSISTENT
    )


@pytest.mark.parametrize("name", ["duplicate_frames", "foreign_frames", "largest_burst_frames"])
def test_a_count_that_no_counter_holds_is_a_contradiction(name):
    assert assess(result(**{name: 2**64 - 1}), POLICY).validity is Validity.VALID
    assert assess(result(**{name: 2**64}), POLICY).validity is Validity.INCONSISTENT


def test_latency_that_no_counter_holds_is_a_contradiction():
    frames = result().streams[0].received_frames
    for low in (1000, 2**64):
        histogram = LatencyHistogram(buckets=((low, low, frames),), sum_ns=low * frames)
        wanted = Validity.VALID if low == 1000 else Validity.INCONSISTENT
        assert assess(result(latency=histogram), POLICY).validity is wanted


def test_both_directions_need_two_streams():
    both = dataclasses.replace(SPEC, direction=Direction.BOTH)
    assert assess(result(both), POLICY).validity is Validity.VALID
    one = dataclasses.replace(result(both), streams=result().streams)
    assert assess(one, POLICY).validity is Validity.INCONSISTENT


@pytest.mark.parametrize(
    "disturbance",
    [HostDisturbance(largest_stall_ns=((1, 1_000_001),)), HostDisturbance(steal_ns=((0, 20_000_000),))],
)
def test_a_stall_of_the_suts_host_counts_only_where_declared(disturbance):
    lossy = result(disturbance=disturbance, received_frames=5)
    assert assess(lossy, POLICY).validity is Validity.VALID
    quick = TrialPolicy(set_aside_host_stalls=True)
    assert assess(lossy, quick).validity is Validity.HOST_STALLED
    assert assess(result(disturbance=disturbance), quick).validity is Validity.HOST_STALLED
    assert assess(
        result(disturbance=HostDisturbance(largest_stall_ns=((1, 1_000_000),))), quick
    ).validity is (Validity.VALID)


@given(
    sent=st.integers(0, 100_000),
    gap=st.integers(0, 5_000_000),
    stall=st.integers(0, 5_000_000),
    data=st.data(),
)
def test_loss_never_decides_validity(sent, gap, stall, data):
    kept = {"sent_frames": sent, "largest_gap_ns": gap}
    disturbance = HostDisturbance(largest_stall_ns=((1, stall),))
    policy = TrialPolicy(set_aside_host_stalls=data.draw(st.booleans()))
    few, many = (data.draw(st.integers(0, sent)) for _ in range(2))
    validities = {
        assess(result(disturbance=disturbance, received_frames=received, **kept), policy).validity
        for received in (few, many)
    }
    assert len(validities) == 1


def test_a_trial_is_repeated_for_a_stall_but_not_for_loss():
    lossy = Device(truth_fps=10)
    assert len(valid_trial(lossy.record, SPEC, POLICY).trials) == 1
    stalling = Device(truth_fps=10**6, stall_share=1.0)
    trials = valid_trial(stalling.record, SPEC, TrialPolicy(max_repeats=4))
    assert trials.valid is None
    assert [trial.seq for trial in trials.trials] == [1, 2, 3, 4, 5]
    lengths = set()
    for seed in range(20):
        sometimes = Device(truth_fps=10**6, stall_share=0.5, seed=seed)
        trials = valid_trial(sometimes.record, SPEC, TrialPolicy(max_repeats=30))
        assert trials.valid is trials.trials[-1]
        assert not any(trial.valid for trial in trials.trials[:-1])
        lengths.add(len(trials.trials))
    assert {1, 2} < lengths


def test_a_fault_is_not_repeated():
    class Broken(Device):
        def run(self, spec):
            return dataclasses.replace(super().run(spec), fault="link down")

    trials = valid_trial(Broken(truth_fps=1).record, SPEC, POLICY)
    assert [trial.validity for trial in trials.trials] == [Validity.FAULT]


@pytest.mark.parametrize(
    "changes", [{"min_sent_ratio": 0.0}, {"min_sent_ratio": 1.1}, {"max_stall_ns": -1}, {"drain_s": -1.0}]
)
def test_numbers_that_no_policy_can_have_are_refused(changes):
    with pytest.raises(ValueError, match="expected"):
        TrialPolicy(**changes)


class TestLimitsOfShapes:
    """A burst allows less of a stall than a load does, a reset more."""

    def test_a_burst_allows_a_share_of_its_own_length(self):
        policy = TrialPolicy()
        short = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=0.001, burst=True)
        longer = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=0.02, burst=True)
        endless = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=30.0, burst=True)
        limits = [limits_for(spec, policy).max_stall_ns for spec in (short, longer, endless)]
        assert limits == [100_000, 400_000, policy.max_stall_ns]

    def test_a_reset_is_timed_to_five_milliseconds(self):
        spec = TrialSpec(frame_octets=64, load_fps=1_000, duration_s=1.0, act="link", act_at_s=0.5)
        assert limits_for(spec, TrialPolicy()).max_stall_ns == 5_000_000
        assert limits_for(spec, TrialPolicy(max_stall_ns=9_000_000)).max_stall_ns == 9_000_000

    def test_a_burst_that_lacks_a_frame_is_none(self):
        spec = TrialSpec(frame_octets=64, load_fps=100_000, duration_s=0.02, burst=True)
        stream = StreamCounts(intended_frames=2_000, sent_frames=1_999, received_frames=1_999)
        found = assess(TrialResult(spec=spec, streams=(stream,), wall_time_ns=1), TrialPolicy())
        assert found.validity is Validity.SENT_SHORT


@pytest.mark.parametrize(
    ("load_fps", "duration_s", "limit_ns"),
    [
        (10_000, 1.0, 10_000_000),  # 200 frames are 20 ms, a hundredth of the trial is 10
        (50_000, 1.0, 4_000_000),
        (200_000, 1.0, 1_000_000),
        (1_000_000, 1.0, 1_000_000),  # the limit of time stands
        (10_000, 0.5, 5_000_000),
    ],
)
def test_a_gap_may_be_longer_where_it_holds_back_few_frames(load_fps, duration_s, limit_ns):
    policy = TrialPolicy(max_stall_frames=200)
    spec = TrialSpec(frame_octets=64, load_fps=load_fps, duration_s=duration_s)
    assert limits_for(spec, policy).max_stall_ns == limit_ns
    assert limits_for(spec, TrialPolicy()).max_stall_ns == 1_000_000

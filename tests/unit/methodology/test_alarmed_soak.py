"""Soak by VSPERF's method (LTD 3.2.2.1.6, 3.2.2.2.2), against a device whose bad intervals are known."""

from dataclasses import replace

import pytest
from vsperf_device import NS, Device, ask, cell

from bmwg.methodology.benchmarks import alarmed_soak
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import OutcomeType, StreamCounts, TrialResult, TrialSpec, Validity
from bmwg.methodology.trial.frame_times import LatencyHistogram

METRIC = alarmed_soak.METRIC


def soaked(device, **said):
    settings = {"confirm_s": 2.0, "intervals": 10, "interval_s": 1.0, "max_invalid_ratio": 0.3, **said}
    outcome, values = ask(device, "soak_ltd", **settings)
    return outcome, {key.removeprefix(METRIC).lstrip("."): number for key, number in values.items()}


def test_the_throughput_is_confirmed_first_and_then_held():
    device = Device()
    outcome, told = soaked(device)
    assert outcome.type is OutcomeType.MEASURED
    assert [(trial.load, trial.spec.duration_s) for trial in device.trials] == [
        (100_000, 2.0),
        *[(100_000, 1.0)] * 10,
    ]
    assert told == {
        "": 0.0,
        "worst_loss_ratio": 0.0,
        "lossy_intervals": 0,
        "alarms": 0,
        "valid_intervals": 10,
        "forwarded_least": 100_000,
        "forwarded_most": 100_000,
        "pdv_p99.median": 0,
        "pdv_p99.max": 0,
    }
    assert outcome.requirements == ("LTD-3.2.2.1.6-01", "LTD-3.2.2.1.6-02", "LTD-3.2.2.2.2")


def test_a_load_that_loses_a_frame_in_the_confirming_trial_is_not_held():
    device = Device(unlucky=lambda number: number == 1)
    outcome, told = soaked(device)
    assert outcome.type is OutcomeType.UNSTABLE
    assert "not confirmed: 1 of 200000 frames were lost in 2 s" in outcome.reason
    assert len(device.trials) == 1
    assert not told


def test_each_interval_with_loss_is_an_alarm_by_its_number():
    device = Device(unlucky=lambda number: number in (5, 9))  # the first trial confirms
    outcome, told = soaked(device)
    assert told[""] == pytest.approx(2 / 1_000_000)
    assert told["worst_loss_ratio"] == pytest.approx(1 / 100_000)
    assert (told["lossy_intervals"], told["alarms"]) == (2, 2)
    assert (told["forwarded_least"], told["forwarded_most"]) == (99_999, 100_000)
    assert "in 2 intervals, the first of them number 4" in " ".join(outcome.quality)


def test_loss_up_to_the_threshold_is_no_alarm():
    class Many(Device):
        def _stream(self, spec, number):
            return StreamCounts(
                intended_frames=spec.intended_frames,
                sent_frames=2 * NS,
                received_frames=2 * NS - (2 if number == 3 else 3 if number == 4 else 0),
            )

    _, told = soaked(Many())
    assert (told["lossy_intervals"], told["alarms"]) == (2, 1)


def test_intervals_that_were_disturbed_are_counted_and_too_many_are_no_soak():
    seen = []

    def some(spec):
        seen.append(spec)
        return Validity.TESTER_STALLED if len(seen) in (3, 4) else Validity.VALID

    outcome, told = soaked(Device(validity=some))
    assert outcome.type is OutcomeType.MEASURED
    assert told["valid_intervals"] == 8
    gone = Device(validity=lambda spec: Validity.VALID if spec.duration_s == 2 else Validity.TESTER_STALLED)
    outcome, told = soaked(gone)
    assert outcome.type is OutcomeType.UNSTABLE
    assert not told


def test_a_tester_that_cannot_send_the_load_limits_the_answer():
    outcome, _ = soaked(Device(validity=lambda spec: Validity.SENT_SHORT))
    assert outcome.type is OutcomeType.TESTER_LIMITED


def test_without_a_plain_throughput_nothing_is_held():
    device = Device()
    outcome, _ = ask(device, "soak_ltd", found=OutcomeType.UNSTABLE)
    assert outcome.type is OutcomeType.NOT_ASSESSED
    assert not device.trials


def test_delay_variation_is_the_99th_percentile_less_the_least_of_the_worse_direction():
    def stream(*buckets):
        frames = sum(count for _, count in buckets)
        return StreamCounts(
            intended_frames=frames,
            sent_frames=frames,
            received_frames=frames,
            latency=LatencyHistogram(
                buckets=tuple((at, at, count) for at, count in buckets),
                sum_ns=sum(at * count for at, count in buckets),
                min_ns=buckets[0][0],
                max_ns=buckets[-1][0],
            ),
        )

    spec = TrialSpec(frame_octets=64, load_fps=1000, duration_s=1.0)
    quiet, loud = stream((1_000, 990), (9_000, 10)), stream((2_000, 989), (5_000, 11))
    result = TrialResult(spec=spec, streams=(quiet, loud), wall_time_ns=1)
    assert alarmed_soak.pdv_ns(result) == 3_000
    assert alarmed_soak.pdv_ns(TrialResult(spec=spec, streams=(quiet,), wall_time_ns=1)) == 0
    silent = StreamCounts(intended_frames=1, sent_frames=1, received_frames=0)
    assert alarmed_soak.pdv_ns(TrialResult(spec=spec, streams=(silent,), wall_time_ns=1)) is None


def test_a_function_that_modifies_headers_has_the_test_of_its_own():
    profile = load_profile("vsperf")
    router, translator = cell(), replace(cell(), function="nat44")
    both = [measurement(name) for name in ("soak_ltd", "soak_ltd_modified")]
    assert [one.applies(profile, router) for one in both] == [True, False]
    assert [one.applies(profile, translator) for one in both] == [False, True]
    outcome, told = ask(
        Device(), "soak_ltd_modified", wanted=translator, confirm_s=1.0, intervals=3, interval_s=1.0
    )
    assert outcome.requirements == ("LTD-3.2.2.1.7", "LTD-3.2.2.1.6-02")
    assert set(told) >= {alarmed_soak.MODIFIED_METRIC, f"{alarmed_soak.MODIFIED_METRIC}.pdv_p99.max"}
    assert all(name.startswith(alarmed_soak.MODIFIED_METRIC) for name in told)

"""System recovery by VSPERF's method (LTD 3.2.2.1.4), against a device whose recovery is known."""

from dataclasses import replace

import pytest
from vsperf_device import Device, ask, cell

from bmwg.methodology.benchmarks import recovery_latency
from bmwg.methodology.benchmarks.recovery import RFC2544, recovery_loads
from bmwg.methodology.records import Direction, OutcomeType, TrialSpec

LOST, BACK, BEFORE = recovery_latency.LTD.metric, recovery_latency.LATENCY, recovery_latency.BEFORE


def measured(device, **more):
    return ask(device, "recovery_ltd", repetitions=3, overload_s=1.0, reduced_s=2.0, **more)


@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.BOTH])
@pytest.mark.parametrize(
    ("silent_s", "slow_s", "windows"),
    [
        (0.0, 0.0, 1),  # the first window of 10,000 frames shows it
        (0.0, 0.2, 3),  # 75,000 frames/s: the first two reach to 0.27 s
        (0.3, 0.0, None),
        (0.1, 0.9, None),
    ],
)
def test_the_times_of_loss_and_latency_are_found(direction, silent_s, slow_s, windows):
    device = Device(silent_s=silent_s, slow_s=slow_s)
    outcome, told = measured(device, wanted=replace(cell(), direction=direction))
    assert outcome.type is OutcomeType.MEASURED
    overloads = [trial.spec for trial in device.trials if trial.spec.then_load_fps]
    assert {(one.load_fps, one.then_load_fps) for one in overloads} == {(150_000, 75_000)}
    controls = [trial.spec for trial in device.trials if not trial.spec.then_load_fps]
    assert {(one.load_fps, one.duration_s, one.tag_frames) for one in controls} == {(75_000, 2.0, ())}
    step, frame_ms = overloads[0].tag_frames[1] - overloads[0].tag_frames[0], 1e3 / 75_000
    window_ms = -(-10_000 // step) * step * frame_ms
    assert 133.3 < window_ms < 135.5
    assert told[LOST] == pytest.approx(1e3 * silent_s, abs=frame_ms + 1e-3)
    assert told[BEFORE] == 10_000
    truth_ms = 1e3 * max(silent_s, slow_s)
    assert truth_ms <= told[BACK] <= truth_ms + 2 * window_ms
    if silent_s > slow_s:  # the first window begins behind the last lost frame, wherever that is
        assert told[BACK] == pytest.approx(truth_ms + window_ms, abs=2 * step * frame_ms)
    if windows is not None:
        assert told[BACK] == pytest.approx(windows * window_ms)


def test_a_window_with_a_stamp_that_never_came_shows_nothing():
    device = Device()
    measured(device)
    control, trial = device.trials[:2]
    whole = recovery_latency.latency_back_ms(trial, control)
    (stream,) = trial.result.streams
    gone = replace(stream, tagged_ns=(*stream.tagged_ns[:5], None, *stream.tagged_ns[6:]))
    holed = replace(trial, result=replace(trial.result, streams=(gone,)))
    assert recovery_latency.latency_back_ms(holed, control) == pytest.approx(2 * whole)


def test_latency_a_tenth_above_is_back_and_more_is_not():
    _, told = measured(Device(slow_s=9.0, slow_ns=11_000))
    assert told[BACK] == told[f"{BACK}.max"] > 0
    outcome, told = measured(Device(slow_s=9.0, slow_ns=11_001))
    assert outcome.type is OutcomeType.MEASURED
    assert LOST in told
    assert BACK not in told
    assert "not back to within 10 % at the end of trials [2, 4, 6]" in " ".join(outcome.quality)


def test_loss_to_the_end_of_a_trial_is_no_recovery():
    outcome, told = measured(Device(silent_s=2.0))
    assert outcome.type is OutcomeType.INVALID
    assert not told


def test_without_loss_there_was_no_overload():
    outcome, told = measured(Device(rate_fps=160_000))
    assert outcome.type is OutcomeType.UNSTABLE
    assert outcome.requirements == ("LTD-3.2.2.1.4",)
    assert "150 % of the throughput" in outcome.reason
    assert not told


def test_a_tester_that_carries_less_than_150_percent_limits_the_answer():
    outcome, told = measured(Device(rate_fps=180_000), throughput_fps=180_000)
    assert outcome.type is OutcomeType.TESTER_LIMITED
    assert "LTD 3.2.2.1.4 asks for 150 %" in outcome.statement
    assert not told


def test_a_medium_that_ends_below_150_percent_is_what_the_document_asks_for():
    outcome, told = measured(Device(rate_fps=180_000), throughput_fps=180_000, medium_fps=200_000)
    assert outcome.type is OutcomeType.MEASURED
    assert LOST in told


def test_the_loads_of_each_document():
    ltd = recovery_loads(1_001, None, recovery_latency.LTD)
    assert (ltd.overload_fps, ltd.reduced_fps) == (1_502, 750)
    own = recovery_loads(1_001, None, RFC2544)
    assert (own.overload_fps, own.reduced_fps) == (1_102, 551)


def test_frames_of_the_second_load_are_stamped_evenly_from_its_first_on():
    spec = TrialSpec(
        frame_octets=64, load_fps=1_000, duration_s=2.0, then_load_fps=500, then_duration_s=8.0,
        tag_after_s=2.0, tags=100,
    )  # fmt: skip
    assert spec.tag_frames[:3] == (2_000, 2_040, 2_080)
    assert len(spec.tag_frames) == 100
    assert spec.tag_frames[-1] == 5_960 < spec.intended_frames
    later = replace(spec, tag_after_s=4.0)
    assert later.tag_frames[0] == 3_000
    first = replace(spec, tag_after_s=1.0)
    assert first.tag_frames[0] == 1_000
    assert first.tag_frames[-1] < 2_000
    with pytest.raises(ValueError, match="tag_after_s"):
        replace(spec, tag_after_s=10.0)

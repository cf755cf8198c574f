"""Loss and latency around the throughput (LTD 3.2.2.1.3), against a policer."""

from dataclasses import replace

import pytest
from vsperf_device import OFFERED_FPS, Device, ask, cell

from bmwg.methodology.benchmarks import load_profile
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile as profile_of
from bmwg.methodology.records import Direction, OutcomeType, Validity

LOADS = {"minus_50": 50_000, "minus_10": 90_000, "at_0": 100_000, "plus_10": 110_000, "plus_50": 150_000}


def told(values, name, part):
    return values[f"{load_profile.METRIC}.{name}.{part}"]


@pytest.mark.parametrize("direction", [Direction.FORWARD, Direction.BOTH])
def test_a_policer_loses_nothing_up_to_its_rate_and_all_beyond_it_above(direction):
    """Known truth: no loss below, 1 - r / load above, and the rate at every load above."""
    device = Device(rate_fps=100_000)
    outcome, values = ask(device, "load_profile", wanted=replace(cell(), direction=direction), trial_s=1.0)
    assert outcome.type is OutcomeType.MEASURED
    assert [trial.load for trial in device.trials] == list(LOADS.values())
    assert len(values) == 1 + 5 * len(LOADS)
    assert values[load_profile.METRIC] == pytest.approx(1 - 100_000 / 150_000)
    for name, load in LOADS.items():
        assert told(values, name, "load") == load
        assert told(values, name, "loss_ratio") == pytest.approx(max(0.0, 1 - 100_000 / load), abs=1e-12)
        assert told(values, name, "forwarded") == min(load, 100_000)
        latency_ns = 500_000 if load > 100_000 else 10_000
        assert told(values, name, "latency_mean") == latency_ns
        assert told(values, name, "latency_p99") == latency_ns


def test_loss_at_and_below_the_throughput_is_told_by_its_delta():
    clean, _ = ask(Device(), "load_profile", trial_s=1.0)
    assert "as well" not in " ".join(clean.quality)
    lossy, _ = ask(Device(unlucky=lambda number: number in (1, 3)), "load_profile", trial_s=1.0)
    assert "frames were lost at -50 %, 0 % as well" in " ".join(lossy.quality)


def test_a_load_above_is_part_of_the_way_to_the_medium_s_rate_where_there_is_one():
    device = Device()
    ask(device, "load_profile", medium_fps=120_000, trial_s=1.0)
    assert [trial.load for trial in device.trials][-2:] == [102_000, 110_000]


def test_where_the_throughput_is_the_highest_load_nothing_is_tried_above_and_it_is_said():
    device = Device(rate_fps=OFFERED_FPS)
    outcome, values = ask(device, "load_profile", throughput_fps=OFFERED_FPS, trial_s=1.0)
    assert len(device.trials) == 3
    assert not any("plus" in name for name in values)
    assert "nothing at +10 %, +50 %" in " ".join(outcome.quality)


def test_a_device_that_fails_above_its_throughput_keeps_its_other_loads_and_is_told():
    """LTD-3.2.2.1.3-02: a failure is reported with the results."""
    device = Device(validity=lambda spec: Validity.FAULT if spec.load_fps > 100_000 else Validity.VALID)
    outcome, values = ask(device, "load_profile", trial_s=1.0)
    assert outcome.type is OutcomeType.MEASURED
    assert [trial.load for trial in device.trials] == [50_000, 90_000, 100_000, 110_000]
    assert told(values, "at_0", "loss_ratio") == 0
    said = " ".join(outcome.quality)
    assert "+10 %: failure: trial 4 at 110000 frames/s: fault" in said
    assert "no higher load was tried" in said


def test_a_device_that_fails_at_its_throughput_has_no_profile():
    device = Device(validity=lambda spec: Validity.FAULT if spec.load_fps == 100_000 else Validity.VALID)
    outcome, values = ask(device, "load_profile", trial_s=1.0)
    assert outcome.type is OutcomeType.INVALID
    assert not values
    assert "fault" in outcome.reason


def test_a_device_that_falls_silent_is_said_to_have_failed():
    class Silent(Device):
        def _stream(self, spec, number):
            stream = super()._stream(spec, number)
            return replace(stream, received_frames=0) if spec.load_fps > 140_000 else stream

    outcome, values = ask(Silent(), "load_profile", trial_s=1.0)
    assert told(values, "plus_50", "loss_ratio") == 1
    assert "+50 %: failure: no frame came" in outcome.quality


def test_what_the_tester_cannot_send_or_the_machine_disturbs_is_missing_by_name():
    def shown(spec):
        return {150_000: Validity.SENT_SHORT, 90_000: Validity.TESTER_STALLED}.get(
            spec.load_fps, Validity.VALID
        )

    outcome, values = ask(Device(validity=shown), "load_profile", trial_s=1.0)
    assert outcome.type is OutcomeType.MEASURED
    assert not any("plus_50" in name or "minus_10" in name for name in values)
    assert values[load_profile.METRIC] == pytest.approx(1 - 100_000 / 110_000)
    said = " ".join(outcome.quality)
    assert "-10 %: no trial at 90000 frames/s was valid" in said
    assert "+50 %: the tester could not send 150000 frames/s" in said


@pytest.mark.parametrize(
    ("validity", "kind"),
    [
        (Validity.SENT_SHORT, OutcomeType.TESTER_LIMITED),
        (Validity.TESTER_STALLED, OutcomeType.UNSTABLE),
    ],
)
def test_without_any_trial_there_is_no_number(validity, kind):
    outcome, values = ask(Device(validity=lambda spec: validity), "load_profile", trial_s=1.0)
    assert outcome.type is kind
    assert not values


def test_without_a_plain_throughput_nothing_is_offered():
    device = Device()
    outcome, _ = ask(device, "load_profile", found=OutcomeType.UNSTABLE, trial_s=1.0)
    assert outcome.type is OutcomeType.NOT_ASSESSED
    assert not device.trials


def test_a_chain_of_three_functions_has_the_test_of_its_own():
    profile = profile_of("vsperf")
    three, two = cell("chain", chain="a>b>c"), cell("chain", chain="a>b")
    both = [measurement(name) for name in ("load_profile", "load_profile_chain")]
    assert [one.applies(profile, three) for one in both] == [False, True]
    assert [one.applies(profile, two) for one in both] == [True, False]
    assert [one.applies(profile, cell(pattern="full-mesh-4")) for one in both] == [False, False]
    outcome, values = ask(Device(), "load_profile_chain", wanted=three, trial_s=1.0)
    assert outcome.metric == load_profile.CHAIN_METRIC
    assert outcome.requirements == ("LTD-3.2.2.3.4-01",)
    assert all(name.startswith(load_profile.CHAIN_METRIC) for name in values)


def test_a_throughput_above_the_highest_load_is_refused():
    with pytest.raises(ValueError, match=r"LTD 3\.2\.2\.1\.3"):
        load_profile.ProfileGoal(metric=load_profile.METRIC, cell=cell(), throughput_fps=2, highest_fps=1)

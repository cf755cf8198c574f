"""Latency as it is asked for: at which load, by how many streams, and where there is none to measure at."""

from dataclasses import replace

import pytest
from fake_measurers import Device

from bmwg.methodology.answers import latency, throughput
from bmwg.methodology.benchmarks.delay_variation import PDV_METRIC, SAMPLE_METRIC
from bmwg.methodology.benchmarks.recovery import RECOVERY_METRIC
from bmwg.methodology.measurements.measurement import Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.profiles import load_profile
from bmwg.methodology.records import Bound, Cell, Outcome, OutcomeType, Quantity
from bmwg.methodology.simulated_devices.bench import ModelBench
from bmwg.methodology.simulated_devices.device import HardLimit
from bmwg.methodology.trial.capabilities import EVERYTHING, Capability, LackingError, refuse_beyond

POD = Cell(path="pvp", hosting="pod", function="kernel-l3", network="bridge", frame_octets=64)
LOAD_FPS = 200_000


def asked(kind, *, cell=POD, device=None, lower=True):
    found = Outcome(
        outcome_id="t",
        metric=throughput.METRIC,
        cell=cell,
        type=kind,
        lower=Bound(load_fps=LOAD_FPS, trials=(1,)) if lower else None,
    )
    device = device or Device(truth_fps=10**6)
    trials = []

    def take(spec, phase):
        trials.append((spec, phase))
        return device(spec)

    one = Asked(
        profile=load_profile("quick"),
        cell=cell,
        outcome_id="L",
        trial=take,
        max_load_fps=10**6,
        throughput=found,
    )
    return one, trials


def test_streams_are_sent_one_after_the_other_at_the_load():
    one, trials = asked(OutcomeType.MEASURED)
    (found,) = measurement("latency").measure(one).outcomes
    assert found.type is OutcomeType.MEASURED
    assert [phase for _, phase in trials] == [f"stream {number}" for number in range(1, 12)]
    assert {(spec.load_fps, spec.duration_s) for spec, _ in trials} == {(LOAD_FPS, 0.1)}
    assert found.trials == tuple(range(1, 12))
    numbers = {value.metric: value.number for value in found.values}
    ends = numbers["latency.all_frames.p50.low"], numbers["latency.all_frames.p50.high"]
    assert ends[0] <= numbers["latency.all_frames.p50"] <= ends[1]
    assert "latency.all_frames.p99.9.high" not in numbers  # 11 streams of 0.1 s cannot tell it


@pytest.mark.parametrize(
    ("sustained", "upper", "load"),
    [(160_000, 206_000, 160_000), (195_000, 250_000, 195_000), (195_000, 206_000, LOAD_FPS)],
    ids=["the lower end moved", "the upper end moved", "narrow"],
)
def test_streams_of_a_wide_interval_are_at_its_lower_end(sustained, upper, load):
    """At the bound of the search the machine may carry less by then: all of them would lose."""
    one, trials = asked(OutcomeType.MEASURED)
    held = Quantity(metric=f"{throughput.SUSTAINED}.0.1f1.5d0l50e", number=sustained, unit="frames/s")
    above = Bound(load_fps=upper, trials=(2,))
    one = replace(one, throughput=replace(one.throughput, values=(held,), upper=above))
    (found,) = measurement("latency").measure(one).outcomes
    assert {spec.load_fps for spec, _ in trials} == {load}
    assert found.statement == f"at {load} frames/s per port and direction"
    assert any("wide interval" in remark for remark in found.quality) is (load != LOAD_FPS)


@pytest.mark.parametrize("kind", [OutcomeType.AT_CEILING, OutcomeType.TESTER_LIMITED])
def test_a_load_without_a_limit_is_plain_and_said(kind):
    one, _ = asked(kind)
    (found,) = measurement("latency").measure(one).outcomes
    assert found.type is OutcomeType.MEASURED
    assert any(kind.value in remark for remark in found.quality)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("latency", latency.METRIC),
        ("delay_variation", PDV_METRIC),
        ("ipdv", SAMPLE_METRIC),
        ("recovery", RECOVERY_METRIC),
    ],
)
@pytest.mark.parametrize("kind", [OutcomeType.UNSTABLE, OutcomeType.INVALID])
def test_there_is_none_where_the_load_is_no_plain_number(name, metric, kind):
    one, trials = asked(kind)
    (found,) = measurement(name).measure(one).outcomes
    assert (found.type, found.metric, found.values) == (OutcomeType.NOT_ASSESSED, metric, ())
    assert kind.value in found.reason
    assert trials == []


def test_the_testers_own_is_taken_at_a_stated_share_of_what_it_carries():
    one, trials = asked(OutcomeType.AT_CEILING, cell=POD.qualification)
    (found,) = measurement("latency").measure(one).outcomes
    loads = [LOAD_FPS * percent // 100 for percent in (10, 3, 30) for _ in range(11)]
    assert [spec.load_fps for spec, _ in trials] == loads
    assert found.trials == tuple(range(1, 34))
    assert sorted(latency.floors(found, "")) == [LOAD_FPS * 3 // 100, LOAD_FPS * 30 // 100]
    assert all(set(told) == {"p50", "p90", "p99", "p99.9"} for told in latency.floors(found, "").values())
    assert found.type is OutcomeType.MEASURED
    assert "the tester's own, at 10 % of what it carries" in found.quality
    settings = replace(one.profile.latency, wire_percent=100, floor_percents=())
    other, trials = asked(OutcomeType.AT_CEILING, cell=POD.qualification)
    measurement("latency").measure(replace(other, profile=replace(other.profile, latency=settings)))
    assert {spec.load_fps for spec, _ in trials} == {LOAD_FPS}


@pytest.mark.parametrize("name", ["latency", "delay_variation"])
def test_a_tester_without_a_distribution_of_latencies_sends_no_stream(name):
    """MoonGen and OTG tell a minimum, a mean and a maximum: no percentile is of these."""
    able = EVERYTHING - {Capability.LATENCY}
    one, trials = asked(OutcomeType.MEASURED)
    one = replace(one, refuse=lambda spec, *also: refuse_beyond(spec, able, "otg", also))
    answered = measurement(name).measure(one)
    assert isinstance(answered.error, LackingError)
    assert "latency of all frames" in str(answered.error)
    assert trials == []


def test_a_measurer_that_fails_ends_it_with_the_trials_so_far():
    one, trials = asked(OutcomeType.MEASURED)

    def take(spec, phase):
        if len(trials) == 3:
            raise OSError("gone")
        return one.trial(spec, phase)

    answered = measurement("latency").measure(replace(one, trial=take))
    (found,) = answered.outcomes
    assert isinstance(answered.error, OSError)
    assert (found.type, found.values, found.trials) == (OutcomeType.INVALID, (), (1, 2, 3))


def test_a_load_at_which_the_tester_alone_loses_has_no_floor_and_says_so():
    device = Device(truth_fps=LOAD_FPS // 5)  # below 30 % of what was found
    one, _ = asked(OutcomeType.AT_CEILING, cell=POD.qualification, device=device)
    (found,) = measurement("latency").measure(one).outcomes
    assert found.type is OutcomeType.MEASURED
    assert list(latency.floors(found, "")) == [LOAD_FPS * 3 // 100]
    assert any("at 60000 frames/s there is none of the tester's own" in remark for remark in found.quality)


def test_a_measurer_that_fails_at_a_further_load_leaves_no_latency():
    one, trials = asked(OutcomeType.AT_CEILING, cell=POD.qualification)

    def take(spec, phase):
        if len(trials) == 15:
            raise OSError("gone")
        return one.trial(spec, phase)

    answered = measurement("latency").measure(replace(one, trial=take))
    (found,) = answered.outcomes
    assert isinstance(answered.error, OSError)
    assert (found.type, found.values, found.trials) == (OutcomeType.INVALID, (), tuple(range(1, 16)))


@pytest.mark.parametrize(
    ("kind", "corrected"),
    [(OutcomeType.MEASURED, True), (OutcomeType.AT_CEILING, True), (OutcomeType.UNSTABLE, False)],
)
def test_a_buffer_time_is_corrected_by_a_plain_throughput_alone(kind, corrected):
    """Its correction is as wrong as the throughput that it is made with (RFC 9004 6.4)."""
    bench = ModelBench(device=HardLimit(limit_fps=LOAD_FPS, buffer_frames=256), seed=1)
    one, _ = asked(kind, device=bench.measure)
    (found,) = measurement("back_to_back").measure(one).outcomes
    names = {value.metric for value in found.values}
    assert found.type is OutcomeType.MEASURED
    assert "buffer_time.rfc9004.implied" in names
    assert ("buffer_time.rfc9004.corrected" in names) is corrected
    assert any("no corrected buffer time" in remark for remark in found.quality) is not corrected

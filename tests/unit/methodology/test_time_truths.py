"""Measurements of time and loss find what a device is known for, and wrong procedures do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from bmwg.methodology.benchmarks import delay_variation, recovery, soak
from bmwg.methodology.measurements.measurement import Answered, Asked
from bmwg.methodology.measurements.registry import measurement
from bmwg.methodology.records import OutcomeType, TrialSpec
from bmwg.methodology.simulated_devices.time_truths import TimeCase, cases, findings
from bmwg.methodology.simulated_devices.timed import TimedBench, Timing
from bmwg.methodology.trial.frame_times import LatencyHistogram
from bmwg.methodology.trial.judging import JudgedTrial, TrialPolicy

CASES = {f"{case.measurement}: {case.name}": case for case in cases()}


def case_of(name: str, words: str = "") -> TimeCase:
    return next(case for case in cases() if case.measurement == name and words in case.name)


@pytest.mark.parametrize("name", CASES)
def test_each_measurement_finds_what_the_device_does(name: str) -> None:
    found = findings(CASES[name])
    assert found
    assert [one for one in found if not one.holds] == []


def pooled(trial: JudgedTrial) -> JudgedTrial:
    """Give each direction of a trial the frames of both."""
    streams = trial.result.streams
    if len(streams) < 2:
        return trial
    buckets = sorted(bucket for one in streams for bucket in one.latency.buckets)
    latency = LatencyHistogram(
        buckets=tuple(buckets),
        sum_ns=sum(one.latency.sum_ns for one in streams),
        min_ns=min(one.latency.min_ns for one in streams),
        max_ns=max(one.latency.max_ns for one in streams),
    )
    pairs = zip(*(one.tagged_ns for one in streams), strict=True)
    tagged_ns = tuple(pair[number % 2] for number, pair in enumerate(pairs))
    mixed = tuple(replace(one, latency=latency, tagged_ns=tagged_ns) for one in streams)
    return replace(trial, result=replace(trial.result, streams=mixed))


@pytest.mark.parametrize("name", ["latency", "delay_variation", "ipdv", "tagged_latency", "latency_rfc8219"])
def test_a_procedure_that_pools_both_directions_is_found_out(name: str) -> None:
    """Constant delays of 10 and 50 us then have a variation of 40 us."""

    def measure(asked: Asked) -> Answered:
        def trial(spec: TrialSpec, phase: str) -> JudgedTrial:
            return pooled(asked.trial(spec, phase))

        return measurement(name).measure(replace(asked, trial=trial))

    ways = [case for case in cases() if case.measurement == name and len(case.timing.delays_ns) > 1]
    assert ways
    for case in ways:
        assert not all(one.holds for one in findings(case, measure)), case.name


def mean_ns(histogram: LatencyHistogram) -> tuple[int, int]:
    return histogram.sum_ns // histogram.frames, 0


def from_zero(histogram: LatencyHistogram) -> tuple[int, int]:
    return histogram.buckets[-1][1], 0


def since_the_overload_began(trial: recovery.RecoveryTrial) -> float:
    return (trial.last_lost_ns or 0) / 1e6


def never(trial: recovery.RecoveryTrial) -> float:
    return 0.0


def of_all_frames(trial: recovery.ResetTrial) -> float:
    return 1e3 * trial.lost_frames / (2 * trial.offered_fps)


def gaps_closed(trials: Sequence[JudgedTrial | None]) -> float | None:
    return DRIFT([trial for trial in trials if trial is not None])


def last_less_first(trials: Sequence[JudgedTrial | None]) -> float | None:
    whole = [trial for trial in trials if trial is not None]
    means = [one.result.streams[0].latency.sum_ns / one.result.streams[0].latency.frames for one in whole]
    return means[-1] - means[1]


DRIFT = soak._drift_ns


@pytest.mark.parametrize(
    ("name", "where", "wrong"),
    [
        ("delay_variation", (delay_variation, "pdv_of_histogram_ns"), mean_ns),
        ("delay_variation", (delay_variation, "pdv_of_histogram_ns"), from_zero),
        ("recovery", (recovery, "recovery_ms"), since_the_overload_began),
        ("recovery", (recovery, "recovery_ms"), never),
        ("reset_link", (recovery, "reset_by_loss_ms"), of_all_frames),
        ("soak", (soak, "_drift_ns"), gaps_closed),
        ("soak", (soak, "_drift_ns"), last_less_first),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_procedure_is_found_out(
    name: str, where: tuple[object, str], wrong: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*where, wrong)
    assert not all(one.holds for one in findings(case_of(name)))


def test_a_reduced_load_that_is_never_offered_gives_no_recovery() -> None:
    def without_second_load(asked: Asked) -> Answered:
        def trial(spec: TrialSpec, phase: str) -> JudgedTrial:
            return asked.trial(replace(spec, load_fps=asked.load_fps, then_load_fps=spec.load_fps), phase)

        return measurement("recovery").measure(replace(asked, trial=trial))

    assert not any(one.holds for one in findings(case_of("recovery"), without_second_load))


def test_a_soak_that_repeats_what_was_disturbed_has_other_intervals() -> None:
    def repeating(asked: Asked) -> Answered:
        def trial(spec: TrialSpec, phase: str) -> JudgedTrial:
            taken = asked.trial(spec, phase)
            return taken if taken.valid else asked.trial(spec, phase)

        return measurement("soak").measure(replace(asked, trial=trial))

    found = {one.known.metric: one.holds for one in findings(case_of("soak"), repeating)}
    assert not found["soak.valid_intervals"]
    assert not found["soak.latency_drift"]


def test_the_model_counts_each_frame_once() -> None:
    timing = Timing(limit_fps=1000, delays_ns=((5, 70, 900),), lossy_trials=frozenset({1}), lost_frames=4)
    bench = TimedBench(timing=timing, policy=TrialPolicy())
    spec = TrialSpec(frame_octets=64, load_fps=1000, duration_s=0.01, tag_after_s=0.002, tags=8)
    (stream,) = bench.trial(spec, "one").result.streams
    assert (stream.received_frames, stream.latency.frames) == (6, 6)
    # frames 4 to 9 came: 70, 900, 5, 70, 900, 5
    assert stream.latency.sum_ns == 2 * (5 + 70 + 900)
    assert stream.tagged_ns == (None, None, 70, 900, 5, 70, 900, 5)


def test_a_device_that_loses_frames_at_half_of_an_overload_has_no_recovery_time() -> None:
    """One that lost a frame in a million anywhere needed 44.6 s to recover."""
    (case,) = [one for one in cases() if "2.1 ms after an overload" in one.name]
    (steady,) = findings(case)
    assert steady.holds
    (stray,) = findings(replace(case, timing=replace(case.timing, strays=True)))
    assert stray.found is None


def test_the_refusal_of_a_recovery_names_the_trials_without_an_overload() -> None:
    bench = TimedBench(timing=Timing(limit_fps=600_000, recovery_s=0.01, strays=True), policy=TrialPolicy())
    answered = []

    def measure(asked: Asked) -> Answered:
        answered.append(measurement("recovery").measure(replace(asked, trial=bench.trial)))
        return answered[-1]

    (case,) = [one for one in cases() if "2.1 ms after an overload" in one.name]
    findings(case, measure)
    (outcome,) = answered[0].outcomes
    assert outcome.type is OutcomeType.UNSTABLE
    assert outcome.reason.startswith("330000 frames/s lose 10 of 198000000 frames without an overload")
    assert [trial.spec.then_load_fps is None for trial in bench.trials] == [True, False] * 10
    assert outcome.trials == tuple(range(1, 21))


@pytest.mark.parametrize("name", ["delay_variation", "ipdv", "tagged_latency", "latency_rfc8219"])
@pytest.mark.parametrize("what", ["lossy", "unstable"])
def test_times_at_a_load_that_loses_or_is_none_are_no_plain_numbers(name: str, what: str) -> None:
    """They were `measured` while the very streams lost frames, and at an unstable throughput."""
    case, found = case_of(name), []
    lossy = replace(case, timing=replace(case.timing, lossy_trials=frozenset(range(1, 60)), lost_frames=9))

    def measure(asked: Asked) -> Answered:
        assert asked.throughput is not None
        if what == "unstable":
            asked = replace(asked, throughput=replace(asked.throughput, type=OutcomeType.UNSTABLE))
        found.append(measurement(name).measure(asked))
        return found[-1]

    findings(lossy if what == "lossy" else case, measure)
    (outcome,) = found[0].outcomes
    wanted = OutcomeType.UNSTABLE if what == "lossy" else OutcomeType.NOT_ASSESSED
    assert (outcome.type, outcome.values) == (wanted, ())
    assert ("streams at 600000 frames/s lost frames" in outcome.reason) == (what == "lossy")
